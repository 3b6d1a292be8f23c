/* SPDX-License-Identifier: GPL-2.0-only */
/* Open of a node in a device class other than DRM. */
#ifndef VGPU_NODE_OPEN_H
#define VGPU_NODE_OPEN_H

struct device;
struct file;
struct vgpu_node;

int vgpu_node_open(struct file *file, struct vgpu_node *node, struct device *held);

#endif /* VGPU_NODE_OPEN_H */
