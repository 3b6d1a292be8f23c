// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call engine. The thread that makes a call sends it, serves the host's upcalls and reads the
 * reply; no other thread takes part.
 *
 * On the first signal the thread sends CANCEL, once. The driver's own -EINTR or -ERESTARTSYS
 * then comes back as the reply. After the CANCEL only SIGKILL, or the deadline of the call, ends
 * the wait: the thread closes the lane, which cancels the call too, and the host finishes or
 * undoes the call alone.
 */
#include <linux/fcntl.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/deadline.h"
#include "base/stats.h"
#include "link/call.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/lane_pool.h"
#include "link/session.h"
#include "link/trace.h"
#include "link/traced.h"
#include "link/upcall.h"

/**
 * vgpu_guest_call_init - initialize a call
 * @xcall: uninitialized memory
 * @op: operation, enum vgpu_op
 * @object: number of the call's object on the wire; 0: none
 */
void vgpu_guest_call_init(struct vgpu_guest_call *xcall, u16 op, u32 object)
{
	memset(xcall, 0, offsetof(struct vgpu_guest_call, inline_buf));
	xcall->msg.op = cpu_to_le16(op);
	xcall->msg.object = cpu_to_le32(object);
}

/**
 * vgpu_guest_call_seg - give a call one segment
 * @xcall: initialized call
 * @addr: address in the program that the driver gets; only its number is used
 * @len: length in bytes
 * @flags: VGPU_SEG_*
 * @in: bytes of an IN segment, padded to 8; else NULL. Must stay valid until the call is over
 */
void vgpu_guest_call_seg(struct vgpu_guest_call *xcall, const void __user *addr, u32 len,
			 u32 flags, void *in)
{
	xcall->seg.addr = cpu_to_le64((unsigned long)addr);
	xcall->seg.len = cpu_to_le32(len);
	xcall->seg.flags = cpu_to_le32(flags);
	xcall->segs = &xcall->seg;
	xcall->nr_segs = 1;
	xcall->seg_in = (struct kvec){ .iov_base = in, .iov_len = vgpu_wire_pad(len) };
	xcall->in = &xcall->seg_in;
	xcall->nr_in = in && len;
}

/* Frees the memory of the reply, if there is any. */
void vgpu_guest_call_fini(struct vgpu_guest_call *xcall)
{
	if (xcall->buf != xcall->inline_buf)
		kvfree(xcall->buf);
	xcall->buf = NULL;
}

static int call_send_hdr(struct vgpu_lane *lane, u16 type, unsigned long deadline)
{
	struct vgpu_hdr hdr = {
		.len = cpu_to_le32(sizeof(hdr)),
		.type = cpu_to_le16(type),
		.seq = cpu_to_le64(lane->seq),
	};
	struct kvec vec = { .iov_base = &hdr, .iov_len = sizeof(hdr) };

	return vgpu_conn_send(&lane->conn, &vec, 1, sizeof(hdr), vgpu_deadline_ms(deadline));
}

static int call_send(struct vgpu_lane *lane, struct vgpu_guest_call *xcall)
{
	struct vgpu_call *msg = &xcall->msg;
	size_t segs_len = xcall->nr_segs * sizeof(*xcall->segs);
	size_t fixups_len = xcall->nr_fixups * sizeof(*xcall->fixups);
	size_t len = sizeof(*msg) + segs_len + fixups_len;
	struct kvec vec[8];
	size_t nr = 0, i;

	for (i = 0; i < xcall->nr_in; i++)
		len += xcall->in[i].iov_len;
	if (len > lane->session->host->limits.call_bytes || xcall->nr_in > ARRAY_SIZE(vec) - 3)
		return -E2BIG;
	msg->hdr.len = cpu_to_le32(len);
	msg->hdr.type = cpu_to_le16(VGPU_MSG_CALL);
	msg->hdr.seq = cpu_to_le64(++lane->seq);
	msg->nr_segs = cpu_to_le16(xcall->nr_segs);
	msg->nr_fixups = cpu_to_le16(xcall->nr_fixups);
	msg->control_seq = cpu_to_le64(READ_ONCE(lane->session->host->control.needed));

	vec[nr++] = (struct kvec){ .iov_base = msg, .iov_len = sizeof(*msg) };
	if (segs_len)
		vec[nr++] = (struct kvec){ (void *)xcall->segs, segs_len };
	if (fixups_len)
		vec[nr++] = (struct kvec){ (void *)xcall->fixups, fixups_len };
	for (i = 0; i < xcall->nr_in; i++)
		vec[nr++] = xcall->in[i];
	xcall->sent_at = ktime_get_ns();
	return vgpu_conn_send(&lane->conn, vec, nr, len, vgpu_deadline_ms(xcall->deadline));
}

