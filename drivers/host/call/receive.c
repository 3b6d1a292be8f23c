// SPDX-License-Identifier: GPL-2.0-only
/* Receipt of calls: the messages of a guest on a lane; see receive.h. */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "call/receive.h"
#include "call/run.h"
#include "conn.h"
#include "cover.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/session.h"
#include "tsc.h"
#include "wire.h"

void vgpuh_lane_malformed(struct vgpuh_lane *lane, u32 type)
{
	vgpu_peer_malformed(lane->session->peer, type);
	vgpu_conn_shutdown(&lane->conn);
}

/*
 * Receive and drop the rest of a message that exceeds the session's memory. All of its parts
 * together have the time of one: a guest could keep the thread for hours otherwise.
 */
static int lane_skip(struct vgpuh_lane *lane, u32 len)
{
	unsigned long end = jiffies + msecs_to_jiffies(VGPU_MSG_TIMEOUT_MS);
	int ret = 0;

	while (!ret && len) {
		u32 part = min_t(u32, len, VGPU_LANE_BUF);
		long left = end - jiffies;

		if (left <= 0)
			return -ETIMEDOUT;
		ret = vgpu_conn_recv(&lane->conn, lane->reply_buf, part, jiffies_to_msecs(left));
		len -= part;
	}
	return ret;
}

/* Receive the CALL that begins with @hdr into lane->call.msg, and rest behind its fixed part. */
static int lane_recv_call(struct vgpuh_lane *lane, const struct vgpu_hdr *hdr)
{
	const u32 fixed = sizeof(struct vgpu_call);
	struct vgpuh_call *call = &lane->call;
	u32 len = le32_to_cpu(hdr->len), first = len;
	int ret;

	call->msg = lane->buf;
	memcpy(call->msg, hdr, sizeof(*hdr));
	ret = vgpu_conn_recv(&lane->conn, call->msg + sizeof(*hdr), fixed - sizeof(*hdr),
			     VGPU_MSG_TIMEOUT_MS);
	if (ret)
		return ret;
	vgpuh_call_rest(call);
	if (len > VGPU_LANE_BUF) {
		call->msg = vgpuh_session_get_buf(lane->session, len);
		if (!call->msg) {
			/*
			 * The call will be rejected. Its fixed part tells which call it is, and its
			 * segments tell which of them are KEPT.
			 */
			call->msg = lane->buf;
			first = VGPU_LANE_BUF;
		}
	}
	call->msg_len = first;
	memmove(call->msg, lane->buf, fixed);
	ret = vgpu_conn_recv(&lane->conn, call->msg + fixed, first - fixed, VGPU_MSG_TIMEOUT_MS);
	if (!ret && first < len)
		ret = lane_skip(lane, len - first) ?: -ENOMEM;
	return ret;
}

/*
 * Give up a message that has begun and is not complete: the connection has ended, as that of a
 * caller that was killed does, or the rest did not come in time, which breaks the protocol.
 * @type: type of the message; 0: unknown. Return: -ESHUTDOWN.
 */
static int lane_torn(struct vgpuh_lane *lane, int error, u32 type)
{
	if (error == -ETIMEDOUT)
		vgpuh_lane_malformed(lane, type);
	return -ESHUTDOWN;
}

int vgpuh_lane_recv(struct vgpuh_lane *lane)
{
	struct vgpu_hdr hdr = {};
	int ret;

	for (;;) {
		vgpu_cover_stop();
		ret = vgpu_conn_wait(&lane->conn, TASK_INTERRUPTIBLE, 0);
		vgpu_cover_start();
		if (ret == -EINTR)
			return ret;
		/* A late answer is dropped; only the end of the connection counts. */
		if (!ret && lane->proto.last) {
			if (vgpuh_lane_drop_late(lane))
				continue;
			break;
		}
		if (!ret)
			ret = vgpu_conn_recv(&lane->conn, &hdr, sizeof(hdr), VGPU_MSG_TIMEOUT_MS);
		if (ret)
			return lane_torn(lane, ret, 0);
		if (vgpu_wire_hdr_check(&hdr, &lane->session->peer->wire))
			break;

		switch (le16_to_cpu(hdr.type)) {
		case VGPU_MSG_ACK:
			if (!lane->proto.unacked || le64_to_cpu(hdr.seq) != lane->proto.seq)
				goto malformed;
			lane->proto.unacked = false;
			continue;
		case VGPU_MSG_CANCEL:
			/* The CANCEL is late, or it is the one that has interrupted the call. */
			if (lane->proto.cancelled || le64_to_cpu(hdr.seq) != lane->proto.seq)
				goto malformed;
			lane->proto.cancelled = true;
			continue;
		case VGPU_MSG_CALL:
			lane->call.tsc_in = vgpu_tsc_with_clock(&lane->call.reply.clock_in);
			if (lane->proto.unacked || le64_to_cpu(hdr.seq) != lane->proto.seq + 1)
				goto malformed;
			lane->proto.seq++;
			lane->proto.cancelled = false;
			/* The next CALL shows that the guest has the last call's reply. */
			if (lane->proto.closes)
				vgpuh_control_settle(lane->session->peer, false);
			lane->proto.closes = false;
			ret = lane_recv_call(lane, &hdr);
			return ret && ret != -ENOMEM ? lane_torn(lane, ret, VGPU_MSG_CALL) : ret;
		default:
			goto malformed;
		}
	}
malformed:
	vgpuh_lane_malformed(lane, le16_to_cpu(hdr.type));
	return -ESHUTDOWN;
}
