/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for dumb buffers of any DRM driver, all of one size. */
#ifndef DRM_DUMB_H
#define DRM_DUMB_H

#include <drm.h>
#include <drm_mode.h>

#include "vgpu_diff.h"

#define DUMB_WORDS	(64 * 32)

static __u32 create_dumb(int fd)
{
	struct drm_mode_create_dumb create = { .width = 64, .height = 32, .bpp = 32 };

	MUST(!ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	return create.handle;
}

static int export_fd(int fd, __u32 handle)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };

	MUST(!ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	return prime.fd;
}

static __u32 *map_dumb(int fd, __u32 handle)
{
	struct drm_mode_map_dumb map = { .handle = handle };
	void *memory;

	MUST(!ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &map));
	memory = mmap(NULL, DUMB_WORDS * sizeof(__u32), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      map.offset);
	MUST(memory != MAP_FAILED);
	return memory;
}

#endif /* DRM_DUMB_H */
