// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of V4L2: videodev2.h. The core copies the argument and the array that the argument
 * points to out on success, and for some ioctls on failure as well.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#define BUFFER	struct v4l2_buffer
#define PLANE	struct v4l2_plane
/* Structs of 32-bit programs; those with 32-bit times have a name with TIME32. */
#define BUFFER32	struct v4l2_buffer32
#define BUFFER32_TIME32	struct v4l2_buffer32_time32
#define PLANE32		struct v4l2_plane32

/* --- buffers -------------------------------------------------------------- */

/*
 * Buffers in memory of the process: if the host cannot get its pages, the ioctl fails as with a
 * driver that does not support them, which programs check first. The capability is hidden as
 * well then.
 */
#define NO_USERPTR(s) \
	{ VGPU_USERPTR(s, memory), .error = EINVAL, .unkept = true, .alone = true, \
	  .when = VGPU_WHEN_EQUAL(s, memory, V4L2_MEMORY_USERPTR) }
#define NO_USERPTR_CAP(s) \
	{ VGPU_HIDE(s, capabilities), .mask = V4L2_BUF_CAP_SUPPORTS_USERPTR, .unkept = true, \
	  .alone = true }

static const struct vgpu_schema_field reqbufs[] = {
	NO_USERPTR(struct v4l2_requestbuffers),
	NO_USERPTR_CAP(struct v4l2_requestbuffers),
};

static const struct vgpu_schema_field create_bufs[] = {
	NO_USERPTR(struct v4l2_create_buffers),
	NO_USERPTR_CAP(struct v4l2_create_buffers),
};

static const struct vgpu_schema_field create_bufs32[] = {
	NO_USERPTR(struct v4l2_create_buffers32),
	NO_USERPTR_CAP(struct v4l2_create_buffers32),
};

#define MEMORY_IS(up, b, v) \
	.when = { .ref = VGPU_FIELD_UP(up, b, memory), .mask = ~0ULL, .value = (v) }

/*
 * Fields of a queued buffer or plane, which may be a dma-buf, or memory of the process. @b,
 * which is @up structs above @s, says which. Kept memory belongs to the file: videobuf2 holds
 * the pages while the queue has the buffer, also after any process has dequeued it, and a queue
 * has only one owner file.
 */
#define MEMORY_IN(s, up, b) \
	{ VGPU_FD_IN(s, m.fd), MEMORY_IS(up, b, V4L2_MEMORY_DMABUF) }, \
	{ VGPU_KEPT(s, m.userptr), .dir = VGPU_IN, .alone = true, .count = VGPU_FIELD(s, length), \
	  MEMORY_IS(up, b, V4L2_MEMORY_USERPTR) }

#define PLANE_IN(p, b)	MEMORY_IN(p, 1, b)

static const struct vgpu_schema_field plane_in[] = { PLANE_IN(PLANE, BUFFER) };
static const struct vgpu_schema_field plane32_in[] = { PLANE_IN(PLANE32, BUFFER32) };
static const struct vgpu_schema_field plane32_time32_in[] = {
	PLANE_IN(PLANE32, BUFFER32_TIME32)
};

static const struct vgpu_schema_struct a_plane_in = VGPU_STRUCT(PLANE, plane_in);
static const struct vgpu_schema_struct a_plane32_in = VGPU_STRUCT(PLANE32, plane32_in);
static const struct vgpu_schema_struct a_plane32_time32_in =
	VGPU_STRUCT(PLANE32, plane32_time32_in);

#define PLANES_OF(b, t) \
	VGPU_PTR(b, m.planes), .dir = VGPU_INOUT, .count = VGPU_FIELD(b, length), \
	.when = VGPU_WHEN_EQUAL(b, type, t)

/*
 * Time at which the buffer was filled. With V4L2_BUF_FLAG_TIMESTAMP_COPY it is a number of the
 * program that goes with the contents of the buffer.
 */
#define BUFFER_TIME(b) \
	{ VGPU_STAMP_PARTS(b, timestamp, sizeof_field(b, timestamp), USEC_PER_SEC), \
	  .when = { .ref = VGPU_FIELD(b, flags), .mask = V4L2_BUF_FLAG_TIMESTAMP_MASK, \
		    .value = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC } }

