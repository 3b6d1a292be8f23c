/* SPDX-License-Identifier: MIT */
/*
 * Tables of ioctls: their names, numbers and classes. The numbers are written out, because the
 * headers of the machine that builds vgpud may be older than the drivers of the one that runs it.
 */
#ifndef VGPUD_IOCTLS_TABLE_H
#define VGPUD_IOCTLS_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The ioctl changes nothing that another opener of the device sees. */
#define IOCTL_QUERY	(1U << 0)
/* The ioctl is needed to draw, to drive screens, to compute, to become and be DRM master. */
#define IOCTL_RENDER	(1U << 1)
#define IOCTL_DISPLAY	(1U << 2)
#define IOCTL_COMPUTE	(1U << 3)
#define IOCTL_MASTER	(1U << 4)
/* The ioctl gives the device work, for which guests wait for each other. */
#define IOCTL_SUBMIT	(1U << 5)

#define IOCTL_WORK	(IOCTL_RENDER | IOCTL_COMPUTE)
#define IOCTL_USE	(IOCTL_RENDER | IOCTL_DISPLAY | IOCTL_COMPUTE)

/* Compute vgpu_ioctl_key() of an ioctl by its type and number. */
#define IOCTL_KEY(type, nr)	((type) << 8 | (nr))

/**
 * struct ioctl - an ioctl
 * @name: name in the header of its driver
 * @key: type and number, as lists of ioctls name it
 * @classes: bit mask of IOCTL_*; 0: only the profile "all" has it
 */
struct ioctl {
	const char *name;
	uint16_t key;
	uint16_t classes;
};

/**
 * struct ioctl_table - the ioctls of a driver or of a kind of files
 * @ioctls: array of the ioctls; if several have one key, the first name is shown
 * @nr: number of entries of @ioctls
 */
struct ioctl_table {
	const struct ioctl *ioctls;
	size_t nr;
};

#define IOCTL_TABLE(array)	{ .ioctls = (array), .nr = sizeof(array) / sizeof((array)[0]) }

extern const struct ioctl_table drm_table, virtio_gpu_table, amdgpu_table, nouveau_table,
	vgem_table, i915_table, xe_table, panfrost_table, panthor_table, msm_table, v3d_table,
	v4l2_table, media_table, alsa_table, dma_buf_table, sync_file_table;

/* Return the classes of an ioctl of NVIDIA's driver, by its vgpu_nvidia_key(). */
unsigned int nvidia_classes(uint32_t key);

#endif /* VGPUD_IOCTLS_TABLE_H */
