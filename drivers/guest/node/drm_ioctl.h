/* SPDX-License-Identifier: GPL-2.0-only */
/* Ioctls of DRM nodes that the guest has to know. */
#ifndef VGPU_DRM_IOCTL_H
#define VGPU_DRM_IOCTL_H

struct vgpu_class_ops;

extern const struct vgpu_class_ops vgpu_drm_class_ops;

#endif /* VGPU_DRM_IOCTL_H */
