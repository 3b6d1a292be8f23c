// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs of calls: from a received message to what its reply says. The message is in private memory
 * and is checked once. Then an entry of the table says which function runs it.
 */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "base/trace.h"
#include "call/fences.h"
#include "call/fops.h"
#include "call/ioctl.h"
#include "call/run.h"
#include "call/traced.h"
#include "compat.h"
#include "conn.h"
#include "memory/access.h"
#include "memory/demand.h"
#include "memory/kept.h"
#include "memory/mapping.h"
#include "memory/mmap.h"
#include "object/close.h"
#include "object/object.h"
#include "peer/grant.h"
#include "peer/guest.h"
#include "peer/limit.h"
#include "peer/pending.h"
#include "peer/submission.h"
#include "session/call.h"
#include "session/fdtable.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"
#include "session/unmap.h"
#include "wire.h"

/*
 * Longest time for which a lane waits after a call that did not go on. The guest gives an FDINFO up
 * after a longer time.
 */
#define CALL_LEAVE_NS	(NSEC_PER_SEC / 10)

/* Run a CLOCK call: each reply tells when its call came and when the reply was sent. */
static s64 call_clock(struct vgpuh_call *call)
{
	return 0;
}

static const struct vgpuh_call_op call_ops[] = {
	[VGPU_OP_OPEN]		= { .run = vgpu_fops_open },
	[VGPU_OP_CLOSE]		= { .run = vgpu_fops_close, .leave = true },
	[VGPU_OP_IOCTL]		= { .run = vgpu_ioctl_run },
	[VGPU_OP_READ]		= { .run = vgpu_fops_read },
	[VGPU_OP_WRITE]		= { .run = vgpu_fops_write },
	[VGPU_OP_LLSEEK]	= { .run = vgpu_fops_llseek },
	[VGPU_OP_POLL]		= { .run = vgpu_fops_poll },
	[VGPU_OP_MMAP]		= { .run = vgpuh_mapping_mmap, .mm = true },
	[VGPU_OP_BIND]		= { .run = vgpuh_mapping_bind, .mm = true },
	[VGPU_OP_PROTECT]	= { .run = vgpuh_mapping_protect, .mm = true },
	[VGPU_OP_CLOCK]		= { .run = call_clock, .mm = true },
	[VGPU_OP_READ_PAGES]	= { .run = vgpuh_mapping_read_pages, .mm = true },
	[VGPU_OP_FDINFO]	= { .run = vgpu_fops_fdinfo },
	[VGPU_OP_WRITE_PAGES]	= { .run = vgpuh_mapping_write_pages, .mm = true },
};

/* Operation of a call that was rejected before its own operation was known. */
static const struct vgpuh_call_op call_no_op = { .mm = true };

static void call_free_scratch(struct vgpuh_call *call)
{
	if (call->scratch.mapped)
		vm_munmap(call->scratch.addr, call->scratch.len);
	if (call->scratch.low)
		vgpuh_mapping_displace(call->lane, call->scratch.addr, call->scratch.len);
	if (call->scratch.mapped || call->scratch.low)
		vgpuh_session_uncharge(call->lane->session, call->scratch.len);
	call->scratch.mapped = false;
	call->scratch.low = false;
	call->scratch.addr = 0;
}

/* Apply flags that fcntl() changes in the guest: a driver reads them from its file. */
static void call_set_f_flags(struct file *file, u32 flags)
{
	const unsigned int mask = O_NONBLOCK | O_APPEND;

	if ((file->f_flags & mask) == (flags & mask))
		return;
	spin_lock(&file->f_lock);
	file->f_flags = (file->f_flags & ~mask) | (flags & mask);
	file->f_iocb_flags = iocb_flags(file);
	spin_unlock(&file->f_lock);
}

/*
 * Close files that the driver of an operation without fixups left in the table: no fixup
 * explains them.
 */
static s64 call_close_strays(struct vgpuh_call *call, s64 result)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	unsigned int nr = vgpu_fdtable_take(call->lane->file, NULL, 0);

	if (!nr)
		return result;
	atomic64_add(nr, &peer->counters.stray_fds);
	trace_vgpu_host_stray_fd(peer->id, 0, nr);
	vgpuh_call_take_back(call);
	call->reply.data_len = 0;
	call->reply.flags |= VGPU_REPLY_STRAY_FD;
	return -EOPNOTSUPP;
}

/*
 * Wait until the control messages up to @seq have come, and all of their closes are applied;
 * then apply those of their unmaps that are for the lane's session. Return: 0, -EINTR, -ENODEV.
 */
