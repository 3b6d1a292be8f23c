// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls: what a call has while it runs, and its reply.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/trace.h"
#include "object/object.h"
#include "peer/tally.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"

u16 vgpuh_call_nr(const struct vgpuh_call *call)
{
	return le16_to_cpu(((const struct vgpu_call *)call->msg)->op);
}

s64 vgpuh_call_refuse(struct vgpuh_call *call, int error)
{
	struct vgpu_peer *peer = call->lane->session->peer;

	call->reply.flags |= VGPU_REPLY_REFUSED;
	atomic64_inc(&peer->counters.refused);
	trace_vgpu_host_refused(peer->id, vgpuh_call_nr(call), error);
	return error;
}

void vgpuh_call_take_back(struct vgpuh_call *call)
{
	const struct vgpu_object_desc *desc;
	struct vgpuh_object *object;

	while (call->reply.nr_objects) {
		desc = &call->reply.objects[--call->reply.nr_objects];
		object = vgpuh_object_release(call->lane->session->peer,
					      le32_to_cpu(desc->object),
					      le32_to_cpu(desc->reference));
		if (!IS_ERR_OR_NULL(object))
			vgpuh_object_put(object);
	}
}

/* --- memory --------------------------------------------------------------- */

int vgpuh_call_alloc_data(struct vgpuh_call *call, u32 len)
{
	struct vgpuh_lane *lane = call->lane;
	u32 size = vgpu_wire_pad(len);

	call->reply.data = lane->reply_buf;
	call->reply.data_size = size;
	if (size > VGPU_LANE_BUF)
		call->reply.data = vgpuh_session_get_buf(lane->session, size);
	if (!call->reply.data)
		return -ENOMEM;
	memset(call->reply.data + len, 0, size - len);
	return 0;
}

int vgpuh_call_alloc_scratch(struct vgpuh_call *call, size_t len)
{
	struct vgpuh_lane *lane = call->lane;
	unsigned long addr = lane->scratch.addr;
	size_t *used = &lane->scratch.used;
	size_t room = lane->scratch.len;
	int ret;

	ret = vgpu_room_take(call);
	if (ret)
		return ret;
	if (call->room) {
		addr = call->room->addr;
		used = &call->room->used;
		room = VGPU_ROOM_LEN;
	}
	/*
	 * Calls that must be alone get new memory: a device may have pinned memory of an
	 * earlier call.
	 */
	if (len <= room && !vgpu_room_must_be_alone(call)) {
		/* Bytes of an earlier call must not be visible behind the end, either. */
		if (clear_user((void __user *)addr, max(len, *used)))
			return -EFAULT;
		*used = len;
		call->scratch.addr = addr;
		call->scratch.len = len;
		return 0;
	}
	len = PAGE_ALIGN(len);
	if (!vgpuh_session_charge(lane->session, len))
		return -ENOMEM;
	addr = vgpu_room_map_reserved(call, len);
	if (IS_ERR_VALUE(addr)) {
		vgpuh_session_uncharge(lane->session, len);
		return addr == -EINTR ? -EINTR : -ENOMEM;
	}
	call->scratch.addr = addr;
	call->scratch.len = len;
	call->scratch.mapped = true;
	return 0;
}

/*
 * Free the fd number of a closed file. The file is released by now, as the thread has been in
 * user mode since the close.
 */
static void call_free_fd(struct vgpuh_call *call)
{
	vgpuh_object_free_fd(call->lane->session->peer, call->closed_fd);
	call->closed_fd = 0;
}

/* Count the call, whose reply has @len bytes and is sent at @now, in nanoseconds. */
static void call_count(const struct vgpuh_call *call, u32 len, u64 now)
{
	const struct vgpu_tally_call one = {
		.bytes_in = call->msg_len,
		.bytes_out = len,
		.ns = now - call->reply.clock_in,
		.failed = call->reply.result < 0,
	};

	vgpu_sums_count(call->lane->session->sums, &one);
	if (call->tally)
		vgpu_tally_count(call->tally, &one);
}

int vgpuh_call_send_reply(struct vgpuh_call *call)
{
	struct vgpu_draft *draft = &call->reply;
	struct vgpu_reply reply;
	u32 len = vgpu_draft_fill(draft, call->lane->proto.seq, &reply);
	struct kvec vec[] = {
		{ .iov_base = &reply, .iov_len = sizeof(reply) },
		{ .iov_base = draft->objects,
		  .iov_len = draft->nr_objects * sizeof(draft->objects[0]) },
		{ .iov_base = draft->data, .iov_len = draft->data_len },
	};
	u64 now;

	call_free_fd(call);
	now = ktime_get_ns();
	reply.clock_out = cpu_to_le64(now);
	/* A guest that has its reply can ask for the counts. */
	call_count(call, len, now);
	/* No deadline is needed: a guest that does not read blocks only its own lane. */
	return vgpu_conn_send(&call->lane->conn, vec, ARRAY_SIZE(vec), len, 0);
}

void vgpuh_call_finish(struct vgpuh_call *call)
{
	struct vgpuh_lane *lane = call->lane;

	if (call->segs != call->segs_small)
		kvfree(call->segs);
	call->segs = NULL;
	if (call->reply.data && call->reply.data != lane->reply_buf)
		vgpuh_session_put_buf(lane->session, call->reply.data, call->reply.data_size);
	call->reply.data = NULL;
	if (call->msg && call->msg != lane->buf)
		vgpuh_session_put_buf(lane->session, call->msg, call->msg_len);
	call->msg = NULL;
	call_free_fd(call);
	call->done = false;
}
