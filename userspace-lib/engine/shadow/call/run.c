// SPDX-License-Identifier: MIT
/*
 * Runs of calls. The message is in private memory and is checked once. Then a table entry tells
 * the function that runs the call.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/fops.h"
#include "engine/shadow/call/ioctl.h"
#include "engine/shadow/call/mmap.h"
#include "engine/shadow/call/pages.h"
#include "engine/shadow/call/room.h"
#include "engine/shadow/call/run.h"
#include "engine/shadow/call/submission.h"
#include "engine/shadow/call/tally.h"
#include "engine/shadow/call/turn.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/memory/demand.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/thread/syscall.h"
#include "rate.h"

/* Does nothing: each reply tells when its call was received and when the reply was sent. */
static s64 call_clock(struct call *call)
{
	(void)call;
	return 0;
}

static const struct call_op {
	s64 (*run)(struct call *call);
	bool mm;	/* class mm: never upcalls */
} call_ops[] = {
	[VGPU_OP_OPEN]		= { .run = fops_open },
	[VGPU_OP_CLOSE]		= { .run = fops_close },
	[VGPU_OP_IOCTL]		= { .run = ioctl_run },
	[VGPU_OP_READ]		= { .run = fops_read },
	[VGPU_OP_WRITE]		= { .run = fops_write },
	[VGPU_OP_LLSEEK]	= { .run = fops_llseek },
	[VGPU_OP_POLL]		= { .run = fops_poll },
	[VGPU_OP_MMAP]		= { .run = mapping_mmap, .mm = true },
	[VGPU_OP_BIND]		= { .run = mapping_bind, .mm = true },
	[VGPU_OP_PROTECT]	= { .run = mapping_protect, .mm = true },
	[VGPU_OP_CLOCK]		= { .run = call_clock, .mm = true },
	[VGPU_OP_READ_PAGES]	= { .run = mapping_read_pages, .mm = true },
	[VGPU_OP_FDINFO]	= { .run = fops_fdinfo },
	[VGPU_OP_WRITE_PAGES]	= { .run = mapping_write_pages, .mm = true },
};

static void call_free_scratch(struct call *call)
{
	if (call->scratch.mapped)
		memory_put((void *)call->scratch.addr, call->scratch.len);
	if (call->scratch.low)
		mapping_displace(call->scratch.addr, call->scratch.len);
	if (call->scratch.mapped || call->scratch.low)
		budget_return(call->scratch.len);
	call->scratch.mapped = false;
	call->scratch.low = false;
	call->scratch.addr = 0;
	room_put(call);
}

/* Passes changes of the file's flags (fcntl()) on to the driver's file. */
static void call_set_f_flags(const struct file_entry *file, u32 flags)
{
	const u32 mask = O_NONBLOCK | O_APPEND;
	long now = sys3(__NR_fcntl, file->fd, F_GETFL, 0);

	if (now >= 0 && ((now ^ flags) & mask))
		sys3_apart(__NR_fcntl, file->fd, F_SETFL, (now & ~mask) | (flags & mask));
}

