/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ioctls of NVIDIA's driver as the host knows them, independent of the guest's schema: the key
 * by which policies check each, and its name in NVIDIA's headers.
 */
#ifndef VGPU_NVIDIA_IOCTLS_H
#define VGPU_NVIDIA_IOCTLS_H

#include "wire.h"

/**
 * struct vgpu_nvidia_ioctl - key and name of an ioctl
 * @key: vgpu_nvidia_key() of the command
 * @name: name in NVIDIA's headers, which lists of ioctls may use
 */
struct vgpu_nvidia_ioctl {
	u32 key;
	const char *name;
};

extern const struct vgpu_nvidia_ioctl vgpu_nvidia_ioctls[];
extern const u32 vgpu_nvidia_nr_ioctls;

/**
 * vgpu_nvidia_name - get the name of an ioctl
 * @key: vgpu_nvidia_key() of the command
 *
 * Return: the name, or NULL if the ioctl is unknown.
 */
const char *vgpu_nvidia_name(u32 key);

#endif /* VGPU_NVIDIA_IOCTLS_H */
