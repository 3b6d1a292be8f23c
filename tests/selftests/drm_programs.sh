#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Unmodified programs print the same on a forwarded DRM node as on the real one.
# Only these differences are filtered:
#
#  - numbers of nodes: card1 is cardN;
#  - numbers of blobs, of which the console makes new ones when it draws;
#  - PCI domains: a forwarded device has one of its own;
#  - names of platform devices, if this machine has one with the host's name.
#
# All other output is compared, even if it says only that libdrm does not know
# the bus "faux", on which Linux 7 has vgem and vkms.
#
# VGPU_RECORD and VGPU_RECORDED are as in vgpu_diff.h.
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

filter() {
	sed -E -e 's/(card|renderD)[0-9]+/\1N/g' -e 's/blob = [0-9]+/blob = N/' \
		-e 's/[0-9a-f]{4}(:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/DOMAIN\1/g' \
		-e 's/(domain[[:space:]]+)[0-9a-f]{4}/\1DOMAIN/' -e 's/\.vgpu[0-9]+//g'
}

# only NODE COMMAND...: runs the command with no other DRM node visible, as some
# programs use the first that they find.
only() {
	# shellcheck disable=SC2016	# expanded in the namespace
	unshare -m sh -c '
		node=$1
		shift
		numbers=$(stat -c "0x%t 0x%T" "$node")
		mount -t tmpfs -o mode=755 dri /dev/dri
		# shellcheck disable=SC2086	# two words
		mknod -m 666 "$node" c $numbers
		exec "$@"' only "$@" </dev/null
}

# compare NAME REAL FORWARDED COMMAND...: compares the command's output on both
# nodes. NODE in the command stands for the node.
compare() {
	name=$1 real=$2 forwarded=$3
	shift 3
	record=$(echo "$name" | tr -d ':' | tr ' ' '.')
	for side in real forwarded; do
		node=$forwarded
		[ $side = forwarded ] || node=$real
		if [ $side = real ] && [ -n "${VGPU_RECORDED:-}" ]; then
			cp "$VGPU_RECORDED/$record" "$dir/real"
			continue
		fi
		command=
		for word; do
			[ "$word" != NODE ] || word=$node
			command="$command $word"
		done
		# shellcheck disable=SC2086	# words of simple commands
		only "$node" timeout 60 $command >"$dir/$side.all" 2>&1
		echo "exit status $?" >>"$dir/$side.all"
		filter <"$dir/$side.all" >"$dir/$side"
		if [ $side = real ] && [ -n "${VGPU_RECORD:-}" ]; then
			cp "$dir/real" "$VGPU_RECORD/$record"
		fi
	done
	cmp -s "$dir/real" "$dir/forwarded"
	status=$?
	# The output must have more than one line: a program that does nothing proves nothing.
	[ "$(wc -l <"$dir/real")" -gt 1 ] || status=1
	[ $status = 0 ] || diff "$dir/real" "$dir/forwarded" | sed 's/^/# /'
	result $status "$name"
}

programs() {	# programs EXPORT REAL FORWARDED DRIVER
	# modetest makes the driver detect displays; drm_info prints what is known of them.
	case $1 in
	*_CARD) compare "$1: modetest" "$2" "$3" modetest -M "$4" -c -e -p -f ;;
	esac
	compare "$1: drm_info" "$2" "$3" drm_info NODE
	compare "$1: drmdevice" "$2" "$3" drmdevice
}

echo "TAP version 13"
for name in VGEM_CARD VGEM_RENDER VKMS_CARD GPU_CARD GPU_RENDER; do
	eval "real=\${VGPU_REAL_$name:-} forwarded=\${VGPU_FWD_$name:-}"
	[ -z "${VGPU_RECORDED:-}" ] || real=recorded
	if [ -z "$real" ] || [ -z "$forwarded" ]; then
		skip "$name" "no such device in this machine"
		continue
	fi
	case $name in
	VGEM_*) driver=vgem ;;
	VKMS_*) driver=vkms ;;
	GPU_*) driver=virtio_gpu ;;
	esac
	programs "$name" "$real" "$forwarded" "$driver"
done
finish
