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
