/* SPDX-License-Identifier: GPL-2.0-only */
/* Video queues: fds of the buffers in V4L2 queues. */
#ifndef VGPU_VIDEO_QUEUE_H
#define VGPU_VIDEO_QUEUE_H

#include <linux/types.h>
#include <linux/videodev2.h>

struct video_layout;
struct vgpu_class_ops;

/**
 * struct vgpu_video_buffer - parts of a struct v4l2_buffer
 * @index: index of the buffer in its queue
 * @type: type of the queue
 * @flags: V4L2_BUF_FLAG_*
 * @request_fd: fd of the request, if @flags says that there is one
 * @memory: V4L2_MEMORY_*
 * @nr_fds: number of @fds; 0 if the planes are no dma-bufs
 * @fds: fds of the planes
 * @places: addresses of @fds in the program's memory
 */
struct vgpu_video_buffer {
	u32 index;
	u32 type;
	u32 flags;
	s32 request_fd;
	u32 memory;
	u32 nr_fds;
	s32 fds[VIDEO_MAX_PLANES];
	unsigned long places[VIDEO_MAX_PLANES];
};

/**
 * struct vgpu_video_queued - fds with which a program has queued a buffer
 * @prepared: true if the driver ignores other fds until the buffer is dequeued
 * @request: number of the request's object, or 0
 * @request_fd: fd of the request, or -1
 * @fds: fds of the planes, or -1
 */
struct vgpu_video_queued {
	bool prepared;
	u32 request;
	s32 request_fd;
	s32 fds[VIDEO_MAX_PLANES];
};

/**
 * struct vgpu_video_call - state of an ioctl that may be about a buffer
 * @layout: layout of the argument; NULL: the ioctl is not about a buffer
 * @gave: true if the ioctl queues or prepares a buffer with fds, which were stored
 * @had: true if other fds were stored before
 * @given: buffer as the program passed it
 * @before: fds that were stored before; restored if the ioctl fails
 */
struct vgpu_video_call {
	const struct video_layout *layout;
	bool gave;
	bool had;
	struct vgpu_video_buffer given;
	struct vgpu_video_queued before;
};

extern const struct vgpu_class_ops vgpu_video_class_ops;

#endif /* VGPU_VIDEO_QUEUE_H */
