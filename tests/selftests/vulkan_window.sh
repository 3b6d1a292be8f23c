#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs use Vulkan, which needs a window, while the window does not exist, comes, and goes:
# they report that there is no device, or end, in time. Host and guest are one machine, whose
# virtio-gpu has Venus. The machine has a window again at the end.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

[ "${VGPU_TIER:-}" = vulkan ] || skip_all "no virtio-gpu with Venus"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
driver=VK_DRIVER_FILES=/usr/share/vulkan/icd.d/virtio_icd.json
tools=/usr/lib/vgpu-test/tools

# with SECONDS COMMAND: runs the command with the forwarded device, for so long at most.
with() { timeout "$1" ../with-device forwarded "$driver $2" </dev/null 2>&1; }

# mappings KIND: prints the number of the device's mappings by window or copy.
mappings() {
	for name in /sys/class/vgpu/*/name; do
		if [ "$(cat "$name")" = gpu-render ]; then cat "${name%/name}/$1_mappings"; fi
	done
}

# The program ends with an error of its own: neither timeout's nor a signal.
no_device() {
	with 60 "$tools/vulkan \$RENDER" >"$dir/said"
	status=$?
	cat "$dir/said"
	[ "$status" = 1 ] && grep 'none of 0 Vulkan devices is this node' "$dir/said"
}

no_vulkaninfo() {
	with 60 "vulkaninfo --summary" >"$dir/said"
	status=$?
	cat "$dir/said"
	[ "$status" != 124 ] && [ "$status" -lt 128 ] && ! grep deviceName "$dir/said"
}

# maps STATUS ARGUMENT...: venus_map ends with STATUS: 0, EINVAL (22) or ENOMEM (12).
maps() {
	wanted=$1
	shift
	with 60 "$tools/venus_map \$RENDER $*"
	status=$?
	echo "exit status $status"
	[ "$status" = "$wanted" ]
}

# The program ends with an error in time, whichever of its mappings had no room.
refused() {
	with 60 "$tools/vulkan \$RENDER 10" >"$dir/said"
	status=$?
	cat "$dir/said"
	echo "exit status $status"
	[ "$status" = 1 ] && ! grep 'all right\|, not' "$dir/said"
}

computes() {
	with 60 "$tools/vulkan \$RENDER 10" >"$dir/said" || { cat "$dir/said"; return 1; }
	cat "$dir/said"
	grep '^device: .*Venus' "$dir/said" && grep '^10 dispatches, .* all right' "$dir/said"
}

something_mapped() { [ "$(mappings window)" -gt 0 ]; }
nothing_mapped() { [ "$(mappings window) $(mappings copy)" = "0 0" ]; }

# The program writes its device's name when its first dispatch was right.
at_work() { grep '^device: ' "$dir/said"; }

# The window is destroyed while a program works: the program's mappings go with the window.
goes() {
	: >"$dir/said"
	with 120 "exec $tools/vulkan \$RENDER 1000000" >"$dir/said" &
	job=$!
	await 60 at_work || return 1
	vgpuctl window destroy --to 1 --force || return 1
	wait "$job"
	status=$?
	cat "$dir/said"
	echo "exit status $status"
	[ "$status" = 135 ]	# SIGBUS
}

# A window is drained while a program has mappings there: these never move, and drain fails.
not_drained() {
	mkfifo "$dir/go"
	: >"$dir/said"
	timeout 120 ../with-device forwarded "$tools/venus_map \$RENDER 65536 wait" \
		<"$dir/go" >"$dir/said" 2>&1 &
	job=$!
	exec 9>"$dir/go"
	await 60 grep written "$dir/said" || return 1
	vgpuctl window drain --to 1 >"$dir/drain" 2>&1
	status=$?
	cat "$dir/drain"
	echo "exit status $status"
	[ "$status" = 6 ] && grep 'are still in the window' "$dir/drain" && something_mapped
}

is_right() {
	echo >&9
	wait "$job"
	status=$?
	exec 9>&-
	cat "$dir/said"
	[ "$status" = 0 ]
}

echo "TAP version 13"
check "with a window: results are right" computes
check "with a window: mappings have room" maps 0 524288
check "a program's mappings end with it" await 10 nothing_mapped
check "a window that cannot be drained says so" not_drained
check "drained: no context" maps 22 65536
check "fill it" vgpuctl window fill --to 1
check "and results are right beside that" computes
check "what was in it all the time is right" is_right
check "its mappings end with it, too" await 10 nothing_mapped
check "destroy the window" vgpuctl window destroy --to 1
check "without: no context" maps 22 65536
check "without: no device for a program" no_device
check "without: no device for vulkaninfo" no_vulkaninfo
check "one with little room" vgpuctl window create --to 1 --size 512K
check "in that: a mapping that has room" maps 0 65536
check "in that: none that has not" maps 12 524288
check "in that: no private one" maps 12 65536 private
check "in that: no device for a program" refused
check "in that: nothing is left" await 10 nothing_mapped
vgpuctl window destroy --to 1
check "a window again" vgpuctl window create --to 1 --size 4G
check "and results are right" computes
check "a window that goes ends its program" goes
check "one more window" vgpuctl window create --to 1 --size 4G
check "and results are right again" computes
finish
