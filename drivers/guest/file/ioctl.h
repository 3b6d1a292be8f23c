/* SPDX-License-Identifier: GPL-2.0-only */
/* Ioctls of files that show objects. */
#ifndef VGPU_IOCTL_H
#define VGPU_IOCTL_H

struct file;

long vgpu_ioctl_native(struct file *file, unsigned int cmd, unsigned long arg);
long vgpu_ioctl_compat(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* VGPU_IOCTL_H */
