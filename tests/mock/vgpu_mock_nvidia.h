/* SPDX-License-Identifier: GPL-2.0-only */
/* What a stand-in for NVIDIA's driver does for programs. */
#ifndef VGPU_MOCK_NVIDIA_H
#define VGPU_MOCK_NVIDIA_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_MOCK_NVIDIA_NAME	32

/**
 * struct vgpu_mock_nvidia - which node it is
 * @value: becomes its complement
 * @name: address of VGPU_MOCK_NVIDIA_NAME bytes that get the name of the node
 */
struct vgpu_mock_nvidia {
	__u64 value;
	__u64 name;
};

#define VGPU_MOCK_NVIDIA_IOC	_IOWR('V', 0xe0, struct vgpu_mock_nvidia)

#endif /* VGPU_MOCK_NVIDIA_H */