/* Fields of QBUF and PREPARE_BUF. */
#define BUFFER_IN(b, e) \
	NO_USERPTR(b), \
	{ PLANES_OF(b, V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE), .elem = (e) }, \
	{ PLANES_OF(b, V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE), .elem = (e) }, \
	MEMORY_IN(b, 0, b), \
	{ VGPU_FD_IN(b, request_fd), .when = VGPU_WHEN_FLAG(b, flags, V4L2_BUF_FLAG_REQUEST_FD) }, \
	BUFFER_TIME(b)

static const struct vgpu_schema_field buffer_in[] = { BUFFER_IN(BUFFER, &a_plane_in) };
static const struct vgpu_schema_field buffer32_in[] = { BUFFER_IN(BUFFER32, &a_plane32_in) };
static const struct vgpu_schema_field buffer32_time32_in[] = {
	BUFFER_IN(BUFFER32_TIME32, &a_plane32_time32_in)
};

/* Fields of QUERYBUF and DQBUF; video_queue.c replaces the host's fds of queued buffers. */
#define BUFFER_OUT(b, p) \
	{ PLANES_OF(b, V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE), .unit = sizeof(p) }, \
	{ PLANES_OF(b, V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE), .unit = sizeof(p) }, \
	BUFFER_TIME(b)

static const struct vgpu_schema_field buffer_out[] = { BUFFER_OUT(BUFFER, PLANE) };
static const struct vgpu_schema_field buffer32_out[] = { BUFFER_OUT(BUFFER32, PLANE32) };
static const struct vgpu_schema_field buffer32_time32_out[] = {
	BUFFER_OUT(BUFFER32_TIME32, PLANE32)
};

#define EVENT_TIME(e) \
	{ VGPU_STAMP_PARTS(e, timestamp, sizeof_field(e, timestamp), NSEC_PER_SEC) }

static const struct vgpu_schema_field event[] = {
	EVENT_TIME(struct v4l2_event)
};

static const struct vgpu_schema_field event32[] = {
	EVENT_TIME(struct v4l2_event32)
};

static const struct vgpu_schema_field event32_time32[] = {
	EVENT_TIME(struct v4l2_event32_time32)
};

/* --- formats -------------------------------------------------------------- */

/*
 * Newer drivers have no overlays. The size of the bitmap depends on how the driver adjusts the
 * window, so the bitmap is left to demand paging.
 */
static const struct vgpu_schema_struct a_window =
	VGPU_STRUCT_ONE(struct v4l2_window,
			FILLS(struct v4l2_window, clips, struct v4l2_clip, clipcount));

#define WINDOW(t) \
	{ VGPU_INSIDE(struct v4l2_format, fmt.win), .elem = &a_window, \
	  .when = VGPU_WHEN_EQUAL(struct v4l2_format, type, t) }

static const struct vgpu_schema_field format[] = {
	WINDOW(V4L2_BUF_TYPE_VIDEO_OVERLAY),
	WINDOW(V4L2_BUF_TYPE_VIDEO_OUTPUT_OVERLAY),
};

/* --- controls ------------------------------------------------------------- */

/* Strings, arrays and structs have a size; the size of plain numbers is 0. */
static const struct vgpu_schema_struct an_ext_control =
	VGPU_STRUCT_ONE(struct v4l2_ext_control, FILLS(struct v4l2_ext_control, ptr, __u8, size));

static const struct vgpu_schema_field ext_controls[] = {
	{ VGPU_PTR(struct v4l2_ext_controls, controls), .dir = VGPU_INOUT,
	  .elem = &an_ext_control, .count = VGPU_FIELD(struct v4l2_ext_controls, count) },
	{ VGPU_FD_IN(struct v4l2_ext_controls, request_fd),
	  .when = VGPU_WHEN_EQUAL(struct v4l2_ext_controls, which,
				  V4L2_CTRL_WHICH_REQUEST_VAL) },
};

static const struct vgpu_schema_struct an_ext_control32 =
	VGPU_STRUCT_ONE(struct v4l2_ext_control32,
			FILLS(struct v4l2_ext_control32, ptr, __u8, size));

