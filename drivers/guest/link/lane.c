// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes of a session. A lane is listed in the session before the host is asked for it, so that
 * the session's end finds the lane in every state.
 *
 * A call that waits for the device keeps its lane, and there may be as many such calls as
 * lanes. The call that ends their wait must get a lane, too. Waiting calls are of few kinds,
 * and the call that ends their wait is of another kind. So the last lanes (LANE_RESERVE) are
 * given only to calls that do not wait (kind 0), and to a call of whose kind no other call has a
 * lane. Calls of class mm get none of the last lanes: they have a lane of their own.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "uapi/linux/vgpu_wire.h"

#include "base/deadline.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"

/* Timeout of one attempt to connect; the loss of the host is noticed between two attempts. */
#define LANE_CONNECT_TIMEOUT_MS	1000
#define LANE_CONNECT_ATTEMPTS	10
/* A host that has no time for a new connection resets it: the guest tries again. */
#define LANE_RESETS_MAX		10
#define LANE_RESET_DELAY_MS	10
/* Number of lanes in reserve; an eighth of all lanes if that is less, but at least one. */
#define LANE_RESERVE		8U
/* Timeout of each step of the handshake; includes the start of the shadow for the first lane. */
#define LANE_READY_TIMEOUT_MS	20000

/**
 * struct lane_coming - a lane that is being connected and counted in session->nr_lanes
 * @entry: entry in session->coming (session->lock)
 * @kind: kind of the call that waits for the lane
 */
struct lane_coming {
	struct list_head entry;
	u64 kind;
};

/* Frees a lane without references. */
static void vgpu_lane_free(struct kref *ref)
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
	session->nr_idle -= !list_empty(&lane->idle_entry);
	list_del_init(&lane->idle_entry);
	if (session->mm_lane == lane)
		session->mm_lane = NULL;
	session->nr_lanes--;
	return true;
}

/* Checks for the shadow's end when the lane for class mm ends. Atomic context. */
static void vgpu_lane_ended(void *data)
{
	struct vgpu_lane *lane = data;
	struct vgpu_session *session = lane->session;

	/* The session outlives the callbacks of its lanes. */
	if (READ_ONCE(session->mm_lane) == lane && vgpu_conn_was_ended(&lane->conn))
		vgpu_session_check_later(session);
}

/**
 * vgpu_lane_keep_mm_locked - keep a lane for class mm
 * @session: session of the lane; its lock is held
 * @lane: a listed lane
 *
 * Return: true if the lane has ended already and the caller must call
 * vgpu_session_check_later(), because vgpu_lane_ended() may have run before the lane was kept.
 */
static bool vgpu_lane_keep_mm_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	WRITE_ONCE(session->mm_lane, lane);
	/* Pairs with the barrier in conn_changed(), which comes before vgpu_lane_ended(). */
	smp_mb();
	return vgpu_conn_was_ended(&lane->conn);
}

/* Keeps an idle lane for class mm if no lane is. Return: as vgpu_lane_keep_mm_locked(). */
static bool vgpu_lane_keep_idle_locked(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	lane = list_first_entry_or_null(&session->idle, struct vgpu_lane, idle_entry);
	if (!lane || session->mm_lane || session->mm_lane_busy)
		return false;
	list_del_init(&lane->idle_entry);
	session->nr_idle--;
	return vgpu_lane_keep_mm_locked(session, lane);
}

/* Kills a session whose shadow has ended without being asked to. */
static void vgpu_lane_lost(struct vgpu_session *session)
{
	/* Log the reason: the program only finds that its files are dead. */
	if (!READ_ONCE(session->dead))
		pr_info_ratelimited("%s (%u): host %s has ended its session\n", session->comm,
				    session->tgid, session->host->name);
	vgpu_session_kill(session);
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

	memcpy(hello.secret, session->host->secret, sizeof(hello.secret));
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
		lane->conn.event = vgpu_lane_ended;
		lane->conn.event_data = lane;
		ret = vgpu_conn_connect(&lane->conn, host->cid, host->port, false,
					lane_time(deadline, LANE_CONNECT_TIMEOUT_MS));
		if (ret != -ETIMEDOUT || vgpu_deadline_passed(deadline))
			break;
	}
	return ret;
}

/*
 * Tries once to connect a lane, which session->nr_lanes counts already; a failure uncounts the
 * lane.
 *
 * Return: the lane with a reference for the caller, or an ERR_PTR(): -ECONNRESET if the host
 * closed the connection without an answer.
 */
