#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The commands of README.md for a host and a guest do what it says, in its
# order. One machine is both here, so the guest and its host have the context
# id 1.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh

readme=${README:-/usr/lib/vgpu-test/README.md}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Each block of commands becomes a file block-N-MACHINE.
awk -v dir="$dir" '
	/^```sh (host|guest)$/ { file = sprintf("%s/block-%02d-%s", dir, ++n, $2); next }
	/^```/ { file = "" }
	file { print >file }' "$readme"

modprobe vsock_loopback
echo 'options vgpu_guest cid=1' >/etc/modprobe.d/vgpu-test.conf
# The device gets the name that README has for it.
[ -e /dev/dri/renderD128 ] || ln -s "$VGPU_REAL_GPU_RENDER" /dev/dri/renderD128

count() { find "$dir" -name "block-*-$1" | wc -l; }

check "README has commands for a host" test "$(count host)" -ge 2
# README must not restart vgpud, which would end the open files of all guests.
check "README reloads" not grep 'systemctl restart vgpud' "$readme"
check "README has commands for a guest" test "$(count guest)" -ge 1
for block in "$dir"/block-*; do
	# The guest's context id is 1.
	sed -i -e 's/--to 3/--to 1/' -e 's/^to = 3/to = 1/' "$block"
	name="README: $(head -n1 "$block") ..."
	case $block in
	*-guest) check "$name" await 30 sh -ex "$block" ;;
	*) check "$name" sh -ex "$block" ;;
	esac
done
check "the export is there" sh -c 'vgpuctl list | grep "^gpu .*virtio_gpu .*1 (connected)"'
check "the guest has a DRM node" await 20 sh -c 'vgpuctl list | grep "^/dev/vgpu0  */dev/dri/renderD.*virtio_gpu"'

check "the guest has a window" await 20 test -c /dev/vgpu-window-1
check "as large as README says" sh -c 'vgpuctl status | grep -A 1 "window-1: .* of user root, made automatically" | grep "size 4 GiB,"'

rm -f /etc/vgpu/exports.d/gpu.conf /etc/modprobe.d/vgpu-test.conf
systemctl disable --now vgpud
check "unloads: guest" await 20 rmmod vgpu_guest
check "unloads: host" await 20 rmmod vgpu_host
finish
