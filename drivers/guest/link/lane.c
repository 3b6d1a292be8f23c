// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes of a session: connection, handshake and end. A lane is listed in the session before the
 * host is asked for it, so that the session's end finds the lane in every state.
 */
#include <linux/err.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"

/* Timeout of one attempt to connect; the loss of the host is noticed between two attempts. */
#define LANE_CONNECT_TIMEOUT_MS	1000
#define LANE_CONNECT_ATTEMPTS	10
/*
 * A host that has no time for a new connection resets it, and so does one whose agent is started
 * again: the guest tries again for this time. A host lets guests go on without an agent for 60
 * seconds at most, and ends the control connection then.
 */
#define LANE_RESETS_MS		70000
/* Number of attempts while mmap_lock may be held and another lane will do. */
#define LANE_RESETS_HASTY	10
#define LANE_RESET_DELAY_MS	10
/* Timeout of each step of the handshake; includes the start of the shadow for the first lane. */
#define LANE_READY_TIMEOUT_MS	20000

/* Frees a lane without references. */
void vgpu_lane_free(struct kref *ref)
{
	struct vgpu_lane *lane = container_of(ref, struct vgpu_lane, ref);

	vgpu_conn_fini(&lane->conn);
	kfree(lane);
}

/* Unlists a lane. Return: true if the caller has to put the reference of the list. */
static bool lane_unlist_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	if (list_empty(&lane->entry))
		return false;
	list_del_init(&lane->entry);
	session->pool.nr_idle -= !list_empty(&lane->idle_entry);
	list_del_init(&lane->idle_entry);
	if (session->pool.mm_lane == lane)
		session->pool.mm_lane = NULL;
	session->pool.nr_lanes--;
	return true;
}

/* Checks for the shadow's end when the lane for class mm ends. Atomic context. */
static void lane_ended(void *data)
{
	struct vgpu_lane *lane = data;
	struct vgpu_session *session = lane->session;

	/* The session outlives the callbacks of its lanes. */
	if (READ_ONCE(session->pool.mm_lane) == lane && vgpu_conn_was_ended(&lane->conn))
		vgpu_session_check_later(session);
}

/**
 * vgpu_lane_keep_mm_locked - keep a lane for class mm
 * @session: session of the lane; its lock is held
 * @lane: a listed lane
 */
void vgpu_lane_keep_mm_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	WRITE_ONCE(session->pool.mm_lane, lane);
	/* Pairs with the barrier in conn_changed(), which comes before lane_ended(). */
	smp_mb();
	/* If the lane has ended already, lane_ended() may have run before the lane was kept. */
	if (vgpu_conn_was_ended(&lane->conn))
		vgpu_session_check_later(session);
}

/* Keeps an idle lane for class mm if no lane is kept for it. */
void vgpu_lane_keep_idle_locked(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	lane = list_first_entry_or_null(&session->pool.idle, struct vgpu_lane, idle_entry);
	if (!lane || session->pool.mm_lane || session->pool.mm_lane_busy)
		return;
	list_del_init(&lane->idle_entry);
	session->pool.nr_idle--;
	vgpu_lane_keep_mm_locked(session, lane);
}

/**
 * vgpu_lane_end_all - prevent all further calls of a session
 * @session: a session whose shadow is dead, or will be
 *
 * The session gets no new lanes. Running calls end with -ENODEV.
 */
void vgpu_lane_end_all(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	spin_lock(&session->lock);
	WRITE_ONCE(session->dead, true);
	while (!list_empty(&session->pool.lanes)) {
		lane = list_first_entry(&session->pool.lanes, struct vgpu_lane, entry);
		lane_unlist_locked(session, lane);
		spin_unlock(&session->lock);
		vgpu_conn_shutdown(&lane->conn);
		kref_put(&lane->ref, vgpu_lane_free);
		spin_lock(&session->lock);
	}
	spin_unlock(&session->lock);
	wake_up_all(&session->pool.wait);
}

/* Kills a session whose shadow has ended without being asked to. */
static void lane_lost(struct vgpu_session *session)
{
	/* Log the reason: the program only finds that its files are dead. */
	if (!READ_ONCE(session->dead))
		pr_info_ratelimited("%s (pid %u): host %s has ended the session of this process\n",
				    session->comm, session->tgid, session->host->name);
	vgpu_lane_end_all(session);
}