static int call_wait_control(struct vgpuh_lane *lane, u64 seq)
{
	struct vgpuh_session *session = lane->session;
	struct vgpu_peer *peer = session->peer;

	/* The end of the lane wakes no thread here, so check for it now and then. */
	while (!vgpu_close_applied(peer, seq)) {
		if (vgpuh_close_wait(peer, seq, HZ / 2))
			return -EINTR;
		vgpu_conn_pending(&lane->conn);
		if (READ_ONCE(session->ending) || vgpu_conn_is_down(&lane->conn))
			return -ENODEV;
	}
	if (vgpu_unmap_first(session, seq))
		return vgpuh_mapping_apply_unmaps(session, lane->shadow, seq);
	return 0;
}

/* Take the units of the call, of @bytes bytes, from the guest's rates. */
static void call_take_turn(struct vgpuh_call *call, bool open, u32 bytes, struct vgpu_turn *turn)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpu_host_rates rates = vgpuh_limits_rates(peer);

	vgpu_guest_turn_take(peer->guest, &rates, open, bytes, turn);
	call->paid = turn->nr_bytes;
}

/* Check whether a wait of a call for its turn has to end. */
static bool call_is_ended(struct vgpuh_call *call, bool over)
{
	struct vgpuh_lane *lane = call->lane;

	if (READ_ONCE(lane->session->ending))
		return true;
	if (!over)
		return signal_pending(current);
	return fatal_signal_pending(current) || vgpu_conn_is_ending(&lane->conn);
}

/*
 * Return the units of a call that does not go on. Others need not wait for these units, but the
 * call's own lane waits for a part of their time: a guest could send calls that do not go on as
 * fast as it likes otherwise.
 */
static void call_leave_turn(struct vgpuh_call *call, const struct vgpu_turn *turn)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpu_host_rates rates = vgpuh_limits_rates(peer);
	u64 ns = 0;

	vgpu_guest_turn_return(peer->guest, turn);
	call->paid = 0;
	if (rates.calls)
		ns = turn->nr_calls * (u64)NSEC_PER_SEC / rates.calls;
	if (rates.bytes)
		ns = max(ns, turn->nr_bytes * (u64)NSEC_PER_SEC / rates.bytes);
	schedule_timeout_killable(nsecs_to_jiffies(min_t(u64, ns, CALL_LEAVE_NS)) + 1);
}

/*
 * Wait until the guest's rates allow the call. Bytes that arrive meanwhile are a CANCEL, and wake
 * the thread by a signal, as the end of the lane does. An FDINFO that would have to wait fails, as
 * the guest gives it up soon. If it ran, any program of the guest could delay the others for as
 * long as it likes, by reading procfs.
 *
 * @over: true if the call has run, or will not run. Then only the reply waits, and no CANCEL ends
 * the wait: otherwise calls that lead to nothing would have no limit.
 *
 * Return: 0; -ERESTARTSYS if the call is to begin anew, or not at all; -EAGAIN for an FDINFO.
 */
static int call_wait_turn(struct vgpuh_call *call, const struct vgpu_turn *turn, bool over)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	struct vgpu_host_rates rates = vgpuh_limits_rates(peer);
	bool delayed = false;
	long ticks;
	u64 ns;

	while ((ns = vgpu_guest_turn_wait(peer->guest, &rates, turn))) {
		if (!delayed)
			atomic64_inc(&peer->counters.delayed);
		delayed = true;
		if (!over && call->op == &call_ops[VGPU_OP_FDINFO]) {
			call_leave_turn(call, turn);
			return -EAGAIN;
		}
		ticks = nsecs_to_jiffies(ns) + 1;
		/* The end of the lane wakes no thread that a signal does not wake. */
		if (over)
			schedule_timeout_killable(min_t(long, ticks, HZ / 2));
		else
			schedule_timeout_interruptible(ticks);
		if (call_is_ended(call, over)) {
			call_leave_turn(call, turn);
			call->left = true;
			return -ERESTARTSYS;
		}
		/* The agent may have changed the rates. */
		rates = vgpuh_limits_rates(peer);
	}
	return 0;
}

void vgpuh_call_charge(struct vgpuh_call *call, u64 rate, u64 bytes)
{
	u64 turn = vgpu_guest_charge_bytes(call->lane->session->peer->guest, rate, bytes);

	if (call->left)
		call->rest = (struct vgpu_turn) { .bytes = turn, .nr_bytes = 1 };
}

