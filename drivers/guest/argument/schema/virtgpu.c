// SPDX-License-Identifier: GPL-2.0-only
/* Schema of virtio-gpu: virtgpu_drm.h; other ioctls are DRM core's. */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#define EXEC	struct vgpu_virtgpu_execbuffer

/* An fd of a fence is passed in or out, or is replaced by another one. */
static const struct vgpu_schema_field execbuffer[] = {
	READS(EXEC, command, __u8, size),
	READS(EXEC, bo_handles, __u32, num_bo_handles),
	{ VGPU_FD_IN(EXEC, fence_fd),
	  .when = VGPU_WHEN_FLAG(EXEC, flags, VIRTGPU_EXECBUF_FENCE_FD_IN) },
	{ VGPU_FD_OUT(EXEC, fence_fd),
	  .when = VGPU_WHEN_FLAG(EXEC, flags, VIRTGPU_EXECBUF_FENCE_FD_OUT) },
	{ VGPU_PTR(EXEC, in_syncobjs), .dir = VGPU_IN,
	  .count = VGPU_FIELD(EXEC, num_in_syncobjs), .stride = VGPU_FIELD(EXEC, syncobj_stride) },
	{ VGPU_PTR(EXEC, out_syncobjs), .dir = VGPU_IN,
	  .count = VGPU_FIELD(EXEC, num_out_syncobjs), .stride = VGPU_FIELD(EXEC, syncobj_stride) },
};

/* The value is an int for all parameters. */
static const struct vgpu_schema_field getparam[] = {
	{ VGPU_PTR(struct drm_virtgpu_getparam, value), .dir = VGPU_OUT, .unit = sizeof(__s32) },
};

/*
 * Contexts other than virgl's have a ring in mapped memory, to which the library writes
 * commands and where it waits for answers. In copy mode it would wait for ever, or take old
 * bytes for an answer. Libraries report that there is no device if a context cannot be made.
 */
#define PARAM		struct drm_virtgpu_context_set_param
#define PARAM_IS(n)	.when = VGPU_WHEN_EQUAL(PARAM, param, n)
#define RING(capset) \
	{ VGPU_LIVE(PARAM, value), .error = EINVAL, .when = VGPU_WHEN_EQUAL(PARAM, value, capset) }

static const struct vgpu_schema_field context_param[] = {
	{ VGPU_PTR(PARAM, value), .dir = VGPU_IN, .count = VGPU_CONST(VGPU_VIRTGPU_DEBUG_NAME_LEN),
	  PARAM_IS(VGPU_VIRTGPU_DEBUG_NAME) },
	{ VGPU_PLAIN_IF(PARAM, value), PARAM_IS(VIRTGPU_CONTEXT_PARAM_NUM_RINGS) },
	{ VGPU_PLAIN_IF(PARAM, value), PARAM_IS(VIRTGPU_CONTEXT_PARAM_POLL_RINGS_MASK) },
	RING(VGPU_VIRTGPU_CAPSET_GFXSTREAM),
	RING(VGPU_VIRTGPU_CAPSET_VENUS),
	RING(VGPU_VIRTGPU_CAPSET_CROSS),
	RING(VGPU_VIRTGPU_CAPSET_DRM),
};

static const struct vgpu_schema_struct context_params = VGPU_STRUCT(PARAM, context_param);

static const struct vgpu_schema_field context_init[] = {
	{ VGPU_PTR(struct drm_virtgpu_context_init, ctx_set_params), .dir = VGPU_IN,
	  .count = VGPU_FIELD(struct drm_virtgpu_context_init, num_params),
	  .elem = &context_params },
};

/*
 * A new resource is a blank buffer (blank.h): the device writes to the mapped part of it only by
 * transfers. RESOURCE_CREATE_BLOB makes no blank buffer: it may name memory that the device has
 * used before.
 */
static const struct vgpu_schema_blank create =
	VGPU_BLANK_MADE(struct drm_virtgpu_resource_create, bo_handle);

static const struct vgpu_schema_blank map =
	VGPU_BLANK_PLACED(struct drm_virtgpu_map, handle, offset);

static const struct vgpu_schema_ioctl virtgpu_ioctls[] = {
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_MAP), .blank = &map },
	{ VGPU_IOCTL_WITH_OF(DRM_IOCTL_VIRTGPU_EXECBUFFER, EXEC, execbuffer) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_VIRTGPU_GETPARAM, getparam), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_RESOURCE_CREATE), .blank = &create },
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_RESOURCE_INFO), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_TRANSFER_FROM_HOST) },
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_TRANSFER_TO_HOST) },
	{ VGPU_IOCTL(DRM_IOCTL_VIRTGPU_WAIT) },
	/* The driver fills at most what the device has, which may be less. */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_VIRTGPU_GET_CAPS,
			 FILLS(struct drm_virtgpu_get_caps, addr, __u8, size)), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB,
			 READS(struct drm_virtgpu_resource_create_blob, cmd, __u8, cmd_size)) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_VIRTGPU_CONTEXT_INIT, context_init), BOOKS },
};

const struct vgpu_schema vgpu_schema_virtgpu = {
	.name = "virtio_gpu",
	VGPU_IOCTLS(virtgpu_ioctls),
	.base = &vgpu_schema_drm,
};