static struct vgpu_lane *lane_connect_once(struct vgpu_session *session, unsigned long deadline)
{
	struct vgpu_lane *lane;
	bool dead;
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
	dead = session->dead;
	if (!dead) {
		kref_get(&lane->ref);
		list_add(&lane->entry, &session->lanes);
	}
	spin_unlock(&session->lock);
	if (dead) {
		kref_put(&lane->ref, vgpu_lane_free);
		ret = -ENODEV;
		goto err_uncount;
	}

	ret = lane_hello(lane, deadline);
	if (ret == -ENODEV)
		ret = -ECONNRESET;
	if (!ret)
		ret = lane_ready(lane, deadline);
	if (ret) {
		vgpu_lane_drop(lane);
		if (ret == -ENODEV)
			vgpu_lane_lost(session);
		return ERR_PTR(ret);
	}
	return lane;

err_uncount:
	spin_lock(&session->lock);
	session->nr_lanes--;
	spin_unlock(&session->lock);
	wake_up_all(&session->wait);
	return ERR_PTR(ret);
}

/**
 * vgpu_lane_connect - connect a lane
 * @session: session of the lane, whose nr_lanes counts the lane already
 * @deadline: deadline in jiffies; 0: none
 *
 * Tries again after -ECONNRESET. On a busy machine the host's listen queue may be full and its
 * agent late. If the shadow is dead, the agent's REFUSE ends the attempts. A failure uncounts the
 * lane.
 *
 * Return: the lane with a reference for the caller, or an ERR_PTR().
 */
static struct vgpu_lane *vgpu_lane_connect(struct vgpu_session *session, unsigned long deadline)
{
	struct vgpu_lane *lane;
	unsigned int i;

	for (i = 0;; i++) {
		lane = lane_connect_once(session, deadline);
		if (lane != ERR_PTR(-ECONNRESET) || i == LANE_RESETS_MAX ||
		    vgpu_deadline_passed(deadline) ||
		    vgpu_host_is_down(session->host) || READ_ONCE(session->dead))
			return lane;
		schedule_timeout_killable(msecs_to_jiffies(LANE_RESET_DELAY_MS << min(i, 5U)));
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		spin_lock(&session->lock);
		session->nr_lanes++;
		spin_unlock(&session->lock);
	}
}

/* Returns the errno that a program gets if a lane could not be connected. */
static int lane_error(const struct vgpu_session *session, int error)
{
	switch (error) {
	case -EINTR:
	case -ENOMEM:
	case -EACCES:
	case -EBUSY:
	case -EMFILE:
		return error;
	}
	/* Log the error: the program only gets -ENODEV. */
	if (!READ_ONCE(session->dead) && !vgpu_host_is_down(session->host))
		pr_warn_ratelimited("%s (%u): no lane to host %s (%d)\n", session->comm,
				    session->tgid, session->host->name, error);
	return -ENODEV;
}

/**
 * vgpu_lane_start - connect the first lane of a session
 * @session: a new session
 *
 * The lane is kept for calls of class mm.
 *
 * Return: 0 or a negative errno that a program may get.
 */
int vgpu_lane_start(struct vgpu_session *session)
{
	struct vgpu_lane *lane;
	bool ended = false;

	spin_lock(&session->lock);
	session->nr_lanes++;
	spin_unlock(&session->lock);
	lane = vgpu_lane_connect(session, 0);
	if (IS_ERR(lane))
		return lane_error(session, PTR_ERR(lane));
	spin_lock(&session->lock);
	if (!list_empty(&lane->entry))
		ended = vgpu_lane_keep_mm_locked(session, lane);
	spin_unlock(&session->lock);
	kref_put(&lane->ref, vgpu_lane_free);
	if (ended)
		vgpu_session_check_later(session);
	return 0;
}

/* Returns how many more lanes may be connected; room for the lane for class mm is set aside. */
static unsigned int lane_room_locked(const struct vgpu_session *session)
{
	unsigned int used = session->nr_lanes + (!session->mm_lane && !session->mm_lane_busy);

	lockdep_assert_held(&session->lock);
	return used < session->lanes_max ? session->lanes_max - used : 0;
}

static bool lane_has_kind_locked(const struct vgpu_session *session, u64 kind)
{
	const struct lane_coming *coming;
	const struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	list_for_each_entry(lane, &session->lanes, entry) {
		if (lane->kind == kind)
			return true;
	}
	list_for_each_entry(coming, &session->coming, entry) {
		if (coming->kind == kind)
			return true;
	}
	return false;
}

