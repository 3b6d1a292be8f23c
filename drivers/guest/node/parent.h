/* SPDX-License-Identifier: GPL-2.0-only */
/* Parents: devices of a host as they appear on the buses of this machine. */
#ifndef VGPU_PARENT_H
#define VGPU_PARENT_H

#include <linux/types.h>

struct device;
struct vgpu_export_add;
struct vgpu_host;
struct vgpu_parent;

int vgpu_parent_global_init(void (*orphan)(struct device *parent));
void vgpu_parent_global_exit(void);
struct vgpu_parent *vgpu_parent_get(struct vgpu_host *host, const struct vgpu_export_add *msg);
void vgpu_parent_put(struct vgpu_parent *parent);
struct device *vgpu_parent_device(struct vgpu_parent *parent);

#endif /* VGPU_PARENT_H */