/**
 * vgpu_lane_check - kill the session of a lane that has ended, if the shadow has ended
 * @session: session of the lane
 *
 * The host may end one lane alone, after a page fetch that took too long. The shadow has ended
 * if the host has ended the lane for class mm, too, whether that lane is in use or not. A lane
 * that this side has shut down (a killed call, or a deadline in the middle of a message) proves
 * nothing.
 */
void vgpu_lane_check(struct vgpu_session *session)
{
	bool ended;

	spin_lock(&session->lock);
	ended = session->pool.mm_lane && vgpu_conn_was_ended(&session->pool.mm_lane->conn);
	spin_unlock(&session->lock);
	if (ended)
		lane_lost(session);
}

/**
 * vgpu_lane_drop - end a lane after a call that has failed, or was the lane's last
 * @lane: the lane; the caller's reference is dropped
 *
 * The host may have ended the lane because the shadow has ended: then the session is killed, too.
 */
void vgpu_lane_drop(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	bool listed, mm_lane;

	/* Check first: an unlisted lane for class mm would not be looked at. */
	vgpu_lane_check(session);
	spin_lock(&session->lock);
	mm_lane = session->pool.mm_lane == lane;
	listed = lane_unlist_locked(session, lane);
	if (mm_lane) {
		session->pool.mm_lane_busy = false;
		vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	vgpu_conn_shutdown(&lane->conn);
	wake_up_all(&session->pool.wait);
	if (listed)
		kref_put(&lane->ref, vgpu_lane_free);
	kref_put(&lane->ref, vgpu_lane_free);
}

/* Returns the time for one step in ms: at most @most_ms, and not beyond @deadline. */
static unsigned int lane_time(unsigned long deadline, unsigned int most_ms)
{
	return min_not_zero(vgpu_deadline_ms(deadline), most_ms);
}

static int lane_hello(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_session *session = lane->session;
	struct vgpu_lane_hello hello = {
		.hdr.len = cpu_to_le32(sizeof(hello)),
		.hdr.type = cpu_to_le16(VGPU_MSG_LANE),
		.magic = cpu_to_le32(VGPU_WIRE_MAGIC),
		.tgid = cpu_to_le32(session->tgid),
		.session = cpu_to_le64(session->number),
	};
	struct kvec vec = { .iov_base = &hello, .iov_len = sizeof(hello) };
	unsigned int i;
	int ret;

	memcpy(hello.secret, session->host->terms.secret, sizeof(hello.secret));
	/* A process may have any bytes in its name; the wire takes printable ASCII only. */
	for (i = 0; i < sizeof(hello.comm) - 1 && session->comm[i]; i++)
		hello.comm[i] = session->comm[i] >= 0x20 && session->comm[i] < 0x7f ?
			session->comm[i] : '?';
	ret = vgpu_conn_send(&lane->conn, &vec, 1, sizeof(hello),
			     lane_time(deadline, LANE_READY_TIMEOUT_MS));
	memzero_explicit(&hello, sizeof(hello));
	return ret;
}

/*
 * Receives a part of the handshake. The end of the connection is -ECONNRESET here, because
 * -ENODEV means that the host has answered REFUSE: the session is over.
 */
static int lane_recv(struct vgpu_lane *lane, void *buf, size_t len, unsigned long deadline)
{
	int ret = vgpu_conn_recv(&lane->conn, buf, len,
				 lane_time(deadline, LANE_READY_TIMEOUT_MS));

	return ret == -ENODEV ? -ECONNRESET : ret;
}

static int lane_ready(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_refuse refuse;
	struct vgpu_hdr *hdr = &refuse.hdr;
	u32 len;
	int ret;

	ret = lane_recv(lane, hdr, sizeof(*hdr), deadline);
	if (ret)
		return ret;
	len = le32_to_cpu(hdr->len);
	if (vgpu_wire_hdr_check(hdr, &lane->session->host->limits) || len > sizeof(refuse))
		return -EPROTO;
	if (le16_to_cpu(hdr->type) == VGPU_MSG_LANE_READY)
		return vgpu_wire_msg_check(hdr, len, &lane->session->host->limits);
	if (le16_to_cpu(hdr->type) != VGPU_MSG_REFUSE)
		return -EPROTO;
	ret = lane_recv(lane, hdr + 1, len - sizeof(*hdr), deadline);
	if (ret)
		return ret;
	/* A host that refuses the first lane of a session has no such session. */
	WRITE_ONCE(lane->session->is_known, false);
	return -(int)min_t(u32, le32_to_cpu(refuse.error), MAX_ERRNO) ?: -EPROTO;
}

static int lane_connect_conn(struct vgpu_lane *lane, unsigned long deadline)
{
	struct vgpu_host *host = lane->session->host;
	unsigned int i;
	int ret = -ENODEV;

	for (i = 0; i < LANE_CONNECT_ATTEMPTS; i++) {
		if (vgpu_host_is_down(host) || READ_ONCE(lane->session->dead))
			return -ENODEV;
		memset(&lane->conn, 0, sizeof(lane->conn));
		lane->conn.event = lane_ended;
		lane->conn.event_data = lane;
		ret = vgpu_conn_connect(&lane->conn, host->cid, host->port, false,
					lane_time(deadline, LANE_CONNECT_TIMEOUT_MS));
		if (ret != -ETIMEDOUT || vgpu_deadline_passed(deadline))
			break;
	}
	/* A connection that was reset as soon as it was there is no other case than later. */
	return ret == -ECONNREFUSED ? -ECONNRESET : ret;
}

/*
 * Tries once to connect a lane, which session->pool.nr_lanes counts already; a failure uncounts the
 * lane.
 *
 * Return: the lane with a reference for the caller, or an ERR_PTR(): -ECONNRESET if the host
 * closed the connection without an answer.
 */
static struct vgpu_lane *lane_connect_once(struct vgpu_session *session, unsigned long deadline)
{
	struct vgpu_lane *lane;
	int ret;

	lane = kzalloc(sizeof(*lane), GFP_KERNEL);
	if (!lane) {
		ret = -ENOMEM;
		goto err_uncount;
	}
	kref_init(&lane->ref);
	lane->session = session;
	INIT_LIST_HEAD(&lane->entry);
	INIT_LIST_HEAD(&lane->idle_entry);
	ret = lane_connect_conn(lane, deadline);
	if (ret) {
		kfree(lane);
		goto err_uncount;
	}

	spin_lock(&session->lock);
	if (session->dead) {
		ret = -ENODEV;
	} else {
		kref_get(&lane->ref);
		list_add(&lane->entry, &session->pool.lanes);
	}
	spin_unlock(&session->lock);
	if (ret) {
		kref_put(&lane->ref, vgpu_lane_free);
		goto err_uncount;
	}

	WRITE_ONCE(session->is_known, true);
	ret = lane_hello(lane, deadline);
	if (ret == -ENODEV)
		ret = -ECONNRESET;
	if (!ret)
		ret = lane_ready(lane, deadline);
	if (ret) {
		vgpu_lane_drop(lane);
		if (ret == -ENODEV)
			lane_lost(session);
		return ERR_PTR(ret);
	}
	return lane;

err_uncount:
	spin_lock(&session->lock);
	session->pool.nr_lanes--;
	spin_unlock(&session->lock);
	wake_up_all(&session->pool.wait);
	return ERR_PTR(ret);
}

/**
 * vgpu_lane_connect - connect a lane
 * @session: session of the lane, whose nr_lanes counts the lane already
 * @deadline: deadline in jiffies; 0: none
 * @hasty: true if the caller would rather wait for another lane than for a busy host
 *
 * Tries again after -ECONNRESET. On a busy machine the host's listen queue may be full and its
 * agent late. If the shadow is dead, the agent's REFUSE ends the attempts. A failure uncounts the
 * lane.
 *
 * Return: the lane with a reference for the caller, or an ERR_PTR().
 */
struct vgpu_lane *vgpu_lane_connect(struct vgpu_session *session, unsigned long deadline,
				    bool hasty)
{
	const unsigned long end = jiffies + msecs_to_jiffies(LANE_RESETS_MS);
	struct vgpu_lane *lane;
	unsigned int i;

	for (i = 0;; i++) {
		lane = lane_connect_once(session, deadline);
		if (lane != ERR_PTR(-ECONNRESET) || (hasty && i == LANE_RESETS_HASTY) ||
		    time_after(jiffies, end) || vgpu_deadline_passed(deadline) ||
		    vgpu_host_is_down(session->host) || READ_ONCE(session->dead))
			return lane;
		schedule_timeout_killable(msecs_to_jiffies(LANE_RESET_DELAY_MS << min(i, 5U)));
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		spin_lock(&session->lock);
		session->pool.nr_lanes++;
		spin_unlock(&session->lock);
	}
}