/*
 * The host has received the bytes already. If the lane did not wait, a program with a timer could
 * send calls over and over, and all others of the guest would wait for their bytes, for minutes. A
 * CLOSE never waits, and an FDINFO fails where its own turn has not come.
 */
void vgpuh_call_rest(struct vgpuh_call *call)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	const struct vgpu_call *msg = call->msg;
	struct vgpu_host_rates rates;
	u16 op = le16_to_cpu(msg->op);
	u64 ns;

	if (op == VGPU_OP_CLOSE || op == VGPU_OP_FDINFO)
		return;
	while (call->rest.nr_bytes) {
		rates = vgpuh_limits_rates(peer);
		ns = vgpu_guest_turn_wait(peer->guest, &rates, &call->rest);
		if (!ns || call_is_ended(call, true))
			call->rest.nr_bytes = 0;
		else
			schedule_timeout_killable(min_t(long, nsecs_to_jiffies(ns) + 1, HZ / 2));
	}
}

/* Return the share of the guest in the device that the call gives work; NULL: it gives none. */
static struct vgpuh_share *call_share(const struct vgpuh_call *call)
{
	const struct vgpu_call *msg = call->view.call;
	const struct vgpu_grant *grant = call->object ? call->object->grant : NULL;

	if (!grant || !grant->share || le16_to_cpu(msg->op) != VGPU_OP_IOCTL ||
	    !vgpu_policy_submits(&grant->policy, le32_to_cpu(msg->args.ioctl.cmd)))
		return NULL;
	return grant->share;
}

/*
 * Begin a call. If it gives a device work, it waits for other guests here, where it holds nothing
 * that others wait for. Return: 0 or -ERESTARTSYS.
 */
static int call_begin_work(struct vgpuh_call *call, struct vgpuh_submission *submission)
{
	submission->share = call_share(call);
	if (!submission->share)
		return 0;
	return vgpuh_submission_begin(submission, submission->share,
				      &call->lane->session->peer->counters.queued);
}

/* End what call_begin_work() has begun, or let it end with the work's fences. */
static void call_end_work(struct vgpuh_call *call, struct vgpuh_submission *submission)
{
	struct vgpuh_fences *fences = call->fences;

	call->fences = NULL;
	if (!submission->share)
		return;
	/*
	 * The fence of a sync_file is that of all the work. A guest can have a call fail after the
	 * driver has queued the work, so the result does not matter.
	 */
	if (fences && !fences->nr)
		vgpuh_fences_add_buffers(fences, call->object, submission);
	if (fences)
		vgpuh_submission_leave(submission, fences);
	else
		vgpuh_submission_end(submission);
}

static s64 call_do(struct vgpuh_call *call)
{
	const struct vgpu_call *msg = call->view.call;
	struct vgpuh_lane *lane = call->lane;
	struct vgpuh_submission submission;
	struct vgpuh_fences fences = { };
	s64 result = 0;
	int ret;

	ret = call_wait_control(lane, le64_to_cpu(msg->control_seq));
	/*
	 * A CLOSE runs even if the wait has failed, as it should not be lost. It may run early,
	 * because references have numbers.
	 */
	if (ret && le16_to_cpu(msg->op) != VGPU_OP_CLOSE)
		return vgpuh_call_refuse(call, ret);
	if (msg->object && le16_to_cpu(msg->op) != VGPU_OP_CLOSE) {
		call->object = vgpuh_object_find(lane->session->peer, le32_to_cpu(msg->object));
		if (!call->object)
			return vgpuh_call_refuse(call, -EBADF);
		ret = vgpuh_session_uses(lane->session, call->object->origin);
		if (ret)
			return vgpuh_call_refuse(call, ret);
		call_set_f_flags(call->object->file, le32_to_cpu(msg->f_flags));
	}
	if (call->op->mm)
		return call_close_strays(call, call->op->run(call));

	ret = call_begin_work(call, &submission);
	if (ret) {
		/* As in vgpuh_call_run(), no limit has refused the call. */
		call->reply.flags |= VGPU_REPLY_REFUSED;
		return ret;
	}
	if (submission.share && vgpuh_submission_is_shared(&submission))
		call->fences = &fences;
	ret = vgpu_demand_begin(lane);
	if (!ret)
		result = call->op->run(call);
	call_end_work(call, &submission);
	if (ret)
		return vgpuh_call_refuse(call, ret);
	if (le16_to_cpu(msg->op) != VGPU_OP_IOCTL)
		result = call_close_strays(call, result);
	/* The guest gets what the driver wrote before it gets the reply. */
	ret = vgpu_demand_end(lane);
	if (lane->proto.last) {
		/* The call has failed, whatever the driver made of the missing page. */
		call->reply.flags |= VGPU_REPLY_LAST;
		ret = ret ?: -EFAULT;
	}
	if (ret) {
		vgpuh_call_take_back(call);
		/*
		 * The driver saw a bad address, but the guest is told that the cause was a
		 * limit.
		 */
		if (ret == -ENOBUFS || ret == -EOPNOTSUPP || ret == -ENOMEM)
			return vgpuh_call_refuse(call, ret);
		/* Segments of an ioctl go back even after a failure; a failed READ has no bytes. */
		if (le16_to_cpu(msg->op) != VGPU_OP_IOCTL)
			call->reply.data_len = 0;
		result = -EFAULT;
	}
	return result;
}

