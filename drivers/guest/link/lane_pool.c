// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pool of lanes of a session, from which each call takes one.
 *
 * A call that waits for the device keeps its lane, and there may be as many such calls as
 * lanes. The call that ends their wait must get a lane, too. Waiting calls are of few kinds,
 * and the call that ends their wait is of another kind. So the last lanes (LANE_RESERVE) are
 * given only to calls that do not wait (kind 0), and to a call of whose kind no other call has a
 * lane. Calls of class mm get none of the last lanes: they have a lane of their own.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/lane_pool.h"
#include "link/session.h"

/* Number of lanes in reserve; an eighth of all lanes if that is less, but at least one. */
#define LANE_RESERVE		8U

/**
 * struct lane_coming - a lane that is being connected and counted in session->pool.nr_lanes
 * @entry: entry in session->pool.coming (session->lock)
 * @kind: kind of the call that waits for the lane
 */
struct lane_coming {
	struct list_head entry;
	u64 kind;
};

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
		pr_warn_ratelimited("%s (pid %u): cannot open a lane (connection) to host %s (error %d)\n",
				    session->comm, session->tgid, session->host->name, error);
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
	session->pool.nr_lanes++;
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
	const struct vgpu_lane_pool *pool = &session->pool;
	unsigned int used = pool->nr_lanes + (!pool->mm_lane && !pool->mm_lane_busy);

	lockdep_assert_held(&session->lock);
	return used < pool->lanes_max ? pool->lanes_max - used : 0;
}

static bool lane_has_kind_locked(const struct vgpu_session *session, u64 kind)
{
	const struct lane_coming *coming;
	const struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	list_for_each_entry(lane, &session->pool.lanes, entry) {
		if (lane->kind == kind)
			return true;
	}
	list_for_each_entry(coming, &session->pool.coming, entry) {
		if (coming->kind == kind)
			return true;
	}
	return false;
}

/* Returns true if a lane other than the one for class mm may be used or connected for this call. */
static bool lane_is_for_locked(const struct vgpu_session *session,
			       const struct vgpu_lane_want *want)
{
	unsigned int spare = session->pool.nr_idle + lane_room_locked(session);

	if (spare > clamp(session->pool.lanes_max / 8, 1U, LANE_RESERVE))
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
		lane = list_first_entry_or_null(&session->pool.idle, struct vgpu_lane, idle_entry);
	if (session->dead) {
		lane = ERR_PTR(-ENODEV);
	} else if (lane) {
		list_del_init(&lane->idle_entry);
		session->pool.nr_idle--;
		lane->kind = want->kind;
		kref_get(&lane->ref);
	} else if (want->mm_class && session->pool.mm_lane && !session->pool.mm_lane_busy) {
		lane = session->pool.mm_lane;
		session->pool.mm_lane_busy = true;
		kref_get(&lane->ref);
	} else if (want->mm_class && !session->pool.mm_lane && !session->pool.mm_lane_busy) {
		/* A call that was killed or late has ended the lane: connect another. */
		session->pool.mm_lane_busy = true;
		session->pool.nr_lanes++;
		*connect = LANE_CONNECT_MM;
	} else if (any && !want->connected) {
		session->pool.nr_lanes++;
		*connect = LANE_CONNECT_ANY;
	}
	if (*connect != LANE_CONNECT_NONE) {
		coming->kind = want->kind;
		list_add(&coming->entry, &session->pool.coming);
	}
	spin_unlock(&session->lock);
	return lane;
}

/* Returns true if lane_try_get() would find a lane, a lane to connect or a dead session. */
static bool lane_may_get(struct vgpu_session *session, const struct vgpu_lane_want *want)
{
	bool may;

	spin_lock(&session->lock);
	may = session->dead || (want->mm_class && !session->pool.mm_lane_busy) ||
		((session->pool.nr_idle || !want->connected) && lane_is_for_locked(session, want));
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
		left = wait_event_interruptible_timeout(session->pool.wait,
							lane_may_get(session, want), left);
	else
		left = wait_event_killable_timeout(session->pool.wait, lane_may_get(session, want),
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
		session->pool.mm_lane_busy = false;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->pool.wait);
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
		wake_up_all(&session->pool.wait);
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
	if (session->pool.nr_lanes > 1) {
		session->pool.lanes_max = session->pool.nr_lanes;
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
	if (session->pool.mm_lane == lane) {
		session->pool.mm_lane_busy = false;
	} else if (!list_empty(&lane->entry)) {
		list_add(&lane->idle_entry, &session->pool.idle);
		session->pool.nr_idle++;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (ended)
		vgpu_session_check_later(session);
	if (wq_has_sleeper(&session->pool.wait))
		wake_up_all(&session->pool.wait);
	kref_put(&lane->ref, vgpu_lane_free);
}
