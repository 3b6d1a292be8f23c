/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differential tests on DRM nodes of several drivers. A body for one node sets
 * drm_node to the last part of the names VGPU_REAL_*, VGPU_FWD_* and VGPU_CHAR_*.
 */
#ifndef DRM_NODE_H
#define DRM_NODE_H

#include <drm.h>
#include <drm_mode.h>
#include <linux/dma-buf.h>

#include "vgpu_diff.h"

/* Commands that libdrm's headers lack. */
#define DRM_IOCTL_VGEM_FENCE_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, __u32[4])
#define DRM_IOCTL_VGEM_FENCE_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, __u32[2])

struct syncobj_eventfd {
	__u32 handle, flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define IOCTL_SYNCOBJ_EVENTFD	DRM_IOWR(0xcf, struct syncobj_eventfd)

#ifndef DMA_BUF_IOCTL_EXPORT_SYNC_FILE
struct dma_buf_export_sync_file {
	__u32 flags;
	__s32 fd;
};

struct dma_buf_import_sync_file {
	__u32 flags;
	__s32 fd;
};

#define DMA_BUF_IOCTL_EXPORT_SYNC_FILE	_IOWR(DMA_BUF_BASE, 2, struct dma_buf_export_sync_file)
#define DMA_BUF_IOCTL_IMPORT_SYNC_FILE	_IOW(DMA_BUF_BASE, 3, struct dma_buf_import_sync_file)
#endif

static const char *drm_node;

/* Reads a counter of the export behind the forwarded node. Return: -1 on errors. */
static inline long long drm_counter(const char *name)
{
	char variable[64], file[128];
	long long value = -1;
	const char *dev;
	FILE *stream;

	snprintf(variable, sizeof(variable), "VGPU_CHAR_%s", drm_node);
	dev = getenv(variable);
	if (!dev)
		return -1;
	snprintf(file, sizeof(file), "/sys/class/vgpu/%s/%s", strrchr(dev, '/') + 1, name);
	stream = fopen(file, "r");
	if (!stream)
		return -1;
	if (fscanf(stream, "%lld", &value) != 1)
		value = -1;
	fclose(stream);
	return value;
}

/* Calls an ioctl that a schema describes: it must take @trips round trips and fetch no page. */
static inline int drm_counted(int fd, unsigned long cmd, void *arg, const char *name, int trips)
{
	long long before = 0, pages = 0;
	int saved, ret;

	if (forwarded) {
		before = drm_counter("round_trips");
		pages = drm_counter("fetched_pages");
		CHECK(before >= 0 && pages >= 0);
	}
	errno = 0;
	ret = ioctl(fd, cmd, arg);
	saved = errno;
	if (forwarded) {
		long long more = drm_counter("round_trips") - before;

		if (!CHECK(more == trips))
			log_line("%s: %lld round trips", name, more);
		more = drm_counter("fetched_pages") - pages;
		if (!CHECK(more == 0))
			log_line("%s: %lld pages fetched", name, more);
	}
	errno = saved;
	return ret;
}

#endif /* DRM_NODE_H */
