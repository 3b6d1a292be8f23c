// SPDX-License-Identifier: MIT
/* Threads of lanes: each receives the calls of its lane, runs them and replies. */
#include <linux/errno.h>
#include <linux/uio.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/run.h"
#include "engine/shadow/call/serve.h"
#include "engine/shadow/call/turn.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/lane/watch.h"
#include "engine/shadow/memory/writeback.h"
#include "engine/shadow/thread/thread.h"
#include "shadow/keys.h"
#include "shadow/layout.h"
#include "shadow/message.h"

#define POLLIN		0x0001

static void lane_malformed(struct lane *lane)
{
	count(&counters->malformed, 1);
	lane_shutdown(lane);
}

static u64 msg_deadline(void)
{
	return now_ns() + MSG_TIMEOUT_MS * NSEC_PER_MS;
}

/*
 * Reads and discards a message that does not fit into the session's memory. All of its parts
 * together have the time of one: a guest could keep the thread for hours otherwise.
 */
static int lane_skip(struct lane *lane, u32 len)
{
	u64 deadline = msg_deadline();
	int ret = 0;

	while (!ret && len) {
		u32 part = min(len, (u32)THREAD_BUF);

		/* Bytes that are there already are received after the deadline, too. */
		ret = now_ns() < deadline ? lane_recv(lane, lane->reply_buf, part, deadline) :
			-ETIMEDOUT;
		len -= part;
	}
	return ret;
}

/*
 * Receives the rest of a CALL whose header is @hdr. The lane rests between the fixed part and the
 * bytes behind it, so the guest cannot make the host receive these sooner by a CANCEL. Return: 0;
 * -ENOMEM: the call is too big, and only its fixed part is kept; or -ENODEV.
 */
static int lane_recv_call(struct lane *lane, const struct vgpu_hdr *hdr)
{
	const u32 fixed = sizeof(struct vgpu_call);
	struct call *call = lane->call;
	u32 len = le32_to_cpu(hdr->len), first = len;
	int ret;

	call->msg = lane->buf;
	memcpy(call->msg, hdr, sizeof(*hdr));
	ret = lane_recv(lane, call->msg + sizeof(*hdr), fixed - sizeof(*hdr), msg_deadline());
	if (ret)
		return ret;
	turn_rest(call);
	if (len > THREAD_BUF) {
		call->msg = budget_get(len);
		if (!call->msg) {
			/* The call will be refused: its fixed part is enough for that. */
			call->msg = lane->buf;
			first = fixed;
		}
	}
	call->msg_len = first;
	if (call->msg != lane->buf)
		memcpy(call->msg, lane->buf, fixed);
	if (first > fixed)
		ret = lane_recv(lane, call->msg + fixed, first - fixed, msg_deadline());
	if (!ret && first < len)
		ret = lane_skip(lane, len - first) ?: -ENOMEM;
	return ret;
}

/*
 * Gives up a message that has begun and is not complete: the connection has ended, as that of a
 * caller that was killed does, or the rest did not come in time, which breaks the protocol.
 * Return: -ESHUTDOWN.
 */
static int lane_torn(struct lane *lane, int error)
{
	if (error == -ETIMEDOUT)
		lane_malformed(lane);
	return -ESHUTDOWN;
}

/* Waits for a CALL. Return: 0; -ENOMEM: the call is too big (lane_recv_call()); or -ESHUTDOWN. */
static int lane_next(struct lane *lane)
{
	struct vgpu_hdr hdr;
	int ret;

	for (;;) {
		ret = lane_wait(lane, POLLIN, 0);
		/* After the last reply nothing counts but the end; a late answer is dropped. */
		if (!ret && lane->last) {
			ret = lane_drop_late(lane);
			if (ret == -EPROTO)
				break;
			if (ret)
				return -ESHUTDOWN;
			continue;
		}
		if (!ret)
			ret = lane_recv(lane, &hdr, sizeof(hdr), msg_deadline());
		if (ret)
			return lane_torn(lane, ret);
		if (vgpu_wire_hdr_check(&hdr, &wire_limits) || hdr.flags)
			break;

		switch (le16_to_cpu(hdr.type)) {
		case VGPU_MSG_ACK:
			if (!lane->unacked || le64_to_cpu(hdr.seq) != lane->seq)
				goto malformed;
			lane->unacked = false;
			channel_tell_acked(lane);
			continue;
		case VGPU_MSG_CANCEL:
			/* The CANCEL is late, or it is the one that has interrupted the call. */
			if (lane->cancelled || le64_to_cpu(hdr.seq) != lane->seq)
				goto malformed;
			lane->cancelled = true;
			continue;
		case VGPU_MSG_CALL:
			lane->call->tsc_in = tsc_with_clock(&lane->call->reply.clock_in);
			if (lane->unacked || le64_to_cpu(hdr.seq) != lane->seq + 1)
				goto malformed;
			lane->seq++;
			lane->cancelled = false;
			ret = lane_recv_call(lane, &hdr);
			return ret && ret != -ENOMEM ? lane_torn(lane, ret) : ret;
		default:
			goto malformed;
		}
	}
malformed:
	lane_malformed(lane);
	return -ESHUTDOWN;
}

