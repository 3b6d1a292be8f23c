// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes of a session. A lane is listed in the session before the host is asked for it, so that
 * the session's end finds the lane in every state.
 */
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"

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
void vgpu_lane_ended(void *data)
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
 *
 * Return: true if the lane has ended already and the caller must call
 * vgpu_session_check_later(), because vgpu_lane_ended() may have run before the lane was kept.
 */
bool vgpu_lane_keep_mm_locked(struct vgpu_session *session, struct vgpu_lane *lane)
{
	lockdep_assert_held(&session->lock);
	WRITE_ONCE(session->pool.mm_lane, lane);
	/* Pairs with the barrier in conn_changed(), which comes before vgpu_lane_ended(). */
	smp_mb();
	return vgpu_conn_was_ended(&lane->conn);
}

/* Keeps an idle lane for class mm if no lane is. Return: as vgpu_lane_keep_mm_locked(). */
bool vgpu_lane_keep_idle_locked(struct vgpu_session *session)
{
	struct vgpu_lane *lane;

	lockdep_assert_held(&session->lock);
	lane = list_first_entry_or_null(&session->pool.idle, struct vgpu_lane, idle_entry);
	if (!lane || session->pool.mm_lane || session->pool.mm_lane_busy)
		return false;
	list_del_init(&lane->idle_entry);
	session->pool.nr_idle--;
	return vgpu_lane_keep_mm_locked(session, lane);
}

/* Kills a session whose shadow has ended without being asked to. */
void vgpu_lane_lost(struct vgpu_session *session)
{
	/* Log the reason: the program only finds that its files are dead. */
	if (!READ_ONCE(session->dead))
		pr_info_ratelimited("%s (pid %u): host %s has ended the session of this process\n",
				    session->comm, session->tgid, session->host->name);
	vgpu_session_kill(session);
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
	mm_lane = session->pool.mm_lane == lane;
	listed = lane_unlist_locked(session, lane);
	if (mm_lane) {
		session->pool.mm_lane_busy = false;
		ended = vgpu_lane_keep_idle_locked(session);
	}
	spin_unlock(&session->lock);
	vgpu_conn_shutdown(&lane->conn);
	if (ended)
		vgpu_session_check_later(session);
	wake_up_all(&session->pool.wait);
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
		lane = list_first_entry_or_null(&session->pool.lanes, struct vgpu_lane, entry);
		if (lane)
			lane_unlist_locked(session, lane);
		spin_unlock(&session->lock);
		if (!lane)
			return;
		vgpu_conn_shutdown(&lane->conn);
		kref_put(&lane->ref, vgpu_lane_free);
	}
}