static const struct vgpu_schema_field ext_controls32[] = {
	{ VGPU_PTR(struct v4l2_ext_controls32, controls), .dir = VGPU_INOUT,
	  .elem = &an_ext_control32, .count = VGPU_FIELD(struct v4l2_ext_controls32, count) },
	{ VGPU_FD_IN(struct v4l2_ext_controls32, request_fd),
	  .when = VGPU_WHEN_EQUAL(struct v4l2_ext_controls32, which,
				  V4L2_CTRL_WHICH_REQUEST_VAL) },
};

/* --- table ---------------------------------------------------------------- */

/* INOUT, because the fields of an OUT struct are not processed. */
#define TIMES	.dir = VGPU_INOUT

static const struct vgpu_schema_ioctl v4l2_ioctls[] = {
	{ VGPU_IOCTL(VIDIOC_QUERYCAP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENUM_FMT), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_G_FMT, format), BOTH },
	{ VGPU_IOCTL_WITH(VIDIOC_S_FMT, format), LONGS },
	/* BOOKS is missing: new buffers may get the mmap offsets of freed, still cached ones. */
	{ VGPU_IOCTL_WITH(VIDIOC_REQBUFS, reqbufs) },
	{ VGPU_IOCTL_WITH(VIDIOC_QUERYBUF, buffer_out), BOTH },
	{ VGPU_IOCTL(VIDIOC_G_FBUF), BOTH },
	{ VGPU_IOCTL(VIDIOC_S_FBUF), LONGS },
	{ VGPU_IOCTL(VIDIOC_OVERLAY) },
	{ VGPU_IOCTL_WITH(VIDIOC_QBUF, buffer_in), LONGS },
	{ VGPU_IOCTL_ONE(VIDIOC_EXPBUF, { VGPU_FD_OUT(struct v4l2_exportbuffer, fd) }), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_DQBUF, buffer_out), LONGS },
	{ VGPU_IOCTL(VIDIOC_STREAMON) },
	{ VGPU_IOCTL(VIDIOC_STREAMOFF) },
	{ VGPU_IOCTL(VIDIOC_G_PARM), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_PARM), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_STD), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_STD) },
	{ VGPU_IOCTL(VIDIOC_ENUMSTD), BOTH },
	{ VGPU_IOCTL(VIDIOC_ENUMINPUT), BOTH },
	{ VGPU_IOCTL(VIDIOC_G_CTRL), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_CTRL), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_TUNER), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_TUNER), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_AUDIO), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_AUDIO), BOOKS },
	{ VGPU_IOCTL(VIDIOC_QUERYCTRL), BOOKS },
	{ VGPU_IOCTL(VIDIOC_QUERYMENU), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_INPUT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_INPUT) },
	{ VGPU_IOCTL_ONE(VIDIOC_G_EDID,
			 { VGPU_PTR(struct v4l2_edid, edid), .dir = VGPU_INOUT, .unit = 128,
			   .count = VGPU_FIELD(struct v4l2_edid, blocks) }), BOTH },
	/* The array is copied out, too, but unchanged. */
	{ VGPU_IOCTL_ONE(VIDIOC_S_EDID,
			 { VGPU_PTR(struct v4l2_edid, edid), .dir = VGPU_INOUT, .unit = 128,
			   .count = VGPU_FIELD(struct v4l2_edid, blocks) }), LONGS },
	{ VGPU_IOCTL(VIDIOC_G_OUTPUT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_OUTPUT) },
	{ VGPU_IOCTL(VIDIOC_ENUMOUTPUT), BOTH },
	{ VGPU_IOCTL(VIDIOC_G_AUDOUT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_AUDOUT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_MODULATOR), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_MODULATOR), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_FREQUENCY), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_FREQUENCY), BOOKS },
	{ VGPU_IOCTL(VIDIOC_CROPCAP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_CROP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_CROP) },
	{ VGPU_IOCTL(VIDIOC_G_JPEGCOMP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_JPEGCOMP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_QUERYSTD), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_TRY_FMT, format), BOTH },
	{ VGPU_IOCTL(VIDIOC_ENUMAUDIO), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENUMAUDOUT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_PRIORITY), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_PRIORITY), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_SLICED_VBI_CAP), BOOKS },
	{ VGPU_IOCTL_NO_ARG(VIDIOC_LOG_STATUS), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_G_EXT_CTRLS, ext_controls), BOTH },
	{ VGPU_IOCTL_WITH(VIDIOC_S_EXT_CTRLS, ext_controls), BOTH },
	{ VGPU_IOCTL_WITH(VIDIOC_TRY_EXT_CTRLS, ext_controls), BOTH },
	{ VGPU_IOCTL(VIDIOC_ENUM_FRAMESIZES), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENUM_FRAMEINTERVALS), BOOKS },
	{ VGPU_IOCTL(VIDIOC_G_ENC_INDEX), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENCODER_CMD) },
	{ VGPU_IOCTL(VIDIOC_TRY_ENCODER_CMD), BOOKS },
	{ VGPU_IOCTL(VIDIOC_DBG_S_REGISTER) },
	{ VGPU_IOCTL(VIDIOC_DBG_G_REGISTER), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_HW_FREQ_SEEK) },
	{ VGPU_IOCTL(VIDIOC_S_DV_TIMINGS) },
	{ VGPU_IOCTL(VIDIOC_G_DV_TIMINGS), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_DQEVENT, event), TIMES, LONGS },
	{ VGPU_IOCTL(VIDIOC_SUBSCRIBE_EVENT), BOOKS },
	{ VGPU_IOCTL(VIDIOC_UNSUBSCRIBE_EVENT), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_CREATE_BUFS, create_bufs), LONGS },
	{ VGPU_IOCTL_WITH(VIDIOC_PREPARE_BUF, buffer_in), LONGS },
	{ VGPU_IOCTL(VIDIOC_G_SELECTION), BOOKS },
	{ VGPU_IOCTL(VIDIOC_S_SELECTION) },
	{ VGPU_IOCTL(VIDIOC_DECODER_CMD) },
	{ VGPU_IOCTL(VIDIOC_TRY_DECODER_CMD), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENUM_DV_TIMINGS), BOOKS },
	{ VGPU_IOCTL(VIDIOC_QUERY_DV_TIMINGS), BOOKS },
	{ VGPU_IOCTL(VIDIOC_DV_TIMINGS_CAP), BOOKS },
	{ VGPU_IOCTL(VIDIOC_ENUM_FREQ_BANDS), BOOKS },
	{ VGPU_IOCTL(VIDIOC_DBG_G_CHIP_INFO), BOOKS },
	{ VGPU_IOCTL(VIDIOC_QUERY_EXT_CTRL), BOOKS },
	{ VGPU_IOCTL(VIDIOC_REMOVE_BUFS) },
};

