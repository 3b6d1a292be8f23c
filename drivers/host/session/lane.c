// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes: one connection of a session each. This file has the cancels of a running call, and its
 * upcalls to the guest.
 *
 * Cancel: if bytes or the end of the connection arrive while a call runs, the socket's callback
 * interrupts the thread with VGPU_LANE_SIGNAL, once for each call. lane->cancel.running is set
 * and cleared under lane->cancel.lock, so no signal is sent after the call. A signal that was
 * sent is pending then, and the thread returns to user mode before it replies.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "base/trace.h"
#include "peer/control.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "session/lane.h"

/*
 * Most bytes that a guest may have sent when it reads the reply that is the last one of a lane: the
 * answer to a FETCH, and a CANCEL.
 */
#define LANE_LATE_BYTES		(VGPU_FETCH_AHEAD * PAGE_SIZE + SZ_4K)

/* --- cancels -------------------------------------------------------------- */

void vgpuh_lane_event(void *data)
{
	struct vgpuh_lane *lane = data;
	unsigned long flags;

	spin_lock_irqsave(&lane->cancel.lock, flags);
	if (lane->cancel.running && !lane->cancel.upcalling && !lane->cancel.signalled) {
		lane->cancel.signalled = true;
		atomic64_inc(&lane->session->peer->counters.cancels);
		send_sig(VGPU_LANE_SIGNAL, lane->task, 1);
	}
	spin_unlock_irqrestore(&lane->cancel.lock, flags);
}

/*
 * Interrupt the call if bytes or the end of the connection arrived while lane->cancel kept
 * vgpuh_lane_event() from doing so.
 */
static void lane_check_cancel(struct vgpuh_lane *lane)
{
	if (vgpu_conn_pending(&lane->conn))
		vgpuh_lane_event(lane);
}

void vgpuh_lane_set_running(struct vgpuh_lane *lane, bool running)
{
	spin_lock_irq(&lane->cancel.lock);
	lane->cancel.running = running;
	lane->cancel.upcalling = false;
	if (running)
		lane->cancel.signalled = false;
	spin_unlock_irq(&lane->cancel.lock);
	if (running)
		lane_check_cancel(lane);
}

static void lane_set_upcalling(struct vgpuh_lane *lane, bool upcalling)
{
	spin_lock_irq(&lane->cancel.lock);
	lane->cancel.upcalling = upcalling;
	spin_unlock_irq(&lane->cancel.lock);
	if (!upcalling)
		lane_check_cancel(lane);
}

void vgpuh_lane_closes(struct vgpuh_lane *lane)
{
	lane->proto.closes = true;
	vgpuh_control_due(lane->session->peer);
}

/* --- upcalls -------------------------------------------------------------- */

struct vgpuh_lane *vgpuh_lane_current(struct vgpuh_session *session)
{
	struct vgpuh_lane *lane = xa_load(&session->lanes.tasks, (unsigned long)current);

	/* The lane is that of current, so no other thread frees it meanwhile. */
	if (!lane || !lane->cancel.running || lane->call.op->mm)
		return NULL;
	return lane;
}

/* Return the milliseconds until @deadline, at least one; 0: the deadline has passed. */
static unsigned int lane_time_left(unsigned long deadline)
{
	long left = (long)(deadline - jiffies);

	return left > 0 ? max(jiffies_to_msecs(left), 1U) : 0;
}