static int call_sync(struct lane *lane, u64 seq)
{
	static u64 synced;
	u64 known = __atomic_load_n(&synced, __ATOMIC_ACQUIRE);
	int ret;

	if (seq <= known)
		return 0;
	ret = channel_ask_for(lane, ESHADOW_SYNC, 0, seq, 0);
	if (ret)
		return ret;
	while (seq > known && !__atomic_compare_exchange_n(&synced, &known, seq, false,
							   __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return 0;
}

static s64 call_do(struct call *call)
{
	const struct vgpu_call *msg = call->view.call;
	u16 op = le16_to_cpu(msg->op);
	struct lane *lane = call->lane;
	struct submission submission;
	s64 result;
	int ret;

	ret = call_sync(lane, le64_to_cpu(msg->control_seq));
	/*
	 * Close nevertheless: references have numbers, so CLOSE may run early, but must not get
	 * lost.
	 */
	if (ret && op != VGPU_OP_CLOSE)
		return call_refuse(call, ret);
	/* FDINFO may come by a shadow that does not have the file, so the engine answers it. */
	if (msg->object && op != VGPU_OP_CLOSE && op != VGPU_OP_FDINFO) {
		ret = file_find(lane, le32_to_cpu(msg->object), &call->file);
		if (ret)
			return call_refuse(call, ret);
		lane->no_demand = call->file->no_demand;
		call_set_f_flags(call->file, le32_to_cpu(msg->f_flags));
	}
	if (lane->mm) {
		demand_begin_mm(lane);
		return call_ops[op].run(call);
	}

	/* The call holds nothing yet that others may wait for. */
	ret = submission_begin(call, &submission);
	if (ret == -ERESTARTSYS) {
		/* As in call_run(), no limit has refused the call. */
		call->reply.flags |= VGPU_REPLY_REFUSED;
		return ret;
	}
	if (ret)
		return call_refuse(call, ret);
	demand_begin(lane);
	files_call_begins(call->file ? call->file->limits : 0);
	result = call_ops[op].run(call);
	submission_end(call, &submission);
	result = call_close_strays(call, result);
	/* Bytes that the driver wrote must be in the guest before the reply. */
	ret = demand_end(lane);
	if (lane->last) {
		/* The call fails, whatever its driver has returned. */
		call->reply.flags |= VGPU_REPLY_LAST;
		ret = ret ?: -EFAULT;
	}
	if (ret) {
		call_take_back(call);
		/* The driver saw a bad address; only the host knows that the cause was a limit. */
		if (ret == -ENOBUFS || ret == -EOPNOTSUPP || ret == -ENOMEM)
			return call_refuse(call, ret);
		/* Segments of an ioctl are returned in any case, but a failed READ has no bytes. */
		if (op != VGPU_OP_IOCTL)
			call->reply.data_len = 0;
		result = -EFAULT;
	}
	return result;
}

static void call_reset(struct call *call)
{
	call->lane->mm = true;
	call->lane->no_demand = false;
	call->file = NULL;
	call->tally = NULL;
	vgpu_draft_reset(&call->reply);
	call->segs = NULL;
	call->fixups.files = NULL;
	call->arg_file = NULL;
	call->fixups.event = 0;
	call->nr_kept = 0;
	call->nr_pieces = 0;
}

int call_run(struct call *call)
{
	const bool rated = turns_count();
	struct vgpu_turn turn;
	int ret = 0;
	u16 op;

	call_reset(call);
	if (vgpu_wire_call_check(call->msg, call->msg_len, &wire_limits, &call->view))
		return -EPROTO;
	op = le16_to_cpu(call->view.call->op);
	call->lane->mm = call_ops[op].mm;
	call->reply.pos = le64_to_cpu(call->view.call->pos);
	count(&counters->calls, 1);
	if (rated)
		turn_take(call, op == VGPU_OP_OPEN, call->msg_len, &turn);
	/* A CLOSE does not wait, as it should not be lost: later calls wait for it. */
	if (rated && op != VGPU_OP_CLOSE)
		ret = turn_wait(call, &turn, false);
	if (ret) {
		/* The call was not run, which the guest must know, but no limit has refused it. */
		call->reply.flags |= VGPU_REPLY_REFUSED;
		call->reply.result = ret;
		return 0;
	}
	call->reply.result = call_do(call);
	if (call->reply.flags & VGPU_REPLY_REFUSED)
		call->reply.data_len = 0;
	call_free_scratch(call);
	if (call->file) {
		call->tally = tally_of(call->file->origin);
		file_put(call->file);
	}
	call->lane->no_demand = false;
	call->file = NULL;
	/* The guest can repeat a CLOSE that has closed nothing as often as it likes. */
	if (rated && op == VGPU_OP_CLOSE && (call->reply.flags & VGPU_REPLY_REFUSED))
		turn_wait(call, &turn, true);
	return 0;
}

void call_reject(struct call *call, int error)
{
	const struct vgpu_hdr *hdr = (const void *)call->msg;
	struct vgpu_turn turn;

	call_reset(call);
	if (turns_count()) {
		turn_take(call, false, le32_to_cpu(hdr->len), &turn);
		turn_wait(call, &turn, true);
	}
	call->reply.result = call_refuse(call, error);
}
