/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user interfaces that the schemas describe, and what of them is newer than
 * the oldest kernel headers that they are built with. A guest knows an ioctl by
 * its own table, not by its kernel: the program and the host may be newer.
 */
#ifndef VGPU_SCHEMA_UAPI_H
#define VGPU_SCHEMA_UAPI_H

/* Types of drm.h, which user space gets from libdrm or the kernel's headers. */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <drm/virtgpu_drm.h>
#ifdef __KERNEL__
#include <uapi/linux/dma-buf.h>
#include <uapi/linux/sync_file.h>
#else
#include <linux/dma-buf.h>
#include <linux/sync_file.h>
#endif

#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD	/* 6.6 */
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define DRM_IOCTL_SYNCOBJ_EVENTFD	DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif

#ifndef DRM_IOCTL_MODE_CLOSEFB		/* 6.8 */
struct drm_mode_closefb {
	__u32 fb_id;
	__u32 pad;
};

#define DRM_IOCTL_MODE_CLOSEFB		DRM_IOWR(0xD0, struct drm_mode_closefb)
#endif

#ifndef DRM_IOCTL_SET_CLIENT_NAME	/* 6.13 */
struct drm_set_client_name {
	__u64 name_len;
	__u64 name;
};

#define DRM_IOCTL_SET_CLIENT_NAME	DRM_IOWR(0xD1, struct drm_set_client_name)
#endif

#ifndef DRM_IOCTL_GEM_CHANGE_HANDLE	/* 6.18 */
struct drm_gem_change_handle {
	__u32 handle;
	__u32 new_handle;
};

#define DRM_IOCTL_GEM_CHANGE_HANDLE	DRM_IOWR(0xD2, struct drm_gem_change_handle)
#endif

#ifndef SYNC_IOC_SET_DEADLINE		/* 6.6 */
struct sync_set_deadline {
	__u64 deadline_ns;
	__u64 pad;
};

#define SYNC_IOC_SET_DEADLINE		_IOW(SYNC_IOC_MAGIC, 5, struct sync_set_deadline)
#endif

/* struct drm_virtgpu_execbuffer as it is since 6.6, when it grew. */
struct vgpu_virtgpu_execbuffer {
	__u32 flags;
	__u32 size;
	__u64 command;
	__u64 bo_handles;
	__u32 num_bo_handles;
	__s32 fence_fd;
	__u32 ring_idx;
	__u32 syncobj_stride;
	__u32 num_in_syncobjs;
	__u32 num_out_syncobjs;
	__u64 in_syncobjs;
	__u64 out_syncobjs;
};

/* VIRTGPU_CONTEXT_PARAM_DEBUG_NAME (6.12): a string of which 63 bytes count. */
#define VGPU_VIRTGPU_DEBUG_NAME		4
#define VGPU_VIRTGPU_DEBUG_NAME_LEN	64

#endif /* VGPU_SCHEMA_UAPI_H */