/* Returns true if a lane other than the one for class mm may be used or connected for this call. */
static bool lane_is_for_locked(const struct vgpu_session *session,
			       const struct vgpu_lane_want *want)
{
	unsigned int spare = session->nr_idle + lane_room_locked(session);

	if (spare > clamp(session->lanes_max / 8, 1U, LANE_RESERVE))
		return true;
	if (!spare || want->mm_class)
		return false;
	return !want->kind || !lane_has_kind_locked(session, want->kind);
}

/* Result of lane_try_get() if it returns no lane. */
enum lane_connect {
	LANE_CONNECT_NONE,
	LANE_CONNECT_ANY,	/* connect another lane, which is counted already */
	LANE_CONNECT_MM,	/* the same, for the lane that is kept for class mm */
};

/* Tries to get a lane without waiting. If the caller has to connect one, @coming is listed. */
static struct vgpu_lane *lane_try_get(struct vgpu_session *session,
				      const struct vgpu_lane_want *want,
				      struct lane_coming *coming, enum lane_connect *connect)
{
	struct vgpu_lane *lane = NULL;
	bool any;

	*connect = LANE_CONNECT_NONE;
	spin_lock(&session->lock);
	any = lane_is_for_locked(session, want);
	if (any)
		lane = list_first_entry_or_null(&session->idle, struct vgpu_lane, idle_entry);
	if (session->dead) {
		lane = ERR_PTR(-ENODEV);
	} else if (lane) {
		list_del_init(&lane->idle_entry);
		session->nr_idle--;
		lane->kind = want->kind;
		kref_get(&lane->ref);
	} else if (want->mm_class && session->mm_lane && !session->mm_lane_busy) {
		lane = session->mm_lane;
		session->mm_lane_busy = true;
		kref_get(&lane->ref);
	} else if (want->mm_class && !session->mm_lane && !session->mm_lane_busy) {
		/* A call that was killed or late has ended the lane: connect another. */
		session->mm_lane_busy = true;
		session->nr_lanes++;
		*connect = LANE_CONNECT_MM;
	} else if (any && !want->connected) {
		session->nr_lanes++;
		*connect = LANE_CONNECT_ANY;
	}
	if (*connect != LANE_CONNECT_NONE) {
		coming->kind = want->kind;
		list_add(&coming->entry, &session->coming);
	}
	spin_unlock(&session->lock);
	return lane;
}

/* Returns true if lane_try_get() would find a lane, a lane to connect or a dead session. */
static bool lane_may_get(struct vgpu_session *session, const struct vgpu_lane_want *want)
{
	bool may;

	spin_lock(&session->lock);
	may = session->dead || (want->mm_class && !session->mm_lane_busy) ||
		((session->nr_idle || !want->connected) && lane_is_for_locked(session, want));
	spin_unlock(&session->lock);
	return may;
}

/*
 * Waits until a lane may be had. Return: 0: try again; -ERESTARTSYS, -EINTR (killed),
 * -ETIMEDOUT.
 */
static int lane_wait(struct vgpu_session *session, const struct vgpu_lane_want *want)
{
	long left = vgpu_deadline_left(want->deadline);

	if (want->interruptible)
		left = wait_event_interruptible_timeout(session->wait,
							lane_may_get(session, want), left);
	else
		left = wait_event_killable_timeout(session->wait, lane_may_get(session, want),
						   left);
	if (left > 0)
		return 0;
	if (!left)
		return -ETIMEDOUT;
	return want->interruptible && !fatal_signal_pending(current) ? -ERESTARTSYS : -EINTR;
}

/* Keeps @lane for class mm after an attempt to connect it; @lane is an ERR_PTR() if that failed. */
static void lane_set_mm(struct vgpu_session *session, struct vgpu_lane *lane)
{
	bool ended = false;

	spin_lock(&session->lock);
	if (!IS_ERR(lane) && !list_empty(&lane->entry)) {
		ended = vgpu_lane_keep_mm_locked(session, lane);
	} else if (IS_ERR(lane)) {
		session->mm_lane_busy = false;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->wait);
}

/* Unlists @coming; @lane is the lane that was connected, or an ERR_PTR(). */
static void lane_has_come(struct vgpu_session *session, struct lane_coming *coming,
			  struct vgpu_lane *lane)
{
	spin_lock(&session->lock);
	list_del(&coming->entry);
	if (!IS_ERR(lane))
		lane->kind = coming->kind;
	spin_unlock(&session->lock);
	/*
	 * Wake calls of the same kind, which waited for this lane and may connect one
	 * themselves now.
	 */
	if (IS_ERR(lane))
		wake_up_all(&session->wait);
}

