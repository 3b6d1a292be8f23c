/* SPDX-License-Identifier: GPL-2.0-only */
/* Connectors of a forwarded DRM card in sysfs. */
#ifndef VGPU_CONNECTOR_H
#define VGPU_CONNECTOR_H

#include <linux/list.h>
#include <linux/types.h>

struct drm_device;
struct vgpu_export;

/**
 * struct vgpu_connectors - connectors of one card; guarded by vgpu_drm_lock (drm.c)
 * @list: list of struct connector
 * @fresh: true if there may be a connector whose registration in sysfs was not tried yet
 */
struct vgpu_connectors {
	struct list_head list;
	bool fresh;
};

void vgpu_connectors_init(struct vgpu_connectors *connectors);
void vgpu_connectors_fini(struct vgpu_connectors *connectors);
void vgpu_connectors_file(struct vgpu_connectors *connectors, const char *path, const u8 *data,
			  u32 len);
void vgpu_connectors_show(struct vgpu_connectors *connectors, struct drm_device *drm);
void vgpu_connectors_hide(struct vgpu_connectors *connectors);

#endif /* VGPU_CONNECTOR_H */
