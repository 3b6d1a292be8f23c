#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes of V4L2 have the names, numbers and attributes that programs look for, and
# v4l2-ctl says of a forwarded one what it says of the real one. The device is
# vivid's; host and guest have to be one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

[ "${VGPU_TIER:-}" = loopback ] || skip_all "the host is another machine, or nothing is forwarded"
modprobe -q vivid n_devs=1 node_types=0x5 || skip_all "no vivid for this kernel"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# node NAME: folder of sysfs of the forwarded node of that export
node() {
	plain=$(grep -lx "$1" /sys/class/vgpu/*/name) && readlink -e "${plain%/name}/video4linux"
}

real() { find /sys/devices/*/vivid.0/video4linux -mindepth 1 -maxdepth 1 -name "$1*" | sort; }
same() { cmp "$1/$3" "$2/$3"; }

# What may differ: a forwarded node has no media device, and time goes on.
filter() {
	sed -e '/^Media Driver Info:/,/^	Pad /d' -e 's/value=[0-9]*\(.* volatile\)/value=N\1/'
}

says() {	# says COMMAND...: the same of both
	for side in real forwarded; do
		eval "at=\$$side"
		timeout 40 "$@" -d "/dev/${at##*/}" >"$dir/all" 2>&1
		echo "exit status $?" >>"$dir/all"
		filter <"$dir/all" >"$dir/$side"
	done
	diff "$dir/real" "$dir/forwarded" && [ "$(wc -l <"$dir/real")" -gt 1 ]
}

# As frames come, and with the pattern that is the same in all.
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
vbi=$(real vbi | head -n 1)
await 10 test -c "/dev/${real##*/}"
vgpuctl export "/dev/${real##*/}" --to 1 --name video >/dev/null
[ -z "$vbi" ] || vgpuctl export "/dev/${vbi##*/}" --to 1 --name vbi >/dev/null
check "an export is a node of V4L2" await 20 node video
forwarded=$(node video)
check "/dev/${forwarded##*/}" test -c "/dev/${forwarded##*/}"
check "major 81" grep '^81:' "$forwarded/dev"
check "its name" same "$real" "$forwarded" name
check "its index" same "$real" "$forwarded" index
check "uevent" sh -c 'grep -x "DEVNAME=${1##*/}" "$1/uevent"' sh "$forwarded"
check "v4l2-ctl --all" says v4l2-ctl --all
check "v4l2-ctl --list-formats-ext" says v4l2-ctl --list-formats-ext
check "v4l2-ctl --list-ctrls-menus" says v4l2-ctl --list-ctrls-menus
check "v4l2-ctl --list-devices" sh -c \
	'v4l2-ctl --list-devices | grep -w "/dev/${1##*/}" && v4l2-ctl --list-devices | grep -w "/dev/${2##*/}"' \
	sh "$real" "$forwarded"
check "frames" frames
if [ -n "$vbi" ]; then
	check "a VBI node" await 20 node vbi
	vbi_forwarded=$(node vbi)
	check "is called so" sh -c 'case $1 in */vbi*) ;; *) echo "$1"; exit 1 ;; esac' sh "$vbi_forwarded"
	check "its name" same "$vbi" "$vbi_forwarded" name
fi

# Open files live on without the node.
exec 9<>"/dev/${forwarded##*/}"
vgpuctl unexport video --force >/dev/null
check "the node goes with the export" await 20 not test -e "$forwarded"
check "what is open stays" not rmmod vgpu_guest
exec 9>&-
[ -z "$vbi" ] || vgpuctl unexport vbi --force >/dev/null
check "nothing stays" await 20 sh -c '! ls -d /sys/class/vgpu/*/video4linux'
check "vivid is free again" await 20 rmmod vivid

finish
