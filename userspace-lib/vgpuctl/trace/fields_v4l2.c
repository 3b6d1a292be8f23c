// SPDX-License-Identifier: MIT
/* Fields of the ioctls of V4L2. What a union contains is left in hexadecimal. */
#include <linux/videodev2.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct v4l2_##s, m)
#define X(s, m)	TRACE_HEX(struct v4l2_##s, m)
#define S(s, m)	TRACE_STRING(struct v4l2_##s, m)

static const struct trace_field capability[] = {
	S(capability, driver), S(capability, card), S(capability, bus_info),
	D(capability, version), X(capability, capabilities), X(capability, device_caps),
};

static const struct trace_field fmtdesc[] = {
	D(fmtdesc, index), D(fmtdesc, type), X(fmtdesc, flags), S(fmtdesc, description),
	X(fmtdesc, pixelformat), D(fmtdesc, mbus_code),
};

static const struct trace_field format[] = {
	D(format, type),
};

static const struct trace_field requestbuffers[] = {
	D(requestbuffers, count), D(requestbuffers, type), D(requestbuffers, memory),
	X(requestbuffers, capabilities),
};

static const struct trace_field buffer[] = {
	D(buffer, index), D(buffer, type), D(buffer, bytesused), X(buffer, flags),
	D(buffer, field), D(buffer, timestamp.tv_sec), D(buffer, timestamp.tv_usec),
	D(buffer, sequence), D(buffer, memory), X(buffer, m.userptr), D(buffer, length),
};

static const struct trace_field exportbuffer[] = {
	D(exportbuffer, type), D(exportbuffer, index), D(exportbuffer, plane),
	X(exportbuffer, flags), D(exportbuffer, fd),
};

static const struct trace_field create_buffers[] = {
	D(create_buffers, index), D(create_buffers, count), D(create_buffers, memory),
	D(create_buffers, format.type), X(create_buffers, capabilities),
};

static const struct trace_field control[] = {
	D(control, id), D(control, value),
};

static const struct trace_field queryctrl[] = {
	D(queryctrl, id), D(queryctrl, type), S(queryctrl, name), D(queryctrl, minimum),
	D(queryctrl, maximum), D(queryctrl, step), D(queryctrl, default_value),
	X(queryctrl, flags),
};

static const struct trace_field ext_controls[] = {
	D(ext_controls, count), D(ext_controls, error_idx), D(ext_controls, request_fd),
	X(ext_controls, controls),
};

static const struct trace_field input[] = {
	D(input, index), S(input, name), D(input, type), D(input, audioset), D(input, tuner),
	D(input, std), D(input, status), X(input, capabilities),
};

static const struct trace_field frmsizeenum[] = {
	D(frmsizeenum, index), X(frmsizeenum, pixel_format), D(frmsizeenum, type),
};

static const struct trace_field frmivalenum[] = {
	D(frmivalenum, index), X(frmivalenum, pixel_format), D(frmivalenum, width),
	D(frmivalenum, height), D(frmivalenum, type),
};

static const struct trace_field streamparm[] = {
	D(streamparm, type),
};

static const struct trace_field event_subscription[] = {
	D(event_subscription, type), D(event_subscription, id), X(event_subscription, flags),
};

static const struct trace_field event[] = {
	D(event, type), D(event, pending), D(event, sequence), D(event, timestamp.tv_sec),
	D(event, timestamp.tv_nsec), D(event, id),
};

const struct trace_fields trace_fields_v4l2[] = {
	TRACE_FIELDS(VIDIOC_QUERYCAP, capability),
	TRACE_FIELDS(VIDIOC_ENUM_FMT, fmtdesc),
	TRACE_FIELDS(VIDIOC_G_FMT, format),
	TRACE_FIELDS(VIDIOC_S_FMT, format),
	TRACE_FIELDS(VIDIOC_TRY_FMT, format),
	TRACE_FIELDS(VIDIOC_REQBUFS, requestbuffers),
	TRACE_FIELDS(VIDIOC_QUERYBUF, buffer),
	TRACE_FIELDS(VIDIOC_QBUF, buffer),
	TRACE_FIELDS(VIDIOC_DQBUF, buffer),
	TRACE_FIELDS(VIDIOC_PREPARE_BUF, buffer),
	TRACE_FIELDS(VIDIOC_EXPBUF, exportbuffer),
	TRACE_FIELDS(VIDIOC_CREATE_BUFS, create_buffers),
	TRACE_FIELDS(VIDIOC_G_CTRL, control),
	TRACE_FIELDS(VIDIOC_S_CTRL, control),
	TRACE_FIELDS(VIDIOC_QUERYCTRL, queryctrl),
	TRACE_FIELDS(VIDIOC_G_EXT_CTRLS, ext_controls),
	TRACE_FIELDS(VIDIOC_S_EXT_CTRLS, ext_controls),
	TRACE_FIELDS(VIDIOC_TRY_EXT_CTRLS, ext_controls),
	TRACE_FIELDS(VIDIOC_ENUMINPUT, input),
	TRACE_FIELDS(VIDIOC_ENUM_FRAMESIZES, frmsizeenum),
	TRACE_FIELDS(VIDIOC_ENUM_FRAMEINTERVALS, frmivalenum),
	TRACE_FIELDS(VIDIOC_G_PARM, streamparm),
	TRACE_FIELDS(VIDIOC_S_PARM, streamparm),
	TRACE_FIELDS(VIDIOC_SUBSCRIBE_EVENT, event_subscription),
	TRACE_FIELDS(VIDIOC_UNSUBSCRIBE_EVENT, event_subscription),
	TRACE_FIELDS(VIDIOC_DQEVENT, event),
	{ NULL }
};
