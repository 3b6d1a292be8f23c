/* SPDX-License-Identifier: GPL-2.0-only */
/* DRM devices: nodes /dev/dri/card* and renderD* for exports of DRM devices. */
#ifndef VGPU_DRM_H
#define VGPU_DRM_H

#include <linux/types.h>

struct device;
struct vgpu_export;
struct vgpu_export_change;
struct vgpu_host;

void vgpu_drm_add(struct vgpu_export *export);
void vgpu_drm_del(struct vgpu_export *export);
void vgpu_drm_settle(struct vgpu_host *host);
void vgpu_drm_change(struct vgpu_export *export, const struct vgpu_export_change *msg);
void vgpu_drm_file(struct vgpu_export *export, const char *name, const u8 *data, u32 len);
void vgpu_drm_orphan(struct device *parent);

#endif /* VGPU_DRM_H */
