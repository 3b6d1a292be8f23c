// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of amdgpu: amdgpu_drm.h; other ioctls are DRM core's.
 *
 * Arguments are unions of the inputs and the outputs.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

/* The program states the size of the entries, also in a chunk of a CS. */
#define LIST_ENTRIES(s, list, number, bytes) \
	{ VGPU_PTR(s, list), .dir = VGPU_IN, .count = VGPU_FIELD(s, number), \
	  .stride = VGPU_FIELD(s, bytes) }

static const struct vgpu_schema_field bo_list[] = {
	LIST_ENTRIES(union drm_amdgpu_bo_list, in.bo_info_ptr, in.bo_number, in.bo_info_size),
};

static const struct vgpu_schema_field chunk_list[] = {
	LIST_ENTRIES(struct drm_amdgpu_bo_list_in, bo_info_ptr, bo_number, bo_info_size),
};

static const struct vgpu_schema_struct chunk_bo_handles =
	VGPU_STRUCT(struct drm_amdgpu_bo_list_in, chunk_list);

/* The tag of a chunk tells its kind; all kinds except one are plain data. */
#define CHUNK_DATA \
	VGPU_PTR(struct drm_amdgpu_cs_chunk, chunk_data), .dir = VGPU_IN, .unit = sizeof(__u32), \
	.count = VGPU_FIELD(struct drm_amdgpu_cs_chunk, length_dw)

static const struct vgpu_schema_field chunk[] = {
	{ CHUNK_DATA, .elem = &chunk_bo_handles,
	  .when = VGPU_WHEN_EQUAL(struct drm_amdgpu_cs_chunk, chunk_id,
				  AMDGPU_CHUNK_ID_BO_HANDLES) },
	{ CHUNK_DATA },
};

static const struct vgpu_schema_struct a_chunk = VGPU_STRUCT(struct drm_amdgpu_cs_chunk, chunk);

static const struct vgpu_schema_field chunk_pointer[] = {
	{ .type = VGPU_FIELD_PTR, .size = sizeof(__u64), .dir = VGPU_IN, .elem = &a_chunk },
};

static const struct vgpu_schema_struct a_chunk_pointer = VGPU_STRUCT(__u64, chunk_pointer);

static const struct vgpu_schema_field cs[] = {
	{ VGPU_PTR(union drm_amdgpu_cs, in.chunks), .dir = VGPU_IN,
	  .count = VGPU_FIELD(union drm_amdgpu_cs, in.num_chunks), .elem = &a_chunk_pointer },
};

static const struct vgpu_schema_field gem_op[] = {
	{ VGPU_PTR(struct drm_amdgpu_gem_op, value), .dir = VGPU_INOUT,
	  .unit = sizeof(struct drm_amdgpu_gem_create_in),
	  .when = VGPU_WHEN_EQUAL(struct drm_amdgpu_gem_op, op,
				  AMDGPU_GEM_OP_GET_GEM_CREATE_INFO) },
#ifdef AMDGPU_GEM_OP_GET_MAPPING_INFO
	{ VGPU_PTR(struct drm_amdgpu_gem_op, value), .dir = VGPU_INOUT,
	  .unit = sizeof(struct drm_amdgpu_gem_vm_entry),
	  .count = VGPU_FIELD(struct drm_amdgpu_gem_op, num_entries),
	  .when = VGPU_WHEN_EQUAL(struct drm_amdgpu_gem_op, op,
				  AMDGPU_GEM_OP_GET_MAPPING_INFO) },
#endif
};

static const struct vgpu_schema_field wait_fences[] = {
	{ VGPU_TIME(union drm_amdgpu_wait_fences, in.timeout_ns) },
	READS(union drm_amdgpu_wait_fences, in.fences, struct drm_amdgpu_fence, in.fence_count),
};

#define FENCE_FD(w) \
	{ VGPU_FD_OUT(union drm_amdgpu_fence_to_handle, out.handle), \
	  .when = VGPU_WHEN_EQUAL(union drm_amdgpu_fence_to_handle, in.what, w) }

static const struct vgpu_schema_field fence_to_handle[] = {
	FENCE_FD(AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD),
	FENCE_FD(AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD),
};

#ifdef DRM_IOCTL_AMDGPU_USERQ
static const struct vgpu_schema_field gem_va[] = {
	READS(struct drm_amdgpu_gem_va, input_fence_syncobj_handles, __u32, num_syncobj_handles),
};

