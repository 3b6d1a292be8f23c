/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file of a shadow.
 */
#ifndef _VGPU_HOST_SHADOW_H
#define _VGPU_HOST_SHADOW_H

#include <linux/types.h>

struct file;
struct vgpu_peer;

/* Make session @number, and the file by which a process becomes its shadow. */
struct file *vgpu_shadow_create(struct vgpu_peer *peer, u64 number);

#endif /* _VGPU_HOST_SHADOW_H */
