/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of exports: operations of the class to which a device of each kind belongs. */
#ifndef VGPU_KIND_H
#define VGPU_KIND_H

#include <linux/types.h>

struct vgpu_class_ops;
struct vgpu_export;
struct vgpu_node_ops;

const struct vgpu_class_ops *vgpu_kind_class_ops(const struct vgpu_export *export);
const struct vgpu_node_ops *vgpu_kind_node_ops(u32 kind);

#endif /* VGPU_KIND_H */
