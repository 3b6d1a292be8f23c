// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of DRM core: drm.h, without mode setting (schema/drm_mode.c). drm_ioctl() goes by the
 * number of a command, takes any size of struct, and copies the struct out on failure as well.
 *
 * An array that the driver fills only if it fits, or only as far as it has elements, is
 * VGPU_INOUT: the program's bytes stay where the driver writes nothing.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

/* drm_copy_field() copies as much as fits, and returns the whole length. */
#define TEXT(s, text, len) \
	{ VGPU_PTR(s, text), .dir = VGPU_INOUT, .count = VGPU_FIELD(s, len) }

static const struct vgpu_schema_field version[] = {
	TEXT(struct drm_version, name, name_len),
	TEXT(struct drm_version, date, date_len),
	TEXT(struct drm_version, desc, desc_len),
};

#define HANDLES(s)	READS(s, handles, __u32, count_handles)

#define POINTS(s, d) \
	{ VGPU_PTR(s, points), .dir = (d), .unit = sizeof(__u64), \
	  .count = VGPU_FIELD(s, count_handles) }

/*
 * Timeouts of these waits are absolute times, unlike those of most drivers; the deadline is
 * absolute, too.
 */
#define TIMES(s) \
	{ VGPU_TIME(s, timeout_nsec) }, \
	{ VGPU_TIME(s, deadline_nsec), \
	  .when = VGPU_WHEN_FLAG(s, flags, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE) }

static const struct vgpu_schema_field syncobj_wait[] = {
	TIMES(struct vgpu_syncobj_wait),
	HANDLES(struct vgpu_syncobj_wait),
};

static const struct vgpu_schema_field syncobj_timeline_wait[] = {
	TIMES(struct vgpu_syncobj_timeline_wait),
	HANDLES(struct vgpu_syncobj_timeline_wait),
	POINTS(struct vgpu_syncobj_timeline_wait, VGPU_IN),
};

static const struct vgpu_schema_field syncobj_array[] = {
	HANDLES(struct drm_syncobj_array),
};

static const struct vgpu_schema_field syncobj_query[] = {
	HANDLES(struct drm_syncobj_timeline_array),
	POINTS(struct drm_syncobj_timeline_array, VGPU_INOUT),
};

static const struct vgpu_schema_field syncobj_timeline_signal[] = {
	HANDLES(struct drm_syncobj_timeline_array),
	POINTS(struct drm_syncobj_timeline_array, VGPU_IN),
};

static const struct vgpu_schema_field wait_vblank32[] = {
	{ VGPU_STAMP_PARTS(union drm_wait_vblank32, reply.tval_sec, 2 * sizeof(__s32),
			   USEC_PER_SEC) },
};

static const struct vgpu_schema_field version32[] = {
	TEXT(struct drm_version32, name, name_len),
	TEXT(struct drm_version32, date, date_len),
	TEXT(struct drm_version32, desc, desc_len),
};

