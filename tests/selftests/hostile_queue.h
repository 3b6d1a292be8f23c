/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two guests share a device whose driver queues the work and returns. The work has a fence, which
 * signals when the device has done it. Each program of the greedy guest has a second call in the
 * queue when the first one ends.
 */
#ifndef HOSTILE_QUEUE_H
#define HOSTILE_QUEUE_H

#define SHARE_BY_FENCES	true
#include "hostile_share.h"

struct answer {
	struct vgpu_reply reply;
	union {
		struct vgpu_object_desc object;
		char data[256];
	};
	char more[256];
};

/* Gives the device work until the test is over. */
static inline bool program_queue(int fd, struct common *common, int number)
{
	struct pollfd last = { .fd = -1, .events = POLLIN };
	struct vgpu_mock_queue_wait wait = { };
	struct vgpu_mock_queue queue;
	uint64_t done = 0;

	while (!stopped(common)) {
		queue = (struct vgpu_mock_queue){ .us = WORK_US, .flags = VGPU_MOCK_QUEUE_FENCE };
		if (ioctl(fd, VGPU_MOCK_IOC_QUEUE, &queue))
			return stopped(common);
		if (last.fd >= 0) {
			if (poll(&last, 1, 3 * SLACK_MS) != 1)
				return false;
			close(last.fd);
			done += WORK_US;
			__atomic_store_n(&common->done[number], done, __ATOMIC_RELAXED);
		}
		last.fd = queue.out_fence;
	}
	if (ioctl(fd, VGPU_MOCK_IOC_QUEUE_WAIT, &wait))
		return false;
	common->longest[number] = wait.out_longest_us;
	return true;
}

/* Queues work for which the reply gives the guest a fence, which the guest closes at once. */
static inline bool queue_send(FIXTURE_DATA(share) *self, int lane, uint32_t us,
			      uint32_t flags)
{
	struct vgpu_mock_queue queue = { .us = us, .flags = VGPU_MOCK_QUEUE_FENCE | flags };
	struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_queue, out_fence)),
	};

	return fixup_send(lane, self->object, ++self->seq, VGPU_MOCK_IOC_QUEUE, &fixup, &queue,
			  sizeof(queue));
}

/* Receives the reply to queue_send(), and takes the fence. */
static inline bool queue_reply(FIXTURE_DATA(share) *self, int lane)
{
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)),
		.type = htole16(VGPU_MSG_ACK),
		.seq = htole64(self->seq),
	};
	struct peer_call call;
	struct answer answer;

	if (!await_reply(self, lane) || peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ||
	    le16toh(answer.reply.nr_objects) != 1 || !peer_send(lane, &ack, sizeof(ack)))
		return false;
	peer_call_init(&call, VGPU_OP_CLOSE, le32toh(answer.object.object), ++self->seq);
	call.msg.args.close.reference = answer.object.reference;
	return peer_call_send(lane, &call, 0, 0) && !reply(self, lane);
}

/* Waits until the device has done all work of the guest's file. */
static inline bool queue_wait(FIXTURE_DATA(share) *self)
{
	struct vgpu_mock_queue_wait wait = { };

	return send_call(self, self->lane, VGPU_MOCK_IOC_QUEUE_WAIT, &wait, sizeof(wait)) &&
	       !reply(self, self->lane);
}

static inline bool queue_us(FIXTURE_DATA(share) *self, uint32_t us)
{
	if (!queue_send(self, self->lane, us, 0) || !queue_reply(self, self->lane) ||
	    !queue_wait(self))
		return false;
	self->done += us;
	/* The host drops a guest that is silent. */
	return peer_ping(&self->peer);
}

/* The guest of one program gives the device work once, and waits for its end. */
static inline bool queue(FIXTURE_DATA(share) *self)
{
	return queue_us(self, WORK_US);
}

#endif /* HOSTILE_QUEUE_H */
