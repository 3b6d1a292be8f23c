// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of panthor: panthor_drm.h, which exists from 6.10; other ioctls are DRM core's. The
 * numbers of ioctls are an enum, so the preprocessor cannot tell which ones the header has:
 * newer ioctls are left to demand paging.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#ifdef DRM_PANTHOR_OBJ_ARRAY
/* Entry for an array, which an inner struct with address, count and stride describes. */
#define ARRAY(s, member, e) \
	{ VGPU_PTR(s, member.array), .dir = VGPU_IN, .elem = (e), \
	  .count = VGPU_FIELD(s, member.count), .stride = VGPU_FIELD(s, member.stride) }

static const struct vgpu_schema_struct a_bind_op =
	VGPU_STRUCT_ONE(struct drm_panthor_vm_bind_op,
			ARRAY(struct drm_panthor_vm_bind_op, syncs, NULL));

static const struct vgpu_schema_struct a_queue_submit =
	VGPU_STRUCT_ONE(struct drm_panthor_queue_submit,
			ARRAY(struct drm_panthor_queue_submit, syncs, NULL));

static const struct vgpu_schema_ioctl panthor_ioctls[] = {
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PANTHOR_DEV_QUERY,
			 FILLS(struct drm_panthor_dev_query, pointer, __u8, size)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_VM_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_VM_DESTROY) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PANTHOR_VM_BIND,
			 ARRAY(struct drm_panthor_vm_bind, ops, &a_bind_op)) },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_VM_GET_STATE), BOOKS },
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_BO_CREATE) },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_BO_MMAP_OFFSET), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PANTHOR_GROUP_CREATE,
			 ARRAY(struct drm_panthor_group_create, queues, NULL)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_GROUP_DESTROY) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PANTHOR_GROUP_SUBMIT,
			 ARRAY(struct drm_panthor_group_submit, queue_submits, &a_queue_submit)) },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_GROUP_GET_STATE) },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_TILER_HEAP_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_PANTHOR_TILER_HEAP_DESTROY) },
};
#endif

const struct vgpu_schema vgpu_schema_panthor = {
	.name = "panthor",
#ifdef DRM_PANTHOR_OBJ_ARRAY
	VGPU_IOCTLS(panthor_ioctls),
#endif
	.base = &vgpu_schema_drm,
};
