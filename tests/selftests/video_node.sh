#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes of V4L2 have the names, numbers and attributes that programs look for, with a
# media device beside them. v4l-utils print the same about a forwarded node as about
# the real one. The device is vivid's; host and guest have to be one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

[ "${VGPU_TIER:-}" = loopback ] || [ "${VGPU_TIER:-}" = user ] || skip_all "the host is another machine, or nothing is forwarded"
modprobe -q vivid n_devs=1 node_types=0x5 supports_requests=1 ||
	skip_all "no vivid for this kernel"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# node NAME [CLASS]: prints the sysfs directory of the forwarded node of that export.
node() {
	plain=$(grep -lx "$1" /sys/class/vgpu/*/name) &&
		readlink -e "${plain%/name}/${2:-video4linux}"
}

# media_of DIRECTORY: prints the media device of the node, as v4l-utils look for it.
media_of() { ls -d "/sys/dev/char/$(cat "$1/dev")/device"/media*; }

real() { find /sys/devices/*/vivid.0/video4linux -mindepth 1 -maxdepth 1 -name "$1*" | sort; }
same() { cmp "$1/$3" "$2/$3"; }

# Numbers of nodes may differ, and so may values that change with time.
filter() {
	sed -e "s,/dev/${at##*/}\>,/dev/NODE," -e 's/value=[0-9]*\(.* volatile\)/value=N\1/'
}

says() {	# says COMMAND...: the command prints the same about both nodes
	for side in real forwarded; do
		eval "at=\$$side"
		timeout 120 "$@" -d "/dev/${at##*/}" >"$dir/all" 2>&1
		echo "exit status $?" >>"$dir/all"
		filter <"$dir/all" >"$dir/$side"
	done
	diff "$dir/real" "$dir/forwarded" && [ "$(wc -l <"$dir/real")" -gt 1 ]
}

# Compares the graphs of both media devices, which have the names of the nodes.
graph() {
	for side in real forwarded; do
		eval "at=\$$side"
		vbi=$(eval "echo \$${side}_vbi")
		media=$(eval "echo \$${side}_media")
		timeout 40 media-ctl -p -d "/dev/${media##*/}" >"$dir/all" || return 1
		filter <"$dir/all" | sed "s,/dev/${vbi##*/}\$,/dev/VBI," >"$dir/$side"
	done
	diff "$dir/real" "$dir/forwarded" && grep '/dev/NODE$' "$dir/real"
}

# A node that is not exported has no name in the graph, in particular not another node's.
graph_without_vbi() {
	media-ctl -p -d "/dev/${forwarded_media##*/}" >"$dir/all" || return 1
	grep "/dev/${forwarded##*/}\$" "$dir/all" && ! grep /dev/vbi "$dir/all"
}

come_and_go() {
	for _ in 1 2 3 4 5; do
		vgpuctl export "/dev/${real_media##*/}" --to 1 --name again || return 1
		await 20 node again media || return 1
		again=$(node again media)
		media-ctl -p -d "/dev/${again##*/}" &
		vgpuctl unexport again --force || return 1
		await 20 not test -e "$again" || return 1
		wait $!
	done
	true
}

# listed NAME NODE: the guest's list has the node that programs look for.
listed() {
	vgpuctl list | grep "^/dev/$(basename "$(dirname "$(grep -lx "$1" /sys/class/vgpu/*/name)")")  */dev/$2 " &&
		vgpuctl list --json | grep "/dev/$2\""
}

# Compares frames of both nodes, with a pattern that is the same in all frames.
frames() {
	for at in "$real" "$forwarded"; do
		timeout 40 v4l2-ctl -d "/dev/${at##*/}" --set-fmt-video=width=320,height=180 \
			-c test_pattern=2,osd_text_mode=2 \
			--stream-mmap --stream-count=3 --stream-to="$dir/frames" || return 1
		md5sum <"$dir/frames"
		[ -s "$dir/frames" ] || return 1
	done | grep -v '<' >"$dir/sums"
	[ "$(wc -l <"$dir/sums")" = 2 ] && [ "$(sort -u "$dir/sums" | wc -l)" = 1 ]
}

real=$(real video | head -n 1)
real_vbi=$(real vbi | head -n 1)
await 10 test -c "/dev/${real##*/}"
vgpuctl export "/dev/${real##*/}" --to 1 --name video >/dev/null
real_media=$(media_of "$real")
vgpuctl export "/dev/${real_media##*/}" --to 1 --name media >/dev/null
[ -z "$real_vbi" ] || vgpuctl export "/dev/${real_vbi##*/}" --to 1 --name vbi >/dev/null
check "an export is a node of V4L2" await 20 node video
forwarded=$(node video)
check "/dev/${forwarded##*/}" test -c "/dev/${forwarded##*/}"
check "major 81" grep '^81:' "$forwarded/dev"
check "its name" same "$real" "$forwarded" name
check "its index" same "$real" "$forwarded" index
check "uevent" sh -c 'grep -x "DEVNAME=${1##*/}" "$1/uevent"' sh "$forwarded"
check "a media device" await 20 node media media
forwarded_media=$(node media media)
check "it is beside the node" media_of "$forwarded"
check "vgpuctl list has the node" listed video "${forwarded##*/}"
check "and the media device" listed media "${forwarded_media##*/}"
check "its model" same "$real_media" "$forwarded_media" model
check "v4l2-ctl --all" says v4l2-ctl --all
check "v4l2-ctl --list-formats-ext" says v4l2-ctl --list-formats-ext
check "v4l2-ctl --list-ctrls-menus" says v4l2-ctl --list-ctrls-menus
check "v4l2-ctl --list-devices" sh -c \
	'v4l2-ctl --list-devices | grep -w "/dev/${1##*/}" && v4l2-ctl --list-devices | grep -w "/dev/${2##*/}"' \
	sh "$real" "$forwarded"
check "frames" frames
case $(uname -r) in
*-vgpu-debug*) skip "v4l2-compliance" "it takes long on a debug kernel" ;;
*)
	check "v4l2-compliance" says v4l2-compliance
	check "which tests requests" grep '^	test MC information' "$dir/all"
	;;
esac
check "media devices come and go" come_and_go
if [ -n "$real_vbi" ]; then
	check "a VBI node" await 20 node vbi
	forwarded_vbi=$(node vbi)
	check "is called so" sh -c 'case $1 in */vbi*) ;; *) echo "$1"; exit 1 ;; esac' sh "$forwarded_vbi"
	check "vgpuctl list has it, too" listed vbi "${forwarded_vbi##*/}"
	check "its name" same "$real_vbi" "$forwarded_vbi" name
	check "media-ctl -p" graph
	vgpuctl unexport vbi --force >/dev/null
	check "the VBI node goes" await 20 not test -e "$forwarded_vbi"
	check "media-ctl -p without it" graph_without_vbi
fi

# Open files still work after the node is gone.
exec 9<>"/dev/${forwarded##*/}"
vgpuctl unexport video --force >/dev/null
check "the node goes with the export" await 20 not test -e "$forwarded"
check "what is open stays" not rmmod vgpu_guest
exec 9>&-
exec 9<>"/dev/${forwarded_media##*/}"
vgpuctl unexport media --force >/dev/null
check "so does the media device" await 20 not test -e "$forwarded_media"
check "what is open of it stays" not rmmod vgpu_guest
exec 9>&-
check "nothing stays" await 20 sh -c '! ls -d /sys/class/vgpu/*/video4linux /sys/class/vgpu/*/media'
check "vivid is free again" await 20 rmmod vivid

finish
