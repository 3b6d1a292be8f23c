// SPDX-License-Identifier: MIT
/* Fields of the ioctls of DRM itself. */
#include <drm/drm.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct drm_##s, m)
#define X(s, m)	TRACE_HEX(struct drm_##s, m)

static const struct trace_field version[] = {
	D(version, version_major), D(version, version_minor), D(version, version_patchlevel),
	D(version, name_len), X(version, name), D(version, date_len), X(version, date),
	D(version, desc_len), X(version, desc),
};

static const struct trace_field unique[] = {
	D(unique, unique_len), X(unique, unique),
};

static const struct trace_field auth[] = {
	D(auth, magic),
};

static const struct trace_field client[] = {
	D(client, idx), D(client, auth), D(client, pid), D(client, uid), D(client, magic),
	D(client, iocs),
};

static const struct trace_field set_version[] = {
	D(set_version, drm_di_major), D(set_version, drm_di_minor),
	D(set_version, drm_dd_major), D(set_version, drm_dd_minor),
};

static const struct trace_field gem_close[] = {
	D(gem_close, handle), D(gem_close, pad),
};

static const struct trace_field gem_flink[] = {
	D(gem_flink, handle), D(gem_flink, name),
};

static const struct trace_field gem_open[] = {
	D(gem_open, name), D(gem_open, handle), D(gem_open, size),
};

static const struct trace_field get_cap[] = {
	D(get_cap, capability), D(get_cap, value),
};

static const struct trace_field set_client_cap[] = {
	D(set_client_cap, capability), D(set_client_cap, value),
};

static const struct trace_field prime_handle[] = {
	D(prime_handle, handle), X(prime_handle, flags), D(prime_handle, fd),
};

static const struct trace_field crtc_get_sequence[] = {
	D(crtc_get_sequence, crtc_id), D(crtc_get_sequence, active),
	D(crtc_get_sequence, sequence), D(crtc_get_sequence, sequence_ns),
};

static const struct trace_field crtc_queue_sequence[] = {
	D(crtc_queue_sequence, crtc_id), X(crtc_queue_sequence, flags),
	D(crtc_queue_sequence, sequence), X(crtc_queue_sequence, user_data),
};

static const struct trace_field syncobj_create[] = {
	D(syncobj_create, handle), X(syncobj_create, flags),
};

static const struct trace_field syncobj_destroy[] = {
	D(syncobj_destroy, handle), D(syncobj_destroy, pad),
};

static const struct trace_field syncobj_handle[] = {
	D(syncobj_handle, handle), X(syncobj_handle, flags), D(syncobj_handle, fd),
};

static const struct trace_field syncobj_wait[] = {
	X(syncobj_wait, handles), D(syncobj_wait, timeout_nsec),
	D(syncobj_wait, count_handles), X(syncobj_wait, flags),
	D(syncobj_wait, first_signaled), D(syncobj_wait, pad),
};

static const struct trace_field syncobj_array[] = {
	X(syncobj_array, handles), D(syncobj_array, count_handles), D(syncobj_array, pad),
};

static const struct trace_field syncobj_timeline_wait[] = {
	X(syncobj_timeline_wait, handles), X(syncobj_timeline_wait, points),
	D(syncobj_timeline_wait, timeout_nsec), D(syncobj_timeline_wait, count_handles),
	X(syncobj_timeline_wait, flags), D(syncobj_timeline_wait, first_signaled),
	D(syncobj_timeline_wait, pad),
};

static const struct trace_field syncobj_timeline_array[] = {
	X(syncobj_timeline_array, handles), X(syncobj_timeline_array, points),
	D(syncobj_timeline_array, count_handles), X(syncobj_timeline_array, flags),
};

static const struct trace_field syncobj_transfer[] = {
	D(syncobj_transfer, src_handle), D(syncobj_transfer, dst_handle),
	D(syncobj_transfer, src_point), D(syncobj_transfer, dst_point),
	X(syncobj_transfer, flags), D(syncobj_transfer, pad),
};

const struct trace_fields trace_fields_drm[] = {
	TRACE_FIELDS(DRM_IOCTL_VERSION, version),
	TRACE_FIELDS(DRM_IOCTL_GET_UNIQUE, unique),
	TRACE_FIELDS(DRM_IOCTL_GET_MAGIC, auth),
	TRACE_FIELDS(DRM_IOCTL_GET_CLIENT, client),
	TRACE_FIELDS(DRM_IOCTL_SET_VERSION, set_version),
	TRACE_FIELDS(DRM_IOCTL_GEM_CLOSE, gem_close),
	TRACE_FIELDS(DRM_IOCTL_GEM_FLINK, gem_flink),
	TRACE_FIELDS(DRM_IOCTL_GEM_OPEN, gem_open),
	TRACE_FIELDS(DRM_IOCTL_GET_CAP, get_cap),
	TRACE_FIELDS(DRM_IOCTL_SET_CLIENT_CAP, set_client_cap),
	TRACE_FIELDS(DRM_IOCTL_AUTH_MAGIC, auth),
	TRACE_FIELDS(DRM_IOCTL_PRIME_HANDLE_TO_FD, prime_handle),
	TRACE_FIELDS(DRM_IOCTL_PRIME_FD_TO_HANDLE, prime_handle),
	TRACE_FIELDS(DRM_IOCTL_CRTC_GET_SEQUENCE, crtc_get_sequence),
	TRACE_FIELDS(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, crtc_queue_sequence),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_CREATE, syncobj_create),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_DESTROY, syncobj_destroy),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, syncobj_handle),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, syncobj_handle),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_WAIT, syncobj_wait),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_RESET, syncobj_array),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_SIGNAL, syncobj_array),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, syncobj_timeline_wait),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_QUERY, syncobj_timeline_array),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_TRANSFER, syncobj_transfer),
	TRACE_FIELDS(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, syncobj_timeline_array),
	{ NULL }
};
