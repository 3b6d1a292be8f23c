#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# podman gives containers the devices of a specification that vgpuctl cdi has made. The image is
# made of this machine's own root. Host and guest are one machine.
# shellcheck disable=SC2016,SC2317	# expanded later; called by check
set -u

# shellcheck source-path=SCRIPTDIR source=lib.sh
. ./lib.sh
# shellcheck source-path=SCRIPTDIR source=nodes.sh
. ./nodes.sh

dir=$(mktemp -d)
conf=/etc/vgpu/exports.d/cluster.conf
spec=/run/cdi/vgpu.json
trap 'umount -q /var/lib/containers; rm -rf "$dir" "$conf" "$spec"' EXIT

# An image of the programs of busybox. podman's files are in a tmpfs, as an overlay cannot be over
# another one.
make_image() {
	mkdir -p "$dir/root/bin" "$dir/root/etc" "$dir/root/tmp"
	cp /usr/bin/busybox "$dir/root/bin/" && busybox --list | while read -r name; do
		[ "$name" = busybox ] || ln -s busybox "$dir/root/bin/$name"
	done
	mkdir -p /var/lib/containers && mount -t tmpfs tmpfs /var/lib/containers &&
		tar -C "$dir/root" -c . | podman import - bed
}

# in_container [OPTION...] COMMAND: runs a line of shell in a container
in_container() {
	command=
	count=$#
	for word; do
		count=$((count - 1))
		shift
		if [ $count = 0 ]; then command=$word; else set -- "$@" "$word"; fi
	done
	podman run --rm --network none --log-driver none "$@" bed sh -c "$command"
}

device_files() { in_container "$@" 'find /dev -type c -exec stat -c "%n %t:%T %a %u:%g" {} +' | sort; }
# expected NODE...: prints device_files() of these nodes of this machine
expected() { stat -c '%n %t:%T %a %u:%g' "$@" | sort; }

# sees NAME NODE...: a container with the device NAME has these device files, as they are here, and
# no others beside those that every container has.
sees() {
	which=$1
	shift
	device_files --device "vgpu.dev/gpu=$which" >"$dir/seen" || return 1
	cat "$dir/seen"
	grep -vxFf "$dir/plain" "$dir/seen" >"$dir/added"
	expected "$@" | diff - "$dir/added" && not grep -vxFf "$dir/seen" "$dir/plain"
}

calls() { cat "/sys/class/vgpu/$(basename "$(node "$1")")/calls"; }
opens_in() { in_container --device "vgpu.dev/gpu=$1" "exec 9<>'$2'"; }
# forwards NAME NODE: a container opens the node, which is a call of the export
forwards() {
	before=$(calls "$1")
	opens_in "$1" "$2" && [ "$(calls "$1")" -gt "$before" ]
}

numbers() { stat -c '%t %T' "$1" | while read -r major minor; do echo "c $((0x$major)) $((0x$minor))"; done; }
# strange NAME NODE: a container with the device NAME makes the other node, and cannot open it.
strange() {
	in_container --cap-add mknod --device "vgpu.dev/gpu=$1" \
		"mknod -m 666 /tmp/it $(numbers "$2") || echo 'not made'; (exec 9<>/tmp/it) 2>&1 || echo 'not opened'" >"$dir/said"
	cat "$dir/said"
	grep -x 'not opened' "$dir/said" && grep 'Operation not permitted' "$dir/said"
}

check "devices of the guest" forward $conf
mock=$(node mock) gpu=$(drm_node gpu) vgem=$(drm_node vgem) card=$(drm_node vgem-card card)
check "vgpuctl cdi" vgpuctl cdi --output $spec
check "an image" make_image
device_files >"$dir/plain"
check "a container without a device" grep '^/dev/null ' "$dir/plain"
check "none of these nodes is in it" not grep -e vgpu -e dri "$dir/plain"
check "one device: a plain one" sees mock "$mock"
check "one device: a render node" sees vgem "$vgem"
check "one device: a card" sees vgem-card "$card"
check "a number: all nodes of the device" sees 2 "$vgem" "$card"
check "all" sees all "$mock" "$gpu" "$vgem" "$card"
check "root opens a plain one, at the host" forwards mock "$mock"
check "root opens a render node, at the host" forwards vgem "$vgem"
check "another device's number is of no use" strange mock "$vgem"
check "nor that of the same device's card" strange vgem "$card"
check "a user does not open it" not in_container --user 1000:1000 --device vgpu.dev/gpu=vgem "exec 9<>$vgem"
check "a user in the group does" in_container --user 1000:1000 --group-add "$(stat -c %g "$vgem")" --device vgpu.dev/gpu=vgem "exec 9<>$vgem"
check "there is no other device" not in_container --device vgpu.dev/gpu=other true
check "unloads" end_forwarding
check "no specification without a device" not vgpuctl cdi --output $spec
check "so a container does not start" not in_container --device vgpu.dev/gpu=vgem true
finish