static void call_reset(struct vgpuh_call *call)
{
	call->op = &call_no_op;
	call->object = NULL;
	vgpu_draft_reset(&call->reply);
	call->segs = NULL;
	call->kept.nr = 0;
	call->kept.nr_pieces = 0;
	call->room_stuck = false;
	call->event = 0;
	call->cost = (struct vgpuh_call_cost){ };
	call->done = false;
	call->paid = 0;
	call->left = false;
	call->fences = NULL;
	call->tally = NULL;
}

int vgpuh_call_run(struct vgpuh_call *call)
{
	struct vgpu_peer *peer = call->lane->session->peer;
	const bool rated = READ_ONCE(peer->bounds.rated);
	u64 began = trace_vgpu_host_file_call_enabled() ? ktime_get_ns() : 0;
	struct vgpu_turn turn;
	u32 cmd = 0;
	int ret = 0;
	u16 op;

	call_reset(call);
	if (vgpu_wire_call_check(call->msg, call->msg_len, &peer->wire, &call->view))
		return -EPROTO;
	op = le16_to_cpu(call->view.call->op);
	call->op = &call_ops[op];
	call->reply.pos = le64_to_cpu(call->view.call->pos);
	atomic64_inc(&peer->counters.calls);

	if (rated)
		call_take_turn(call, op == VGPU_OP_OPEN, call->msg_len, &turn);
	/* A CLOSE does not wait, as it should not be lost: later calls wait for it. */
	if (rated && op != VGPU_OP_CLOSE)
		ret = call_wait_turn(call, &turn, false);
	if (ret) {
		/* The guest has to know that the call was not run, but no limit has refused it. */
		call->reply.flags |= VGPU_REPLY_REFUSED;
		call->reply.result = ret;
		vgpu_kept_refuse(call);
		call->done = true;
		return 0;
	}
	vgpu_room_begin(call);
	call->reply.result = call_do(call);
	if (call->reply.flags & VGPU_REPLY_REFUSED) {
		call->reply.data_len = 0;
		vgpu_kept_refuse(call);
	}
	if (began)
		vgpuh_traced_call(call, began);
	call_free_scratch(call);
	vgpu_room_end(call);
	if (call->object) {
		/* The tally is the guest's, and outlives the object. */
		if (call->object->origin)
			call->tally = call->object->origin->tally;
		vgpuh_object_put(call->object);
	}
	call->object = NULL;
	/* The guest can repeat a CLOSE that has closed nothing as often as it likes. */
	if (rated && op == VGPU_OP_CLOSE && (call->reply.flags & VGPU_REPLY_REFUSED))
		call_wait_turn(call, &turn, true);
	call->done = true;

	if (op == VGPU_OP_IOCTL)
		cmd = le32_to_cpu(call->view.call->args.ioctl.cmd);
	trace_vgpu_host_call(peer->id, call->lane->session->number, vgpuh_call_nr(call),
			     le32_to_cpu(call->view.call->object), cmd, call->reply.result);
	return 0;
}

void vgpuh_call_reject(struct vgpuh_call *call, int error)
{
	const struct vgpu_hdr *hdr = call->msg;
	struct vgpu_turn turn;

	call_reset(call);
	if (READ_ONCE(call->lane->session->peer->bounds.rated)) {
		call_take_turn(call, false, le32_to_cpu(hdr->len), &turn);
		call_wait_turn(call, &turn, true);
	}
	call->reply.result = vgpuh_call_refuse(call, error);
	vgpu_kept_reject(call);
	call->done = true;
}
