/* SPDX-License-Identifier: GPL-2.0-only */
/* Files for objects that calls return. */
#ifndef VGPU_PROXY_H
#define VGPU_PROXY_H

struct file;
struct vgpu_object;

struct file *vgpu_proxy_file(struct vgpu_object *object, struct file *from);

#endif /* VGPU_PROXY_H */
