/* SPDX-License-Identifier: GPL-2.0-only */
/* Detection of calls by which NVIDIA's driver shares an object of a program. */
#ifndef VGPU_NVIDIA_SHARE_H
#define VGPU_NVIDIA_SHARE_H

#include <linux/types.h>

struct vgpu_marshal;
struct vgpu_object;

bool vgpu_nvidia_shares(const struct vgpu_object *object, unsigned int cmd,
			const struct vgpu_marshal *m);

#endif /* VGPU_NVIDIA_SHARE_H */
