/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions to allocate and map memory of an NVIDIA card, or of the stand-in for its driver
 * (tests/mock/nvidia_rm.c), without NVIDIA's libraries. They use an RM client with the first card's
 * device.
 */
#ifndef GPU_MEMORY_H
#define GPU_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/memory/nvidia.h"

#define CLASS_SYSTEM	RM_CLASS_SYSTEM
#define CLASS_VIDEO	0x40

#define ATTR_VIDEO	(3U << 27)

static struct nvidia rm = { .control = -1 };
static uint32_t device, subdevice;

static inline int open_node(uint32_t card)
{
	return open(card == RM_MINOR_CTL ? "/dev/nvidiactl" : "/dev/nvidia0", O_RDWR | O_CLOEXEC);
}

/* Functions that return a uint32_t return an RM status, which is 0 on success. */
static inline uint32_t rm_alloc(uint32_t parent, uint32_t class, void *params, uint32_t size,
				uint32_t *object)
{
	struct rm_alloc args = {
		.client = rm.client, .parent = parent, .class = class,
		.params = (uintptr_t)params, .params_size = size,
	};

	if (ioctl(rm.control, RM_IOCTL_ALLOC, &args))
		return 0xffff0000 | errno;
	*object = args.object;
	return args.status;
}

static inline uint32_t rm_memory(uint32_t class, uint64_t size, uint32_t *object)
{
	struct rm_memory_params params = {
		.owner = rm.client,
		.attr = class == CLASS_VIDEO ? ATTR_VIDEO : RM_ATTR_SYSTEM,
		.size = size,
	};

	return rm_alloc(device, class, &params, sizeof(params), object);
}

/*
 * Map a memory object. @file: out: file of the mapping, which the caller closes. Return: address,
 * or MAP_FAILED.
 */
static inline void *rm_map(uint32_t object, uint64_t size, uint32_t card, int *file)
{
	struct rm_map args = {
		.client = rm.client, .device = device, .memory = object, .len = size,
	};
	void *addr;

	args.fd = open_node(card);
	if (args.fd < 0 || ioctl(rm.control, RM_IOCTL_MAP, &args) || args.status) {
		rm.status = args.status;
		close(args.fd);
		return MAP_FAILED;
	}
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, args.fd, 0);
	*file = args.fd;
	return addr;
}

/*
 * Make the client and the card's device. @begin: nvidia_begin() or nvidia_begin_apart(). Return: 0
 * or a negative errno.
 */
static inline int rm_begin_by(int (*begin)(struct nvidia *nvidia, int control))
{
	struct rm_device device_params = {};
	struct rm_subdevice subdevice_params = {};
	int ret = begin(&rm, open_node(RM_MINOR_CTL));

	if (ret)
		return ret;
	rm.status = rm_alloc(rm.client, RM_CLASS_DEVICE, &device_params, sizeof(device_params),
			     &device);
	if (!rm.status)
		rm.status = rm_alloc(device, RM_CLASS_SUBDEVICE, &subdevice_params,
				     sizeof(subdevice_params), &subdevice);
	return rm.status ? -EIO : 0;
}

/* Make a client by nvidia_begin(). Return: 0 or a negative errno. */
static inline int rm_begin(void)
{
	return rm_begin_by(nvidia_begin);
}

/* Let client @with duplicate @object of @client. Return: 0 or a negative errno. */
static inline int rm_share(uint32_t client, uint32_t object, uint32_t with)
{
	struct rm_share args = {
		.client = client, .object = object, .with_client = with,
		.rights = RM_SHARE_RIGHT_DUP, .with = RM_SHARE_WITH_CLIENT,
		.how = RM_SHARE_HOW_ADD,
	};

	if (ioctl(rm.control, RM_IOCTL_SHARE, &args))
		return -errno;
	rm.status = args.status;
	return args.status ? -EACCES : 0;
}

/* Free @object of @client. Return: 0 or a negative errno. */
static inline int rm_release(uint32_t client, uint32_t object)
{
	struct rm_free args = { .client = client, .object = object };

	if (ioctl(rm.control, RM_IOCTL_FREE, &args))
		return -errno;
	rm.status = args.status;
	return args.status ? -EACCES : 0;
}

#endif /* GPU_MEMORY_H */
