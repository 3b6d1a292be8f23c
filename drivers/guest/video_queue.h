/* SPDX-License-Identifier: GPL-2.0-only */
/* fds of what is in a V4L2 queue. */
#ifndef VGPU_VIDEO_QUEUE_H
#define VGPU_VIDEO_QUEUE_H

#include <linux/types.h>
#include <linux/videodev2.h>

struct video_layout;
struct vgpu_object;

/**
 * struct vgpu_video_buffer - what a struct v4l2_buffer says that matters here
 * @index: of the buffer in its queue
 * @type: of the queue
 * @flags: V4L2_BUF_FLAG_*
 * @request_fd: if @flags says so
 * @memory: V4L2_MEMORY_*
 * @nr_fds: number of @fds; 0, unless each plane is a dma-buf
 * @fds: of the planes
 * @places: where they are in the program's memory
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
 * struct vgpu_video_queued - numbers that a program queued a buffer with
 * @prepared: until it is dequeued, the driver looks at no others
 * @request: number of the request's object, or 0
 * @request_fd: or -1
 * @fds: of its planes, or -1
 */
struct vgpu_video_queued {
	bool prepared;
	u32 request;
	s32 request_fd;
	s32 fds[VIDEO_MAX_PLANES];
};

/**
 * struct vgpu_video_call - an ioctl that may be about a buffer
 * @layout: of its argument, or NULL: it is not
 * @gave: it queues or prepares one with fds, which are remembered, and:
 * @given: what the program said
 * @had: something was remembered:
 * @before: it; again, if it fails
 */
struct vgpu_video_call {
	const struct video_layout *layout;
	bool gave;
	bool had;
	struct vgpu_video_buffer given;
	struct vgpu_video_queued before;
};

void vgpu_video_queue_begin(struct vgpu_video_call *call, struct vgpu_object *object,
			    unsigned int cmd, unsigned long arg, bool compat);
void vgpu_video_queue_done(struct vgpu_video_call *call, struct vgpu_object *object,
			   unsigned int cmd, unsigned long arg, bool ok);
void vgpu_video_queue_free(struct vgpu_object *object);

#endif /* VGPU_VIDEO_QUEUE_H */
