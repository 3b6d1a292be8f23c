// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control connection of a peer: a thread that reads it and tears the peer down when the
 * connection ends, and a work item that sends news to the guest.
 *
 * Closes and unmaps have no reply and are numbered. Each call names the number up to which they
 * must be applied before it. The thread only takes them in: a driver's ->release may take long,
 * and a peer whose pings are not answered is lost. A work item of the peer applies closes in
 * order. An unmap is applied by the shadow that it concerns (mapping.c).
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "agent/announce.h"
#include "agent/control_thread.h"
#include "agent/export.h"
#include "conn.h"
#include "cover.h"
#include "memory/kept.h"
#include "memory/ram.h"
#include "object/close.h"
#include "object/event.h"
#include "object/leave.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/agent.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "session/session.h"
#include "session/unmap.h"
#include "window/offer.h"
#include "wire.h"

static void control_tx_work(struct work_struct *work)
{
	struct vgpu_peer *peer = container_of(work, struct vgpu_peer, control.tx_work);

	vgpu_cover_start();
	/* The window is sent first, as programs may begin when the exports are there. */
	if (!vgpu_offer_announce(peer) && !vgpu_grant_announce(peer) &&
	    !vgpu_poll_announce(peer) && !vgpuh_event_announce(peer))
		vgpu_kept_announce(peer);
	vgpu_cover_stop();
}

/* --- messages of the guest ------------------------------------------------ */

static int control_close(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_close *close = msg;
	struct vgpuh_object *object;

	object = vgpuh_object_release(peer, le32_to_cpu(close->object),
				      le32_to_cpu(close->reference));
	/*
	 * Unknown numbers are no error. If a lane ended, with its shadow, before its ACK was
	 * read, the host has taken the object back already. A CLOSE call whose reply did not
	 * come may have been executed, too.
	 */
	if (IS_ERR(object)) {
		atomic64_inc(&peer->counters.refused);
		vgpuh_control_settle(peer, true);
	}
	if (IS_ERR_OR_NULL(object))
		return 0;
	vgpu_close_queue(object, le64_to_cpu(close->hdr.seq));
	return 0;
}

/* Queue an UNMAP. A session that is gone is no error: its shadow may have died. */
static int control_unmap(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_unmap *unmap = msg;
	struct vgpuh_session *session;
	int ret;

	session = vgpuh_session_find(peer, le64_to_cpu(unmap->session));
	/*
	 * The guest may unmap a mapping page by page. The shadow cuts the mapping into parts only
	 * when it applies an UNMAP, and vgpuh_control_due() counts the parts only then. So an
	 * UNMAP is idle only if the session has no mapping.
	 */
	vgpuh_control_settle(peer, !session || !READ_ONCE(session->nr_mappings));
	if (!session)
		return 0;
	ret = vgpu_unmap_queue(session, le64_to_cpu(unmap->hdr.seq),
			       le64_to_cpu(unmap->addr), le64_to_cpu(unmap->len));
	if (ret) {
		/*
		 * There are too many unmaps, or no memory. An unmap must not be dropped, so the
		 * session ends.
		 */
		atomic64_inc(&peer->counters.refused);
		vgpuh_session_end(session);
	}
	vgpuh_session_put(session);
	return 0;
}

static int control_session_close(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_session_close *close = msg;
	struct vgpuh_session *session;

	session = vgpuh_session_find(peer, le64_to_cpu(close->session));
	vgpuh_control_settle(peer, !session);
	if (!session)
		return 0;
	vgpuh_session_close_later(session);
	vgpuh_session_put(session);
	return 0;
}

static int control_ping(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_hdr *ping = msg;
	struct vgpu_hdr pong = VGPU_HDR(sizeof(pong), VGPU_MSG_PONG, le64_to_cpu(ping->seq));

	vgpuh_control_idle(peer);
	return vgpuh_control_send(peer, &pong, sizeof(pong));
}

static int control_pong(struct vgpu_peer *peer, const void *msg)
{
	const struct vgpu_hdr *pong = msg;

	vgpuh_control_idle(peer);
	/* Any message shows that the guest lives, but a PONG must have been asked for. */
	return le64_to_cpu(pong->seq) > peer->control.ping_seq ? -EPROTO : 0;
}

static const struct control_op {
	int (*fn)(struct vgpu_peer *peer, const void *msg);
	bool sequenced;
} control_ops[] = {
	[VGPU_MSG_CLOSE] = { .fn = control_close, .sequenced = true },
	[VGPU_MSG_UNMAP] = { .fn = control_unmap, .sequenced = true },
	[VGPU_MSG_SESSION_CLOSE] = { .fn = control_session_close, .sequenced = true },
	[VGPU_MSG_UNBIND] = { .fn = vgpu_offer_unbind, .sequenced = true },
	[VGPU_MSG_RELEASE] = { .fn = vgpu_kept_release, .sequenced = true },
	[VGPU_MSG_PING] = { .fn = control_ping },
	[VGPU_MSG_PONG] = { .fn = control_pong },
};

