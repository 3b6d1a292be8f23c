/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls of NVIDIA's driver as a host knows them, whatever a guest says of them: each by the key
 * that policies judge it by, and by the name that NVIDIA's headers give it.
 */
#ifndef VGPU_NVIDIA_IOCTLS_H
#define VGPU_NVIDIA_IOCTLS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "wire_user.h"
#endif

/**
 * struct vgpu_nvidia_ioctl - an ioctl
 * @key: vgpu_nvidia_key() of its command
 * @name: name of NVIDIA's, by which lists of ioctls may call it
 */
struct vgpu_nvidia_ioctl {
	u32 key;
	const char *name;
};

extern const struct vgpu_nvidia_ioctl vgpu_nvidia_ioctls[];
extern const u32 vgpu_nvidia_nr_ioctls;

/**
 * vgpu_nvidia_name - the name of an ioctl
 * @key: vgpu_nvidia_key() of its command
 *
 * Return: the name, or NULL when it is not known.
 */
const char *vgpu_nvidia_name(u32 key);

#endif /* VGPU_NVIDIA_IOCTLS_H */
