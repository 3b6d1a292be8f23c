// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schemas of vgem, vgem_drm.h, and of vkms, which has no ioctls of its own; other ioctls are
 * DRM core's. Neither has a device that writes to a buffer while programs do: vkms writes only
 * by its writeback connector, to a whole framebuffer.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

static const struct vgpu_schema_ioctl vgem_ioctls[] = {
	{ VGPU_IOCTL(DRM_IOCTL_VGEM_FENCE_ATTACH) },
	{ VGPU_IOCTL(DRM_IOCTL_VGEM_FENCE_SIGNAL) },
};

const struct vgpu_schema vgpu_schema_vgem = {
	.name = "vgem",
	VGPU_IOCTLS(vgem_ioctls),
	.base = &vgpu_schema_drm,
	.apart = true,
};

const struct vgpu_schema vgpu_schema_vkms = {
	.name = "vkms",
	.base = &vgpu_schema_drm,
	.apart = true,
};