/* Receive and handle a message. Return: 0, -EPROTO (malformed) or an error of the connection. */
static int control_recv(struct vgpu_peer *peer, u8 *buf)
{
	struct vgpu_hdr *hdr = (void *)buf;
	const struct control_op *op;
	struct mem_cgroup *memcg;
	u32 len, type;
	int ret;

	ret = vgpu_conn_recv(&peer->control.conn, hdr, sizeof(*hdr), VGPU_MSG_TIMEOUT_MS);
	if (ret)
		return ret;
	len = le32_to_cpu(hdr->len);
	type = le16_to_cpu(hdr->type);
	if (vgpu_wire_hdr_check(hdr, &peer->wire) || len > VGPU_CONTROL_MSG_MAX ||
	    type >= ARRAY_SIZE(control_ops) || !control_ops[type].fn)
		goto malformed;
	ret = vgpu_conn_recv(&peer->control.conn, hdr + 1, len - sizeof(*hdr), VGPU_MSG_TIMEOUT_MS);
	if (ret)
		return ret;
	op = &control_ops[type];
	if (vgpu_wire_msg_check(buf, len, &peer->wire) ||
	    (op->sequenced && le64_to_cpu(hdr->seq) != peer->control.seq + 1))
		goto malformed;
	/* The kernel charges a kernel thread's memory to no group unless it is told to. */
	memcg = set_active_memcg(READ_ONCE(peer->control.memcg));
	ret = op->fn(peer, buf);
	set_active_memcg(memcg);
	if (ret == -EPROTO)
		goto malformed;
	if (op->sequenced) {
		WRITE_ONCE(peer->control.seq, peer->control.seq + 1);
		vgpuh_close_wake(peer);
	}
	return ret;

malformed:
	vgpu_peer_malformed(peer, type);
	return -EPROTO;
}

/* Handle a silence of half the ping timeout. */
static int control_silent(struct vgpu_peer *peer, unsigned int *silence)
{
	struct vgpu_hdr ping = VGPU_HDR(sizeof(ping), VGPU_MSG_PING, 0);

	if ((*silence)++)
		return *silence > 2 ? -ETIMEDOUT : 0;
	ping.seq = cpu_to_le64(++peer->control.ping_seq);
	return vgpuh_control_send(peer, &ping, sizeof(ping));
}

static void control_end(struct vgpu_peer *peer)
{
	struct vgpuh_session *session;

	vgpu_conn_shutdown(&peer->control.conn);
	mutex_lock(&peer->lock);
	peer->closing = true;
	list_for_each_entry(session, &peer->sessions.list, node)
		vgpuh_session_end(session);
	mutex_unlock(&peer->lock);
	wake_up_all(&peer->wait);
	/* Sessions may take long to end, but nothing of them is shown to the guest from now on. */
	vgpu_offer_end(peer);
	vgpu_ram_end(peer);
	wait_event_idle(peer->wait, !READ_ONCE(peer->sessions.nr));

	/* No lane is left, so no object is used or made. A driver may take its time for a close. */
	wait_event_idle(peer->wait, vgpu_close_all_over(peer));
	cancel_work_sync(&peer->closes.work);
	vgpuh_object_drop_all(peer);
	vgpu_leave_all(peer);
	cancel_work_sync(&peer->control.tx_work);
	vgpu_grant_drop_all(peer);
}

static int control_thread(void *data)
{
	struct vgpu_peer *peer = data;
	unsigned int silence = 0;
	unsigned int timeout = peer->agent->ping_timeout_ms;
	struct vgpu_agent_event *gone;
	u8 *buf = peer->control.buf;
	int ret = 0;

	if (timeout)
		timeout = max(timeout / 2, 1U);
	while (!ret) {
		ret = vgpu_conn_wait(&peer->control.conn, TASK_IDLE, timeout);
		if (ret == -ETIMEDOUT) {
			ret = control_silent(peer, &silence);
		} else if (!ret) {
			silence = 0;
			vgpu_cover_start();
			ret = control_recv(peer, buf);
			vgpu_cover_stop();
		}
	}
	vgpu_cover_start();
	control_end(peer);
	vgpu_cover_stop();

	gone = peer->gone;
	peer->gone = NULL;
	mutex_lock(&peer->agent->lock);
	xa_erase(&peer->agent->peers, peer->id);
	vgpu_peer_leave(peer);
	mutex_unlock(&peer->agent->lock);
	/* A grant may have queued the work since; no thread finds the peer any more. */
	cancel_work_sync(&peer->control.tx_work);
	vgpu_offer_drop(peer);
	vgpu_kept_drop_all(peer);
	vgpuh_control_leave(peer);
	vgpu_agent_notify(peer->agent, gone, VGPU_HOST_EVENT_PEER_GONE, peer->id, 0);
	vgpu_peer_put(peer);
	module_put_and_kthread_exit(0);
	return 0;
}

int vgpuh_control_start(struct vgpu_peer *peer)
{
	struct task_struct *thread;

	INIT_WORK(&peer->control.tx_work, control_tx_work);
	vgpuh_sessions_init(peer);
	vgpu_close_init(peer);
	vgpu_leave_init(peer);
	/* The caller's file holds the module, so this cannot fail. */
	__module_get(THIS_MODULE);
	thread = kthread_create(control_thread, peer, "vgpu-peer/%u", peer->id);
	if (IS_ERR(thread)) {
		module_put(THIS_MODULE);
		return PTR_ERR(thread);
	}
	peer->control.thread = get_task_struct(thread);
	wake_up_process(thread);
	return 0;
}
