// SPDX-License-Identifier: GPL-2.0-only
/* Schema of panfrost: panfrost_drm.h; other ioctls are DRM core's. */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#define SUBMIT	struct drm_panfrost_submit

static const struct vgpu_schema_field submit[] = {
	READS(SUBMIT, in_syncs, __u32, in_sync_count),
	READS(SUBMIT, bo_handles, __u32, bo_handle_count),
};

#ifdef DRM_IOCTL_PANFROST_SYNC_BO
static const struct vgpu_schema_field sync_bo[] = {
	READS(struct drm_panfrost_sync_bo, ops, struct drm_panfrost_bo_sync_op, op_count),
};
#endif

/* New buffers are blank (blank.h): zeroed shmem, and the GPU uses only buffers that a job names. */
static const struct vgpu_schema_blank create_bo =
	VGPU_BLANK_MADE(struct drm_panfrost_create_bo, handle);

static const struct vgpu_schema_blank mmap_bo =
	VGPU_BLANK_PLACED(struct drm_panfrost_mmap_bo, handle, offset);

static const struct vgpu_schema_ioctl panfrost_ioctls[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_PANFROST_SUBMIT, submit) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PANFROST_WAIT_BO,
			 { VGPU_TIME(struct drm_panfrost_wait_bo, timeout_ns) }) },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_CREATE_BO), .blank = &create_bo },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_MMAP_BO), BOOKS, .blank = &mmap_bo },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_GET_PARAM), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_GET_BO_OFFSET), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_PERFCNT_ENABLE) },
	/* The length of the data depends on the GPU: buf_ptr is left to demand paging. */
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_PERFCNT_DUMP) },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_MADVISE) },
#ifdef DRM_IOCTL_PANFROST_SET_LABEL_BO
	/* The label is a string of unknown length, which is left to demand paging. */
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_SET_LABEL_BO), BOOKS },
#endif
#ifdef DRM_IOCTL_PANFROST_JM_CTX_CREATE
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_JM_CTX_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_JM_CTX_DESTROY) },
#endif
#ifdef DRM_IOCTL_PANFROST_SYNC_BO
	{ VGPU_IOCTL_WITH(DRM_IOCTL_PANFROST_SYNC_BO, sync_bo) },
	{ VGPU_IOCTL(DRM_IOCTL_PANFROST_QUERY_BO_INFO), BOOKS },
#endif
};

const struct vgpu_schema vgpu_schema_panfrost = {
	.name = "panfrost",
	VGPU_IOCTLS(panfrost_ioctls),
	.base = &vgpu_schema_drm,
};