/* Receives the last @left bytes of a REPLY into xcall->out. */
static int call_recv_out(struct vgpu_lane *lane, struct vgpu_guest_call *xcall, size_t left)
{
	const struct kvec *vec = xcall->out;
	size_t room = 0, part;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < xcall->nr_out; i++)
		room += vec[i].iov_len;
	if (left > room)
		return -EPROTO;
	for (; !ret && left; left -= part, vec++) {
		part = min(vec->iov_len, left);
		ret = vgpu_conn_recv(&lane->conn, vec->iov_base, part,
				     vgpu_deadline_ms(xcall->deadline));
	}
	return ret;
}

/* Receives a REPLY whose header @hdr was received already, and acknowledges the objects in it. */
static int call_reply(struct vgpu_lane *lane, struct vgpu_guest_call *xcall,
		      const struct vgpu_hdr *hdr)
{
	struct vgpu_clock_sample sample = {
		.sent = xcall->sent_at,
		.received = ktime_get_ns(),
	};
	struct vgpu_call_view sent = {
		.call = &xcall->msg,
		.segs = xcall->segs,
		.fixups = xcall->fixups,
	};
	u32 len = le32_to_cpu(hdr->len);
	u32 here = xcall->out ? sizeof(struct vgpu_reply) : len;
	unsigned int i;
	int ret;

	xcall->buf = xcall->inline_buf;
	if (here > sizeof(xcall->inline_buf)) {
		xcall->buf = kvmalloc(here, GFP_KERNEL_ACCOUNT);
		if (!xcall->buf)
			return -ENOMEM;
	}
	memcpy(xcall->buf, hdr, sizeof(*hdr));
	ret = vgpu_conn_recv(&lane->conn, xcall->buf + sizeof(*hdr), here - sizeof(*hdr),
			     vgpu_deadline_ms(xcall->deadline));
	if (ret)
		return ret;
	for (i = 0; i < xcall->nr_segs; i++)
		if (le32_to_cpu(xcall->segs[i].flags) & VGPU_SEG_OUT)
			sent.reply_bytes += vgpu_wire_pad(le32_to_cpu(xcall->segs[i].len));
	/*
	 * The bytes for @out have not been received yet. The check reads none of them, because
	 * whole pages have no padding.
	 */
	ret = vgpu_wire_reply_check(xcall->buf, len, &sent, &xcall->reply);
	if (!ret && xcall->out) {
		xcall->reply.data = NULL;
		ret = call_recv_out(lane, xcall, len - here);
	}
	if (ret)
		return ret;
	sample.in = le64_to_cpu(xcall->reply.reply->clock_in);
	sample.out = le64_to_cpu(xcall->reply.reply->clock_out);
	vgpu_clock_add(&lane->session->host->clock, &sample);
	xcall->result = le64_to_cpu(xcall->reply.reply->result);
	if (xcall->reply.reply->nr_objects)
		return call_send_hdr(lane, VGPU_MSG_ACK, xcall->deadline);
	return 0;
}

/* Serves upcalls until the reply has come. */
static int call_serve(struct vgpu_lane *lane, struct vgpu_guest_call *xcall)
{
	bool cancel = !(xcall->flags & (VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL));
	struct vgpu_hdr hdr;
	int ret;

	for (;;) {
		ret = vgpu_conn_wait(&lane->conn, cancel ? TASK_INTERRUPTIBLE : TASK_KILLABLE,
				     vgpu_deadline_ms(xcall->deadline));
		if (ret == -EINTR && cancel && !fatal_signal_pending(current)) {
			ret = call_send_hdr(lane, VGPU_MSG_CANCEL, xcall->deadline);
			if (ret)
				return ret;
			cancel = false;
			continue;
		}
		if (ret)
			return ret;
		ret = vgpu_conn_recv(&lane->conn, &hdr, sizeof(hdr),
				     vgpu_deadline_ms(xcall->deadline));
		if (ret)
			return ret;
		if (vgpu_wire_hdr_check(&hdr, &lane->session->host->limits) ||
		    le64_to_cpu(hdr.seq) != lane->seq)
			return -EPROTO;
		if (le16_to_cpu(hdr.type) == VGPU_MSG_REPLY)
			return call_reply(lane, xcall, &hdr);
		/*
		 * Upcalls are an error here: mmap_lock may be held, or the memory is another
		 * process's.
		 */
		if (xcall->flags & (VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_FOREIGN))
			return -EPROTO;
		ret = vgpu_upcall_serve(lane, xcall, &hdr);
		if (ret)
			return ret;
	}
}

static void call_count(struct vgpu_lane *lane, struct vgpu_guest_call *xcall, int ret)
{
	u64 tx = lane->conn.tx_bytes, rx = lane->conn.rx_bytes;
	struct vgpu_stats *stats = xcall->stats;

	xcall->cost.round_trips += !ret;
	xcall->cost.bytes_out += tx - lane->tx_seen;
	xcall->cost.bytes_in += rx - lane->rx_seen;
	if (stats) {
		if (!ret) {
			atomic64_inc(&stats->calls);
			atomic64_inc(&stats->round_trips);
		}
		atomic64_add(tx - lane->tx_seen, &stats->bytes_out);
		atomic64_add(rx - lane->rx_seen, &stats->bytes_in);
	}
	lane->tx_seen = tx;
	lane->rx_seen = rx;
}

