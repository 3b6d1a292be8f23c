// SPDX-License-Identifier: GPL-2.0-only
/* Schema of sync_file: fences that are files. */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

static const struct vgpu_schema_field sync_merge[] = {
	{ VGPU_FD_IN(struct sync_merge_data, fd2) },
	{ VGPU_FD_OUT(struct sync_merge_data, fence) },
};

/* The time is 0 before the fence is signaled. */
static const struct vgpu_schema_struct a_fence_info =
	VGPU_STRUCT_ONE(struct sync_fence_info,
			{ VGPU_STAMP(struct sync_fence_info, timestamp_ns) });

static const struct vgpu_schema_ioctl sync_file_ioctls[] = {
	{ VGPU_IOCTL_WITH(SYNC_IOC_MERGE, sync_merge), BOOKS },
	/* The status tells if the device has finished with mapped memory. */
	{ VGPU_IOCTL_ONE(SYNC_IOC_FILE_INFO,
			 { VGPU_PTR(struct sync_file_info, sync_fence_info), .dir = VGPU_OUT,
			   .elem = &a_fence_info,
			   .count = VGPU_FIELD(struct sync_file_info, num_fences),
			   .out_count = VGPU_FIELD(struct sync_file_info, num_fences) }) },
	{ VGPU_IOCTL_ONE(SYNC_IOC_SET_DEADLINE,
			 { VGPU_TIME(struct sync_set_deadline, deadline_ns) }), BOOKS },
};

const struct vgpu_schema vgpu_schema_sync_file = {
	.name = "sync_file",
	VGPU_IOCTLS(sync_file_ioctls),
};
