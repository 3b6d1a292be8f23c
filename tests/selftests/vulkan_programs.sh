#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Vulkan runs on a forwarded virtio-gpu with Venus, through a window: programs print
# the same as on the real one, results are right, and OpenGL ES through zink draws the
# same. Differences in numbers of nodes and in the PCI domain are filtered.
#
# VGPU_RECORD and VGPU_RECORDED are as in vgpu_diff.h.
# shellcheck disable=SC2317	# called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
driver=VK_DRIVER_FILES=/usr/share/vulkan/icd.d/virtio_icd.json
zink="env LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink"
tools=/usr/lib/vgpu-test/tools

filter() {
	sed -E -e 's/((primaryMinor|renderMinor|pciDomain) +=) [0-9]+/\1 N/' \
		-e 's/(all right): [0-9.]+ per second/\1/'
}

# prints SIDE NAME COMMAND: stores the command's output with the device of that side, as an
# ordinary user.
prints() {
	if [ "$1" = real ] && [ -n "${VGPU_RECORDED:-}" ]; then
		cp "$VGPU_RECORDED/$2" "$dir/real"
		return
	fi
	../with-device "$1" "$driver timeout 100 $3" </dev/null >"$dir/all" 2>&1
	echo "exit status $?" >>"$dir/all"
	filter <"$dir/all" >"$dir/$1"
	if [ "$1" = real ] && [ -n "${VGPU_RECORD:-}" ]; then
		cp "$dir/real" "$VGPU_RECORD/$2"
	fi
}

good() { cat "$dir/$1"; grep -qE "$2" "$dir/$1" && grep -qx 'exit status 0' "$dir/$1"; }
same() { diff "$dir/real" "$dir/forwarded" && good forwarded "$1"; }

# twins NAME WORDS COMMAND: the command prints the same on both devices, with these words.
twins() {
	prints real "$1" "$3"
	if [ -n "${VGPU_RECORD:-}" ]; then
		check "$1: only written down" good real "$2"
		return
	fi
	prints forwarded "$1" "$3"
	check "$1: the same" same "$2"
}

prints real vulkaninfo vulkaninfo
good real 'driverName *= venus' >"$dir/log" || skip_all "no virtio-gpu with Venus"
echo "TAP version 13"
twins vulkaninfo 'driverName *= venus' vulkaninfo
twins vulkan '^20 dispatches, .* all right' "$tools/vulkan \$RENDER 20"
twins zink-compute '^renderer: zink .*Venus' "$zink $tools/compute any 10"
twins zink-cube '^renderer: zink .*Venus' \
	"$zink sh -c 'cd \$(mktemp -d) && $tools/render any . cube && sha256sum <cube.png'"
finish