/*
 * Returns the kind of a call (struct vgpu_lane_want): the operation, and for an ioctl the command
 * as well; 0 if the call does not wait for the device.
 */
static u64 call_kind(const struct vgpu_call *msg)
{
	u16 op = le16_to_cpu(msg->op);

	switch (op) {
	case VGPU_OP_IOCTL:
		return (u64)op << 32 | le32_to_cpu(msg->args.ioctl.cmd);
	case VGPU_OP_READ:
	case VGPU_OP_WRITE:
		/*
		 * A non-blocking read or write does not wait. Few ioctls of drivers heed
		 * O_NONBLOCK.
		 */
		return le32_to_cpu(msg->f_flags) & O_NONBLOCK ? 0 : (u64)op << 32;
	case VGPU_OP_OPEN:
	case VGPU_OP_CLOSE:
		return (u64)op << 32;
	default:
		return 0;
	}
}

static int call_on_lane(struct vgpu_session *session, struct vgpu_guest_call *xcall)
{
	struct vgpu_lane_want want = {
		.kind = call_kind(&xcall->msg),
		.mm_class = xcall->flags & VGPU_GUEST_CALL_MM,
		.interruptible = !(xcall->flags & (VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL)),
		.deadline = xcall->deadline,
	};
	struct vgpu_lane *lane;
	int ret;

	lane = vgpu_lane_get(session, &want);
	if (IS_ERR(lane))
		return PTR_ERR(lane);
	trace_vgpu_call_start(session, xcall);
	ret = call_send(lane, xcall);
	if (ret == -E2BIG) {
		vgpu_lane_put(lane);
		return ret;
	}
	if (!ret) {
		xcall->sent = true;
		ret = call_serve(lane, xcall);
	}
	call_count(lane, xcall, ret);
	if (!ret) {
		if (le32_to_cpu(xcall->reply.reply->flags) & VGPU_REPLY_LAST)
			vgpu_lane_drop(lane);
		else
			vgpu_lane_put(lane);
		return 0;
	}
	vgpu_lane_drop(lane);
	if (ret == -EINTR || ret == -ENOMEM || ret == -ETIMEDOUT)
		return ret;
	if (ret == -EPROTO)
		pr_warn_ratelimited("host %s violates the protocol in an answer to %s (pid %u), operation %u\n",
				    session->host->name, session->comm, session->tgid,
				    le16_to_cpu(xcall->msg.op));
	return -ENODEV;
}

/**
 * vgpu_call_run - make a call
 * @session: session of the calling process; any session for a call of class mm or FOREIGN
 * @xcall: the call
 *
 * Operations of programs use vgpu_op_run(), which keeps memory up to date.
 *
 * Context: process, no locks. For calls of class mm the mmap_lock may be held.
 * Return: 0 (there is a reply), -ENODEV (host or shadow lost), -EINTR (killed), -ERESTARTSYS (a
 * signal came while the call waited for a lane; nothing was sent), -ENOMEM, -E2BIG (longer than
 * the host allows), -ETIMEDOUT (@xcall->deadline has passed), or another errno of the lane's
 * connection. None of these is the driver's: the result of the driver is in @xcall->result.
 */
int vgpu_call_run(struct vgpu_session *session, struct vgpu_guest_call *xcall)
{
	u64 began = trace_vgpu_file_call_enabled() ? ktime_get_ns() : 0;
	int ret = call_on_lane(session, xcall);

	/* A POLL call cannot make another object ready, so host->calls leaves it out. */
	if (!(xcall->flags & VGPU_GUEST_CALL_MM) && le16_to_cpu(xcall->msg.op) != VGPU_OP_POLL)
		atomic64_inc(&session->host->calls);
	trace_vgpu_call_end(session, xcall, ret);
	/* ioctl.c reports the ioctls of programs, with their arguments. */
	if (began && le16_to_cpu(xcall->msg.op) != VGPU_OP_IOCTL)
		vgpu_traced_call(xcall, began, ret);
	return ret;
}

/**
 * vgpu_call_result - compute the result that the program gets
 * @xcall: a call that has its reply
 *
 * The kernel restarts the system call for a restart code of the driver only if a signal is
 * pending. Another thread may have taken the signal meanwhile, so TIF_SIGPENDING is set.
 *
 * Return: the result of the operation.
 */
long vgpu_call_result(const struct vgpu_guest_call *xcall)
{
	switch (xcall->result) {
	case -ERESTART_RESTARTBLOCK:
		/* The restart block is on the host, so this kernel cannot restart the call. */
		return -EINTR;
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
		if (!signal_pending(current))
			set_thread_flag(TIF_SIGPENDING);
		break;
	case -EBADF:
		/*
		 * This kernel names only files that it has not closed, so the host has closed one
		 * (VGPU_HOST_REVOKE_NOW). Programs get the errno of a device that is gone.
		 */
		if (xcall->msg.object &&
		    le32_to_cpu(xcall->reply.reply->flags) & VGPU_REPLY_REFUSED)
			return -ENODEV;
		break;
	}
	return xcall->result;
}