static const struct vgpu_schema_ioctl drm_ioctls[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_VERSION, version), BOTH },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_GET_UNIQUE, TEXT(struct drm_unique, unique, unique_len)), BOTH },
	{ VGPU_IOCTL(DRM_IOCTL_GET_MAGIC), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_IRQ_BUSID), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_GET_MAP), LONGS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_GET_CLIENT, { VGPU_PID(struct drm_client, pid) }), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_GET_STATS), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_SET_VERSION), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODESET_CTL) },
	{ VGPU_IOCTL(DRM_IOCTL_GEM_CLOSE) },
	{ VGPU_IOCTL(DRM_IOCTL_GEM_FLINK) },
	{ VGPU_IOCTL(DRM_IOCTL_GEM_OPEN) },
	{ VGPU_IOCTL(DRM_IOCTL_GET_CAP), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_SET_CLIENT_CAP), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_SET_UNIQUE), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AUTH_MAGIC), BOOKS },
	/*
	 * The entries of DRI1's ioctls, like that of SET_UNIQUE, list no fields: nearly all drivers
	 * reject these ioctls, and for the others demand paging gets the memory that pointers name.
	 * There are entries because drm_ioctl() may copy the argument out all the same, and fails
	 * with EFAULT if it cannot.
	 */
	{ VGPU_IOCTL(DRM_IOCTL_BLOCK) },
	{ VGPU_IOCTL(DRM_IOCTL_UNBLOCK) },
	{ VGPU_IOCTL(DRM_IOCTL_CONTROL) },
	{ VGPU_IOCTL(DRM_IOCTL_ADD_MAP), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_ADD_BUFS), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_MARK_BUFS), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_INFO_BUFS), LONGS },
	/* MAP_BUFS is missing: it would map memory in the shadow only. */
	{ VGPU_IOCTL(DRM_IOCTL_FREE_BUFS), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_RM_MAP), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_SET_SAREA_CTX), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_GET_SAREA_CTX), LONGS },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_SET_MASTER),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_ADMIN },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_DROP_MASTER),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_ADMIN },
	{ VGPU_IOCTL(DRM_IOCTL_ADD_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_RM_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_MOD_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_GET_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_SWITCH_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_NEW_CTX) },
	{ VGPU_IOCTL(DRM_IOCTL_RES_CTX), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_ADD_DRAW) },
	{ VGPU_IOCTL(DRM_IOCTL_RM_DRAW) },
	{ VGPU_IOCTL(DRM_IOCTL_DMA), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_LOCK) },
	{ VGPU_IOCTL(DRM_IOCTL_UNLOCK) },
	{ VGPU_IOCTL(DRM_IOCTL_FINISH) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PRIME_HANDLE_TO_FD,
			 { VGPU_FD_OUT(struct drm_prime_handle, fd) }) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_PRIME_FD_TO_HANDLE,
			 { VGPU_FD_IN(struct drm_prime_handle, fd) }) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_AGP_ACQUIRE) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_AGP_RELEASE) },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_ENABLE), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_INFO), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_ALLOC), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_FREE), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_BIND), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_AGP_UNBIND), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_SG_ALLOC), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_SG_FREE), LONGS },
	/*
	 * If the program requests an event, request.signal stays in the place of reply.tval_sec. An
	 * unchanged place is not converted.
	 */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_WAIT_VBLANK,
			 { VGPU_STAMP_PARTS(union drm_wait_vblank, reply.tval_sec, 2 * sizeof(long),
					    USEC_PER_SEC) }), LONGS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_CRTC_GET_SEQUENCE,
			 { VGPU_STAMP(struct drm_crtc_get_sequence, sequence_ns) }), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_CRTC_QUEUE_SEQUENCE) },
	{ VGPU_IOCTL(DRM_IOCTL_UPDATE_DRAW), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_SYNCOBJ_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_SYNCOBJ_DESTROY), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD,
			 { VGPU_FD_OUT(struct drm_syncobj_handle, fd) }), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE,
			 { VGPU_FD_IN(struct drm_syncobj_handle, fd) }), BOOKS },
	/* A wait returns when the device is done: mapped memory has changed then. */
	{ VGPU_IOCTL_WITH_OF(DRM_IOCTL_SYNCOBJ_WAIT, struct vgpu_syncobj_wait, syncobj_wait) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_SYNCOBJ_RESET, syncobj_array), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_SYNCOBJ_SIGNAL, syncobj_array) },
	{ VGPU_IOCTL_WITH_OF(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, struct vgpu_syncobj_timeline_wait,
			     syncobj_timeline_wait) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_SYNCOBJ_QUERY, syncobj_query) },
	{ VGPU_IOCTL(DRM_IOCTL_SYNCOBJ_TRANSFER), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, syncobj_timeline_signal) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_SYNCOBJ_EVENTFD,
			 { VGPU_EVENT_IN(struct drm_syncobj_eventfd, fd) }), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_SET_CLIENT_NAME,
			 READS(struct drm_set_client_name, name, __u8, name_len)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_GEM_CHANGE_HANDLE) },
};

static const struct vgpu_schema_ioctl drm_compat[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_VERSION32, version32), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_GET_UNIQUE32,
			 TEXT(struct drm_unique32, unique, unique_len)), BOOKS },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_GET_CLIENT32, { VGPU_PID(struct drm_client32, pid) }) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_WAIT_VBLANK32, wait_vblank32) },
};

/* Events that read() returns. Events of drivers have types of their own. */
static const struct vgpu_schema_field vblank_event[] = {
	{ VGPU_STAMP_PARTS(struct drm_event_vblank, tv_sec, 2 * sizeof(__u32), USEC_PER_SEC) },
};

static const struct vgpu_schema_field sequence_event[] = {
	{ VGPU_STAMP(struct drm_event_crtc_sequence, time_ns) },
};

static const struct vgpu_schema_event drm_events[] = {
	{ DRM_EVENT_VBLANK, VGPU_STRUCT(struct drm_event_vblank, vblank_event) },
	{ DRM_EVENT_FLIP_COMPLETE, VGPU_STRUCT(struct drm_event_vblank, vblank_event) },
	{ DRM_EVENT_CRTC_SEQUENCE, VGPU_STRUCT(struct drm_event_crtc_sequence, sequence_event) },
};

const struct vgpu_schema vgpu_schema_drm = {
	.name = "drm",
	VGPU_IOCTLS(drm_ioctls),
	VGPU_COMPAT(drm_compat),
	.events = drm_events,
	.nr_events = ARRAY_SIZE(drm_events),
	.base = &vgpu_schema_drm_mode,
};