/* Each number has two commands: for 32-bit and for 64-bit times. */
#define EXACT		.flags = VGPU_IOCTL_EXACT
#define EXACT_BOOKS	.flags = VGPU_IOCTL_EXACT | VGPU_IOCTL_NO_MAPPED

static const struct vgpu_schema_ioctl v4l2_compat[] = {
	{ VGPU_IOCTL_WITH(VIDIOC_QUERYBUF32_TIME32, buffer32_time32_out), EXACT_BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_QUERYBUF32, buffer32_out), EXACT_BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_QBUF32_TIME32, buffer32_time32_in), EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_QBUF32, buffer32_in), EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_DQBUF32_TIME32, buffer32_time32_out), EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_DQBUF32, buffer32_out), EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_G_EXT_CTRLS32, ext_controls32), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_S_EXT_CTRLS32, ext_controls32), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_TRY_EXT_CTRLS32, ext_controls32), BOOKS },
	{ VGPU_IOCTL_WITH(VIDIOC_DQEVENT32_TIME32, event32_time32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_DQEVENT32, event32), TIMES, EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_CREATE_BUFS32, create_bufs32) },
	{ VGPU_IOCTL_WITH(VIDIOC_PREPARE_BUF32_TIME32, buffer32_time32_in), EXACT },
	{ VGPU_IOCTL_WITH(VIDIOC_PREPARE_BUF32, buffer32_in), EXACT },
};

const struct vgpu_schema vgpu_schema_v4l2 = {
	.name = "v4l2",
	VGPU_IOCTLS(v4l2_ioctls),
	VGPU_COMPAT(v4l2_compat),
	/* A buffer belongs to the driver from QBUF to DQBUF. */
	.apart = true,
};
