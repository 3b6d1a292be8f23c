/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Draft of a reply: the results of a call that runs, until the host sends them to the guest.
 */
#ifndef VGPU_DRAFT_H
#define VGPU_DRAFT_H

#include "wire.h"

/**
 * struct vgpu_draft - content of the reply to a call
 * @clock_in: time of CLOCK_MONOTONIC in nanoseconds at which the header of the CALL was received
 * @result: result of the driver, or a negative errno
 * @flags: VGPU_REPLY_*
 * @pos: file position, updated by the operation
 * @out: results of the operation
 * @nr_objects: number of objects that the guest gets
 * @objects: descriptions of these objects
 * @data: bytes of the reply; counted in the session's budget unless in the lane's buffer
 * @data_len: number of bytes of the reply
 * @data_size: size of @data in bytes
 */
struct vgpu_draft {
	u64 clock_in;
	s64 result;
	u32 flags;
	u64 pos;
	union {
		struct vgpu_out_ioctl ioctl;
		struct vgpu_out_mmap mmap;
		struct vgpu_out_poll poll;
		struct vgpu_out_bind bind;
		__le64 raw[4];
	} out;
	u32 nr_objects;
	struct vgpu_object_desc objects[VGPU_FDS_MAX];
	u8 *data;
	u32 data_len;
	u32 data_size;
};

/* Begin the draft of a call; @clock_in, @objects and @data_size keep their values. */
static inline void vgpu_draft_reset(struct vgpu_draft *draft)
{
	draft->result = 0;
	draft->flags = 0;
	draft->pos = 0;
	memset(&draft->out, 0, sizeof(draft->out));
	draft->nr_objects = 0;
	draft->data = NULL;
	draft->data_len = 0;
}

/**
 * vgpu_draft_fill - fill in the fixed part of a reply, except for the time when it is sent
 * @draft: results of the call
 * @seq: number of the call
 * @reply: out: fixed part; the objects and the bytes of @draft follow it
 *
 * Return: length of the reply in bytes.
 */
static inline u32 vgpu_draft_fill(const struct vgpu_draft *draft, u64 seq,
				  struct vgpu_reply *reply)
{
	u32 len = sizeof(*reply) + draft->nr_objects * sizeof(draft->objects[0]) + draft->data_len;

	*reply = (struct vgpu_reply) {
		.hdr = VGPU_HDR(len, VGPU_MSG_REPLY, seq),
		.result = cpu_to_le64(draft->result),
		.pos = cpu_to_le64(draft->pos),
		.flags = cpu_to_le32(draft->flags),
		.nr_objects = cpu_to_le16(draft->nr_objects),
		.clock_in = cpu_to_le64(draft->clock_in),
	};
	memcpy(&reply->out, &draft->out, sizeof(reply->out));
	return len;
}

#endif /* VGPU_DRAFT_H */
