/* SPDX-License-Identifier: GPL-2.0-only */
/* Ioctls that map memory of the device themselves. */
#ifndef VGPU_MAP_IOCTL_H
#define VGPU_MAP_IOCTL_H

#include <linux/types.h>

struct file;
struct vgpu_schema_map;

long vgpu_map_ioctl(struct file *file, const struct vgpu_schema_map *map, u32 cmd,
		    unsigned long addr, bool compat);

#endif /* VGPU_MAP_IOCTL_H */
