/* SPDX-License-Identifier: GPL-2.0-only */
/* Read-ahead of the events of DRM files, see ahead.c. */
#ifndef VGPU_AHEAD_H
#define VGPU_AHEAD_H

#include <linux/types.h>

struct file;
struct vgpu_object;

bool vgpu_ahead_is_for(const struct vgpu_object *object);
ssize_t vgpu_ahead_read(struct file *file, char __user *buf, size_t count);
__poll_t vgpu_ahead_poll(const struct vgpu_object *object);

#endif /* VGPU_AHEAD_H */