static int lane_serve(struct lane *lane)
{
	struct call *call = lane->call;
	int ret;

	ret = lane_next(lane);
	if (ret == -ENOMEM) {
		call_reject(call, ret);
	} else if (ret) {
		return ret;
	} else if (call_run(call)) {
		call_finish(call);
		lane_malformed(lane);
		return -ESHUTDOWN;
	}
	/* Set this before sending: the guest owns the objects in the reply from then on. */
	lane->unacked = call->reply.nr_objects;
	ret = call_send_reply(call);
	call_finish(call);
	turn_end(lane);
	return ret;
}

static int lane_send_ready(struct lane *lane)
{
	struct vgpu_hdr ready = VGPU_HDR(sizeof(ready), VGPU_MSG_LANE_READY, 0);
	struct iovec iov = { &ready, sizeof(ready) };

	return lane_send(lane, &iov, 1, msg_deadline());
}

/* Number of lanes, and true if no more will come. */
static u32 nr_lanes;
static bool ending;

void lanes_end(void)
{
	__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&nr_lanes, __ATOMIC_SEQ_CST))
		sys_exit_group(SHADOW_EXIT_OK);
}

static void lane_over(void)
{
	u32 left;

	channel_tell_usage(0, 0, -1);
	left = __atomic_sub_fetch(&nr_lanes, 1, __ATOMIC_SEQ_CST);
	use->lanes = left;
	if (!left &&
	    __atomic_load_n(&ending, __ATOMIC_SEQ_CST))
		sys_exit_group(SHADOW_EXIT_OK);
}

static void lane_main(void *arg)
{
	struct lane *lane = arg;
	int ret;

	ret = lane_send_ready(lane);
	while (!ret)
		ret = lane_serve(lane);
	/* Take back objects whose receipt the guest has not acknowledged. */
	if (lane->unacked)
		call_take_back(lane->call);
	/* Free memory of a message or call that the end has interrupted. */
	call_finish(lane->call);
	sys2(__NR_close, lane->sock, 0);
	lane_over();
}

static struct lane *lane_free(void)
{
	u32 i, nr = 0;
	struct lane *lane = NULL;

	for (i = 0; i < SHADOW_LANES; i++) {
		if (__atomic_load_n(&lane_by_index(i)->thread.tid, __ATOMIC_ACQUIRE))
			nr++;
		else if (!lane)
			lane = lane_by_index(i);
	}
	if (nr < limit_now(lanes))
		return lane;
	count(&counters->refused, 1);
	return NULL;
}

/* Gives a lane memory, which is kept for later lanes. */
static int lane_get_memory(struct lane *lane)
{
	if (thread_prepare(&lane->thread, lane - lane_by_index(0)))
		return -ENOMEM;
	if (!lane->call)
		lane->call = memory_get(sizeof(*lane->call));
	return lane->call ? writeback_prepare(lane) : -ENOMEM;
}

void lanes_init(void)
{
	u32 i;

	/* Ignore failures: the memory may be there when a lane needs it. */
	for (i = 0; i < SHADOW_LANES_READY && i < shared->limits.lanes; i++)
		if (lane_get_memory(lane_by_index(i)))
			break;
}

static int lane_prepare(struct lane *lane)
{
	if (lane_get_memory(lane))
		return -ENOMEM;
	lane->index = lane - lane_by_index(0);
	lane->seq = 0;
	lane->unacked = false;
	lane->cancelled = false;
	lane->last = false;
	lane->late = 0;
	lane->down = false;
	lane->bytes = 0;
	lane->fetch.gating = false;
	lane->buf = thread_buf(&lane->thread, 0);
	lane->reply_buf = thread_buf(&lane->thread, 1);
	lane->call->own = (struct room) {
		.memory = thread_room(&lane->thread), .key = KEY_SHARED, .used = THREAD_SCRATCH,
	};
	lane->call->left = false;
	lane->call->rest.nr_bytes = 0;
	lane->call->signals = NULL;
	lane->call->lane = lane;
	lane->call->reply.nr_objects = 0;
	return 0;
}

void lane_start(int sock)
{
	struct lane *lane = lane_free();

	if (!lane || lane_prepare(lane)) {
		sys2(__NR_close, sock, 0);
		return;
	}
	lane->sock = sock;
	channel_tell_usage(0, 0, 1);
	use->lanes = __atomic_add_fetch(&nr_lanes, 1, __ATOMIC_SEQ_CST);
	use->most_lanes = max(use->most_lanes, use->lanes);
	if (!watch_lane(lane) && !thread_start(&lane->thread, lane_main, lane))
		return;
	sys2(__NR_close, sock, 0);
	lane_over();
}
