// SPDX-License-Identifier: MIT
/* Fields of the ioctls of virtio-gpu. */
#include <drm/virtgpu_drm.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct drm_virtgpu_##s, m)
#define X(s, m)	TRACE_HEX(struct drm_virtgpu_##s, m)

static const struct trace_field map[] = {
	X(map, offset), D(map, handle), D(map, pad),
};

static const struct trace_field execbuffer[] = {
	X(execbuffer, flags), D(execbuffer, size), X(execbuffer, command),
	X(execbuffer, bo_handles), D(execbuffer, num_bo_handles), D(execbuffer, fence_fd),
	D(execbuffer, ring_idx),
};

static const struct trace_field getparam[] = {
	D(getparam, param), X(getparam, value),
};

static const struct trace_field resource_create[] = {
	D(resource_create, target), D(resource_create, format), X(resource_create, bind),
	D(resource_create, width), D(resource_create, height), D(resource_create, depth),
	D(resource_create, array_size), D(resource_create, last_level),
	D(resource_create, nr_samples), X(resource_create, flags),
	D(resource_create, bo_handle), D(resource_create, res_handle),
	D(resource_create, size), D(resource_create, stride),
};

static const struct trace_field resource_info[] = {
	D(resource_info, bo_handle), D(resource_info, res_handle), D(resource_info, size),
	D(resource_info, blob_mem),
};

static const struct trace_field transfer_from_host[] = {
	D(3d_transfer_from_host, bo_handle), D(3d_transfer_from_host, box.x),
	D(3d_transfer_from_host, box.y), D(3d_transfer_from_host, box.z),
	D(3d_transfer_from_host, box.w), D(3d_transfer_from_host, box.h),
	D(3d_transfer_from_host, box.d), D(3d_transfer_from_host, level),
	X(3d_transfer_from_host, offset), D(3d_transfer_from_host, stride),
	D(3d_transfer_from_host, layer_stride),
};

static const struct trace_field transfer_to_host[] = {
	D(3d_transfer_to_host, bo_handle), D(3d_transfer_to_host, box.x), D(3d_transfer_to_host, box.y),
	D(3d_transfer_to_host, box.z), D(3d_transfer_to_host, box.w), D(3d_transfer_to_host, box.h),
	D(3d_transfer_to_host, box.d), D(3d_transfer_to_host, level), X(3d_transfer_to_host, offset),
	D(3d_transfer_to_host, stride), D(3d_transfer_to_host, layer_stride),
};

static const struct trace_field wait[] = {
	D(3d_wait, handle), X(3d_wait, flags),
};

static const struct trace_field get_caps[] = {
	D(get_caps, cap_set_id), D(get_caps, cap_set_ver), X(get_caps, addr),
	D(get_caps, size), D(get_caps, pad),
};

static const struct trace_field resource_create_blob[] = {
	D(resource_create_blob, blob_mem), X(resource_create_blob, blob_flags),
	D(resource_create_blob, bo_handle), D(resource_create_blob, res_handle),
	D(resource_create_blob, size), D(resource_create_blob, pad),
	D(resource_create_blob, cmd_size), D(resource_create_blob, cmd),
	D(resource_create_blob, blob_id),
};

static const struct trace_field context_init[] = {
	D(context_init, num_params), D(context_init, pad), X(context_init, ctx_set_params),
};

const struct trace_fields trace_fields_virtio_gpu[] = {
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_MAP, map),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_EXECBUFFER, execbuffer),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_GETPARAM, getparam),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_RESOURCE_CREATE, resource_create),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_RESOURCE_INFO, resource_info),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_TRANSFER_FROM_HOST, transfer_from_host),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_TRANSFER_TO_HOST, transfer_to_host),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_WAIT, wait),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_GET_CAPS, get_caps),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB, resource_create_blob),
	TRACE_FIELDS(DRM_IOCTL_VIRTGPU_CONTEXT_INIT, context_init),
	{ NULL }
};