#define USERQ		union drm_amdgpu_userq
#define USERQ_CREATE	.when = VGPU_WHEN_EQUAL(USERQ, in.op, AMDGPU_USERQ_OP_CREATE)

/*
 * A queue of the program has its ring in mapped memory, so it cannot work in copy mode (LIVE).
 * Kernels without such queues fail with EINVAL, too.
 */
static const struct vgpu_schema_field userq[] = {
	{ VGPU_LIVE(USERQ, in.op), .error = EINVAL, USERQ_CREATE },
	{ VGPU_PTR(USERQ, in.mqd), .dir = VGPU_IN, .count = VGPU_FIELD(USERQ, in.mqd_size),
	  USERQ_CREATE },
};

#define BOS(s) \
	READS(s, bo_read_handles, __u32, num_bo_read_handles), \
	READS(s, bo_write_handles, __u32, num_bo_write_handles)

static const struct vgpu_schema_field userq_signal[] = {
	READS(struct drm_amdgpu_userq_signal, syncobj_handles, __u32, num_syncobj_handles),
	BOS(struct drm_amdgpu_userq_signal),
};

#define UQ_WAIT	struct drm_amdgpu_userq_wait

static const struct vgpu_schema_field userq_wait[] = {
	READS(UQ_WAIT, syncobj_handles, __u32, num_syncobj_handles),
	READS(UQ_WAIT, syncobj_timeline_handles, __u32, num_syncobj_timeline_handles),
	READS(UQ_WAIT, syncobj_timeline_points, __u64, num_syncobj_timeline_handles),
	BOS(UQ_WAIT),
	FILLS(UQ_WAIT, out_fences, struct drm_amdgpu_userq_fence_info, num_fences),
};
#endif

static const struct vgpu_schema_ioctl amdgpu_ioctls[] = {
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_GEM_CREATE) },
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_GEM_MMAP), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_CTX) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_BO_LIST, bo_list), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_CS, cs) },
	/* The driver fills as much as there is, or as fits. */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_AMDGPU_INFO,
			 FILLS(struct drm_amdgpu_info, return_pointer, __u8, return_size)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_GEM_METADATA), BOOKS },
	/* Timeouts of all waits are absolute times (amdgpu_gem_timeout()). */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE,
			 { VGPU_TIME(union drm_amdgpu_gem_wait_idle, in.timeout) }) },
#ifdef DRM_IOCTL_AMDGPU_USERQ
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_GEM_VA, gem_va) },
#else
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_GEM_VA) },
#endif
	{ VGPU_IOCTL_ONE(DRM_IOCTL_AMDGPU_WAIT_CS,
			 { VGPU_TIME(union drm_amdgpu_wait_cs, in.timeout) }) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_GEM_OP, gem_op) },
	/*
	 * The device would keep memory of the process; kernels without that support fail with
	 * ENODEV, too.
	 */
	{ VGPU_IOCTL_REFUSE(DRM_IOCTL_AMDGPU_GEM_USERPTR, ENODEV) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_WAIT_FENCES, wait_fences) },
	{ VGPU_IOCTL(DRM_IOCTL_AMDGPU_VM), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, fence_to_handle), BOOKS },
	/* The fd is a file of amdgpu itself, whose contexts are changed. */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_AMDGPU_SCHED,
			 { VGPU_FD_IN(union drm_amdgpu_sched, in.fd) }), BOOKS },
#ifdef DRM_IOCTL_AMDGPU_USERQ
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_USERQ, userq) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_USERQ_SIGNAL, userq_signal) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_AMDGPU_USERQ_WAIT, userq_wait) },
#endif
#ifdef DRM_IOCTL_AMDGPU_GEM_LIST_HANDLES
	{ VGPU_IOCTL_ONE(DRM_IOCTL_AMDGPU_GEM_LIST_HANDLES,
			 FILLS(struct drm_amdgpu_gem_list_handles, entries,
			       struct drm_amdgpu_gem_list_handles_entry, num_entries)), BOOKS },
#endif
};

const struct vgpu_schema vgpu_schema_amdgpu = {
	.name = "amdgpu",
	VGPU_IOCTLS(amdgpu_ioctls),
	.base = &vgpu_schema_drm,
};
