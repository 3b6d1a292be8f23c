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
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/lane_pool.h"
#include "link/session.h"

/* Number of lanes in reserve; an eighth of all lanes if that is less, but at least one. */
#define LANE_RESERVE		8U

enum lane_connect {
	LANE_CONNECT_NONE,
	LANE_CONNECT_ANY,	/* connect another lane */
	LANE_CONNECT_MM,	/* the same, for the lane that is kept for class mm */
};

/**
 * struct lane_coming - a lane that a call has found, or has to connect
 * @lane: lane that was found, or an ERR_PTR(); NULL: the call has to connect one
 * @connect: kind of lane to connect, which session->pool.nr_lanes counts already
 * @entry: entry in session->pool.coming (session->lock) while the lane is being connected
 * @kind: kind of the call that waits for the lane
 */
struct lane_coming {
	struct vgpu_lane *lane;
	enum lane_connect connect;
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

/*
 * Tries to get a lane without waiting. If the caller has to connect one, @coming is listed.
 * Return: false if the caller has to wait.
 */
static bool lane_try_get(struct vgpu_session *session, const struct vgpu_lane_want *want,
			 struct lane_coming *coming)
{
	struct vgpu_lane *lane = NULL;
	bool any;

	coming->connect = LANE_CONNECT_NONE;
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
		coming->connect = LANE_CONNECT_MM;
	} else if (any && !want->connected) {
		session->pool.nr_lanes++;
		coming->connect = LANE_CONNECT_ANY;
	}
	if (coming->connect != LANE_CONNECT_NONE) {
		coming->kind = want->kind;
		list_add(&coming->entry, &session->pool.coming);
	}
	spin_unlock(&session->lock);
	coming->lane = lane;
	return lane || coming->connect != LANE_CONNECT_NONE;
}

/* Waits for a lane. Return: 0, -ERESTARTSYS, -EINTR (killed) or -ETIMEDOUT. */
static int lane_wait(struct vgpu_session *session, const struct vgpu_lane_want *want,
		     struct lane_coming *coming)
{
	long left = vgpu_deadline_left(want->deadline);

	if (want->interruptible)
		left = wait_event_interruptible_timeout(session->pool.wait,
							lane_try_get(session, want, coming), left);
	else
		left = wait_event_killable_timeout(session->pool.wait,
						   lane_try_get(session, want, coming), left);
	if (left > 0)
		return 0;
	if (!left)
		return -ETIMEDOUT;
	return want->interruptible && !fatal_signal_pending(current) ? -ERESTARTSYS : -EINTR;
}

/* Unlists @coming; @lane is the lane that was connected, or an ERR_PTR(). */
static void lane_has_come(struct vgpu_session *session, struct lane_coming *coming,
			  struct vgpu_lane *lane)
{
	bool mm_lane = coming->connect == LANE_CONNECT_MM;

	spin_lock(&session->lock);
	list_del(&coming->entry);
	if (!IS_ERR(lane)) {
		lane->kind = coming->kind;
		if (mm_lane && !list_empty(&lane->entry))
			vgpu_lane_keep_mm_locked(session, lane);
	} else if (mm_lane) {
		session->pool.mm_lane_busy = false;
		vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	/*
	 * Wake calls that waited for this lane: calls of class mm, and calls of the same kind.
	 * After a failure they may connect a lane themselves.
	 */
	if (IS_ERR(lane) || mm_lane)
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
 * @want: requirements for the lane; want->connected is set if none can be connected
 *
 * Calls of class mm wait only for calls of that class. If no further lane can be connected, for
 * whatever reason, they wait for the existing lanes, because a fault cannot report the reason.
 * They fail all the same if there is no lane for class mm and it cannot be connected: a call
 * that was killed, or had no time left, may have ended that lane.
 *
 * Return: a lane, to be given to vgpu_lane_put() or vgpu_lane_drop(), or an ERR_PTR(): -ENODEV,
 * -EINTR (killed), -ERESTARTSYS, -ETIMEDOUT, ...
 */
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, struct vgpu_lane_want *want)
{
	struct lane_coming coming;
	struct vgpu_lane *lane;
	int ret;

	for (;;) {
		ret = lane_wait(session, want, &coming);
		if (ret)
			return ERR_PTR(ret);
		if (coming.lane)
			return coming.lane;
		lane = vgpu_lane_connect(session, want->deadline,
					 want->mm_class && coming.connect == LANE_CONNECT_ANY);
		lane_has_come(session, &coming, lane);
		if (!IS_ERR(lane))
			return lane;
		if (vgpu_deadline_passed(want->deadline))
			return ERR_PTR(-ETIMEDOUT);
		if (coming.connect == LANE_CONNECT_ANY && lane_limit(session, PTR_ERR(lane)))
			continue;
		ret = lane_error(session, PTR_ERR(lane));
		if (coming.connect == LANE_CONNECT_MM || !want->mm_class || ret == -EINTR)
			return ERR_PTR(ret);
		want->connected = true;
	}
}

/* Returns @lane to the pool after a call. */
void vgpu_lane_put(struct vgpu_lane *lane)
{
	struct vgpu_session *session = lane->session;

	spin_lock(&session->lock);
	lane->kind = 0;
	if (session->pool.mm_lane == lane) {
		session->pool.mm_lane_busy = false;
	} else if (!list_empty(&lane->entry)) {
		list_add(&lane->idle_entry, &session->pool.idle);
		session->pool.nr_idle++;
		vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	if (wq_has_sleeper(&session->pool.wait))
		wake_up_all(&session->pool.wait);
	kref_put(&lane->ref, vgpu_lane_free);
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
	struct vgpu_lane_want want = { .mm_class = true };
	struct vgpu_lane *lane = vgpu_lane_get(session, &want);

	if (IS_ERR(lane))
		return PTR_ERR(lane);
	vgpu_lane_put(lane);
	return 0;
}
