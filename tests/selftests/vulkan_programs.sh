#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Vulkan on a forwarded virtio-gpu with Venus, through a window: vulkaninfo says what
# it says of the real one, and what is computed is right. What may differ is filtered:
# numbers of nodes, and the PCI domain.
#
# VGPU_RECORD and VGPU_RECORDED are as in vgpu_diff.h.
# shellcheck disable=SC2317	# called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
driver=VK_DRIVER_FILES=/usr/share/vulkan/icd.d/virtio_icd.json
compute="/usr/lib/vgpu-test/tools/vulkan \$RENDER 20"

# with SIDE COMMAND: with the device of that side, as an ordinary user
with() { ../with-device "$1" "$driver timeout 100 $2" </dev/null 2>&1; }

filter() { sed -E 's/((primaryMinor|renderMinor|pciDomain) +=) [0-9]+/\1 N/'; }

info() { with "$1" vulkaninfo | filter; }
same() { diff "$dir/real" "$dir/forwarded"; }

right() {
	with "$1" "$compute" >"$dir/said" || { cat "$dir/said"; return 1; }
	cat "$dir/said"
	grep '^device: .*Venus.*, driver: venus,' "$dir/said" &&
		grep '^20 dispatches, .* all right' "$dir/said"
}

# Results of the host's machine are the driver's business there.
if [ -n "${VGPU_RECORDED:-}" ]; then
	cp "$VGPU_RECORDED/vulkaninfo" "$dir/real" || skip_all "no virtio-gpu with Venus"
else
	info real >"$dir/real"
fi
grep -q 'driverName *= venus' "$dir/real" || skip_all "no virtio-gpu with Venus"
if [ -n "${VGPU_RECORD:-}" ]; then
	cp "$dir/real" "$VGPU_RECORD/vulkaninfo"
	skip_all "only written down"
fi

echo "TAP version 13"
info forwarded >"$dir/forwarded"
check "vulkaninfo: the same" same
[ -n "${VGPU_RECORDED:-}" ] || check "real: results are right" right real
check "forwarded: results are right" right forwarded
finish