static int lane_upcall_recv(struct vgpuh_lane *lane, unsigned long deadline, u16 type,
			    void *answer, u32 answer_len, const struct kvec *data,
			    unsigned int nr_data, u32 data_len)
{
	struct vgpu_wire_limits *limits = &lane->session->peer->wire;
	struct vgpu_hdr *hdr = answer;
	unsigned int left, i;
	u32 len;
	int ret;

	for (;;) {
		left = lane_time_left(deadline);
		if (!left)
			return -ETIMEDOUT;
		ret = vgpu_conn_recv(&lane->conn, hdr, sizeof(*hdr), left);
		if (ret)
			return ret;
		if (vgpu_wire_hdr_check(hdr, limits) || le64_to_cpu(hdr->seq) != lane->proto.seq)
			return -EPROTO;
		if (le16_to_cpu(hdr->type) != VGPU_MSG_CANCEL)
			break;
		/*
		 * A CANCEL comes once at most. The answer is still to come: vgpuh_lane_upcall()
		 * interrupts the driver after it.
		 */
		if (lane->proto.cancelled)
			return -EPROTO;
		lane->proto.cancelled = true;
	}
	len = le32_to_cpu(hdr->len);
	if (le16_to_cpu(hdr->type) != type || (len != answer_len && len != answer_len + data_len))
		return -EPROTO;
	left = lane_time_left(deadline);
	if (!left)
		return -ETIMEDOUT;
	ret = vgpu_conn_recv(&lane->conn, hdr + 1, answer_len - sizeof(*hdr), left);
	for (i = 0; !ret && len > answer_len && i < nr_data; i++)
		ret = vgpu_conn_recv(&lane->conn, data[i].iov_base, data[i].iov_len,
				     lane_time_left(deadline) ?: 1);
	return ret;
}

bool vgpuh_lane_drop_late(struct vgpuh_lane *lane)
{
	vgpu_conn_forget(&lane->conn);
	return lane->conn.rx_bytes - lane->rx_counted <= LANE_LATE_BYTES;
}

int vgpuh_lane_upcall(struct vgpuh_lane *lane, struct kvec *vec, size_t nr, size_t len, u16 type,
		      void *answer, u32 answer_len, const struct kvec *data, unsigned int nr_data)
{
	struct vgpu_peer *peer = lane->session->peer;
	unsigned int timeout = peer->agent->fetch_timeout_ms, left;
	u32 upcall = le16_to_cpu(((struct vgpu_hdr *)vec[0].iov_base)->type);
	struct vgpu_guest_wait wait;
	unsigned long deadline;
	unsigned int i;
	u32 data_len = 0;
	int ret;

	if (lane->proto.last || vgpu_conn_is_down(&lane->conn))
		return -EFAULT;
	/*
	 * The driver may hold locks, so its wait is limited. A failure here leaves the lane
	 * usable.
	 */
	if (lane->driver.runs) {
		left = vgpu_guest_wait_begin(peer->guest, lane->driver.guest_call, &wait);
		if (!left || lane->driver.upcall_ns > timeout * (u64)NSEC_PER_MSEC)
			return -ENOBUFS;
		timeout = min(timeout, left);
	}
	deadline = jiffies + msecs_to_jiffies(timeout);
	for (i = 0; i < nr_data; i++)
		data_len += data[i].iov_len;
	atomic64_inc(&peer->counters.upcalls);
	lane->call.cost.upcalls++;
	lane_set_upcalling(lane, true);
	ret = vgpu_conn_send(&lane->conn, vec, nr, len, timeout);
	if (!ret)
		ret = lane_upcall_recv(lane, deadline, type, answer, answer_len, data, nr_data,
				       data_len);
	if (!ret && !vgpu_wire_answer_ok(answer, data_len))
		ret = -EPROTO;
	if (lane->driver.runs) {
		lane->driver.upcall_ns += ktime_get_ns() - wait.start;
		if (vgpu_guest_wait_end(peer->guest, &wait))
			trace_vgpu_host_spent(peer->id, lane->session->number, upcall);
	}
	if (!ret) {
		lane_set_upcalling(lane, false);
		if (lane->proto.cancelled)
			vgpuh_lane_event(lane);
		return 0;
	}
	if (ret == -ETIMEDOUT) {
		atomic64_inc(&peer->counters.fetch_timeouts);
		trace_vgpu_host_fetch_timeout(peer->id, lane->session->number, upcall);
		/* The reply is still sent: the guest's thread finds it when it comes back. */
		lane->proto.last = true;
	} else {
		if (ret == -EPROTO)
			vgpu_peer_malformed(peer, type);
		vgpu_conn_shutdown(&lane->conn);
	}
	lane_set_upcalling(lane, false);
	return -EFAULT;
}