/*
 * Sets the session's limit to the lanes that there are, if the host allows no more (-EMFILE).
 * Return: true if the limit was set, and the call is to wait for a lane.
 */
static bool lane_limit(struct vgpu_session *session, int error)
{
	bool limited = false;

	if (error != -EMFILE)
		return false;
	spin_lock(&session->lock);
	if (session->nr_lanes > 1) {
		session->lanes_max = session->nr_lanes;
		limited = true;
	}
	spin_unlock(&session->lock);
	return limited;
}

/**
 * vgpu_lane_get - take a lane for one call
 * @session: session of the call
 * @wanted: requirements for the lane
 *
 * Calls of class mm wait only for calls of that class. If no further lane can be connected, for
 * whatever reason, they wait for the existing lanes, because a fault cannot report the reason.
 * They fail all the same if there is no lane for class mm and it cannot be connected: a call
 * that was killed, or had no time left, may have ended that lane.
 *
 * Return: a lane, to be given to vgpu_lane_put() or vgpu_lane_drop(), or an ERR_PTR(): -ENODEV,
 * -EINTR (killed), -ERESTARTSYS, -ETIMEDOUT, ...
 */
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, const struct vgpu_lane_want *wanted)
{
	struct vgpu_lane_want now = *wanted, *want = &now;
	enum lane_connect connect;
	struct lane_coming coming;
	struct vgpu_lane *lane;
	int ret;

	for (;;) {
		lane = lane_try_get(session, want, &coming, &connect);
		if (lane)
			return lane;
		if (connect == LANE_CONNECT_NONE) {
			ret = lane_wait(session, want);
			if (ret)
				return ERR_PTR(ret);
			continue;
		}
		lane = vgpu_lane_connect(session, want->deadline);
		lane_has_come(session, &coming, lane);
		if (connect == LANE_CONNECT_MM)
			lane_set_mm(session, lane);
		if (!IS_ERR(lane))
			return lane;
		if (vgpu_deadline_passed(want->deadline))
			return ERR_PTR(-ETIMEDOUT);
		if (connect == LANE_CONNECT_ANY && lane_limit(session, PTR_ERR(lane)))
			continue;
		ret = lane_error(session, PTR_ERR(lane));
		if (connect == LANE_CONNECT_MM || !want->mm_class || ret == -EINTR)
			return ERR_PTR(ret);
		want->connected = true;
	}
}

/* Returns @lane to the pool after a call. */
void vgpu_lane_put(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	bool ended = false;

	spin_lock(&session->lock);
	lane->kind = 0;
	if (session->mm_lane == lane) {
		session->mm_lane_busy = false;
	} else if (!list_empty(&lane->entry)) {
		list_add(&lane->idle_entry, &session->idle);
		session->nr_idle++;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	if (wq_has_sleeper(&session->wait))
		wake_up_all(&session->wait);
	kref_put(&lane->ref, vgpu_lane_free);
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
	ended = session->mm_lane && vgpu_conn_was_ended(&session->mm_lane->conn);
	spin_unlock(&session->lock);
	if (ended)
		vgpu_lane_lost(session);
}

/**
 * vgpu_lane_drop - end a lane after a call that has failed, or was the lane's last
 * @lane: the lane; its end may be the shadow's
 */
void vgpu_lane_drop(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;
	bool listed, mm_lane, ended = false;

	/* Check first: an unlisted lane for class mm would not be looked at. */
	vgpu_lane_check(session);
	spin_lock(&session->lock);
	mm_lane = session->mm_lane == lane;
	listed = lane_unlist_locked(session, lane);
	if (mm_lane) {
		session->mm_lane_busy = false;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	vgpu_conn_shutdown(&lane->conn);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->wait);
	if (listed)
		kref_put(&lane->ref, vgpu_lane_free);
	kref_put(&lane->ref, vgpu_lane_free);
}

/* Ends all lanes of a dead session, which gets no new ones; the calls on the lanes return. */
void vgpu_lane_end_all(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	for (;;) {
		spin_lock(&session->lock);
		lane = list_first_entry_or_null(&session->lanes, struct vgpu_lane, entry);
		if (lane)
			lane_unlist_locked(session, lane);
		spin_unlock(&session->lock);
		if (!lane)
			return;
		vgpu_conn_shutdown(&lane->conn);
		kref_put(&lane->ref, vgpu_lane_free);
	}
}
