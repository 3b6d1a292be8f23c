// SPDX-License-Identifier: GPL-2.0-only
/* All flushes of a host: see flush_all.h. flush.c says what stamps and late flushes are. */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "base/deadline.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/flush_list.h"
#include "memory/space.h"
#include "memory/state.h"

void vgpu_flush_later(struct vgpu_space_set *set, struct vgpu_flush *own)
{
	struct vgpu_flush *flush;

	spin_lock(&set->lock);
	list_for_each_entry(flush, &set->flushes, entry) {
		if (flush == own)
			continue;
		/* An idle flush has its full time from here, however late its work item begins. */
		if (!test_bit(0, &flush->busy) && !delayed_work_pending(&flush->work) &&
		    !READ_ONCE(flush->failed))
			flush->since = jiffies;
		vgpu_flush_run_later(flush, 0);
	}
	spin_unlock(&set->lock);
}

/*
 * Check whether all listed flushes but @own have reached @stamp: each has completed a run with this
 * stamp or a later one. @late: true to include late flushes.
 */
static bool flush_is_done(struct vgpu_space_set *set, struct vgpu_flush *own, u64 stamp, bool late)
{
	struct vgpu_flush *flush;
	bool done = true;

	spin_lock(&set->lock);
	list_for_each_entry(flush, &set->flushes, entry) {
		if (flush != own && READ_ONCE(flush->done) < stamp && (late || !flush->late)) {
			done = false;
			break;
		}
	}
	spin_unlock(&set->lock);
	return done;
}

/* Mark all flushes but @own as late that have not reached @stamp and have made no progress. */
static void flush_give_up(struct vgpu_space_set *set, struct vgpu_flush *own, u64 stamp)
{
	struct vgpu_flush *flush;

	spin_lock(&set->lock);
	list_for_each_entry(flush, &set->flushes, entry)
		if (flush != own && READ_ONCE(flush->done) < stamp)
			vgpu_flush_check_late_locked(flush);
	spin_unlock(&set->lock);
}

/*
 * Wait until all flushes but @own have reached @stamp or are late. Return: 0, -EINTR (killed),
 * -ETIMEDOUT (@deadline has passed).
 */
static int flush_wait(struct vgpu_space_set *set, struct vgpu_flush *own, u64 stamp,
		      unsigned long deadline)
{
	long left;

	for (;;) {
		left = min_t(long, vgpu_deadline_left(deadline), VGPU_FLUSH_LOOK);
		left = wait_event_killable_timeout(set->wait,
						   flush_is_done(set, own, stamp, false), left);
		if (left)
			return left < 0 ? -EINTR : 0;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		flush_give_up(set, own, stamp);
	}
}

/*
 * Run the caller's own flush, without a time limit; with @deadline start its work item and wait
 * until it has reached @stamp. Return: as vgpu_flush_run() or flush_wait().
 */
static int flush_wait_own(struct vgpu_flush *own, u64 stamp, unsigned long deadline)
{
	long left;

	if (!deadline)
		return vgpu_flush_run(own);
	vgpu_flush_run_later(own, 0);
	left = wait_event_killable_timeout(vgpu_flush_spaces(own)->wait,
					   READ_ONCE(own->done) >= stamp,
					   vgpu_deadline_left(deadline));
	return left > 0 ? 0 : left ? -EINTR : -ETIMEDOUT;
}

int vgpu_flush_all(struct vgpu_space_set *set, struct vgpu_session *session,
		   unsigned long deadline)
{
	struct vgpu_flush *own = session ? &session->memory->flush : NULL;
	u64 stamp;
	int ret = 0;

	if (!READ_ONCE(set->nr_flushes))
		return 0;
	stamp = atomic64_inc_return(&set->stamp);
	vgpu_flush_later(set, own);
	if (own && (READ_ONCE(own->listed) || test_bit(0, &own->busy)))
		ret = flush_wait_own(own, stamp, deadline);
	return ret ?: flush_wait(set, own, stamp, deadline);
}

int vgpu_flush_soon(struct vgpu_space_set *set, unsigned long wait, unsigned long most)
{
	unsigned long end = jiffies + most;
	u64 stamp, sent;
	long left;

	if (!READ_ONCE(set->nr_flushes))
		return 0;
	stamp = atomic64_inc_return(&set->stamp);
	vgpu_flush_later(set, NULL);
	do {
		sent = READ_ONCE(set->sent);
		left = clamp((long)(end - jiffies), 0L, (long)wait);
		left = wait_event_timeout(set->wait, flush_is_done(set, NULL, stamp, true) ||
					  READ_ONCE(set->sent) != sent, left);
	} while (left && !flush_is_done(set, NULL, stamp, true));
	return left ? 0 : -ETIMEDOUT;
}
