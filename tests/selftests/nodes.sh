# SPDX-License-Identifier: GPL-2.0-only
#
# Test scripts share these functions, which find the device files of an export in the guest.
# shellcheck shell=sh

node() {	# node NAME: the guest's /dev/vgpuN of that export
	for entry in /sys/class/vgpu/*; do
		[ "$(cat "$entry/name" 2>/dev/null)" = "$1" ] && echo "/dev/${entry##*/}" && return
	done
	return 1
}

drm_node() {	# drm_node NAME [card]: prints the DRM node of that export, a render node or a card
	for entry in "/sys/class/vgpu/$(basename "$(node "$1")")/drm/drm/${2:-renderD}"[0-9]*; do
		[ -e "$entry/dev" ] && echo "/dev/dri/${entry##*/}" && return
	done
	return 1
}

class_node() {	# class_node NAME CLASS: prints the path of its node of that class
	entry=$(readlink -e "/sys/class/vgpu/$(basename "$(node "$1")")/$2") || return 1
	sed -n 's,^DEVNAME=,/dev/,p' "$entry/uevent"
}

# forward FILE: exports the mock, a render node of the virtio GPU, and both nodes of vgem to this
# machine by a file of exports, and waits for them
forward() {
	{
		printf '[mock]\npath = /dev/vgpu-mock\nto = 1\n'
		printf '[gpu]\npath = %s\nto = 1\n' "$VGPU_REAL_GPU_RENDER"
		printf '[vgem]\npath = %s\nto = 1\n' "$VGPU_REAL_VGEM_RENDER"
		printf '[vgem-card]\npath = %s\nto = 1\nmaster = yes\n' "$VGPU_REAL_VGEM_CARD"
	} >"$1"
	modprobe vsock_loopback && systemctl start vgpud && modprobe vgpu_guest cid=1 &&
		await 60 node mock && await 60 drm_node gpu && await 60 drm_node vgem &&
		await 60 drm_node vgem-card card && udevadm settle
}

# Ends what forward() has started.
end_forwarding() { await 30 rmmod vgpu_guest && systemctl stop vgpud && rmmod vgpu_host; }
