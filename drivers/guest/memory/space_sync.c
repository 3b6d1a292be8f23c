// SPDX-License-Identifier: GPL-2.0-only
/* Spaces around calls: see space_sync.h. */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/flush_list.h"
#include "memory/space.h"
#include "memory/space_refresh.h"
#include "memory/space_sync.h"
#include "memory/state.h"

static unsigned int expire_ms = 40;
module_param(expire_ms, uint, 0644);
MODULE_PARM_DESC(expire_ms,
		 "milliseconds (up to 1000, default 40) after which cached pages of mappings are sent or dropped if no call does so; the time doubles each time, up to eightfold; 0: never");

/* Maximum number of times that the delay of vgpu_space_expire() doubles while there is no call. */
#define SPACE_EXPIRE_DOUBLE	3U

/* Return: an active space whose last drop is older than @drops, with a reference; or NULL. */
static struct vgpu_space *space_next(struct vgpu_space_set *set, s64 drops)
{
	struct vgpu_space *space;

	list_for_each_entry(space, &set->active, active) {
		if (space->dropped < drops && kref_get_unless_zero(&space->ref))
			return space;
	}
	return NULL;
}

static void space_drop(struct vgpu_space_set *set, struct vgpu_session *own)
{
	s64 drops = atomic64_inc_return(&set->drops);
	struct vgpu_space *space;

	/* atomic64_inc_return() pairs with the barrier in space_insert(): see space_fetch.c. */
	if (!atomic_read(&set->nr_cached))
		return;
	/* A dirty page hides what the device changed in it: send it, so that it can be dropped. */
	vgpu_flush_all(set, own, 0);

	mutex_lock(&set->drop_lock);
	spin_lock(&set->lock);
	while ((space = space_next(set, drops))) {
		spin_unlock(&set->lock);
		vgpu_space_drop_clean(space);
		/*
		 * Tasks that cache pages hold the lock from before they list the space until the
		 * pages are there: a space that is empty under it can be taken off the list.
		 */
		mutex_lock(&space->lock);
		spin_lock(&set->lock);
		space->dropped = drops;
		if (xa_empty(&space->pages))
			list_del_init(&space->active);
		spin_unlock(&set->lock);
		mutex_unlock(&space->lock);
		vgpu_space_put(space);
		spin_lock(&set->lock);
	}
	spin_unlock(&set->lock);
	mutex_unlock(&set->drop_lock);
	vgpu_space_refresh(set, own, drops);
}

int vgpu_space_await_faults(struct vgpu_host *host)
{
	struct vgpu_space_set *set = &host->memory->spaces;

	if (!atomic_read(&set->starved))
		return 0;
	return wait_event_killable(set->wait, !atomic_read(&set->starved)) ? -EINTR : 0;
}

bool vgpu_space_is_renewed(struct vgpu_host *host)
{
	if (atomic_read(&host->memory->spaces.starved))
		return false;
	atomic64_inc_return(&host->memory->spaces.drops);
	/* atomic64_inc_return() pairs with the barrier in space_insert(): see space_fetch.c. */
	return !atomic_read(&host->memory->spaces.nr_cached);
}

void vgpu_space_drop(struct vgpu_host *host, struct vgpu_session *session)
{
	WRITE_ONCE(host->memory->spaces.expire_doubled, 0);
	space_drop(&host->memory->spaces, session);
}

static void space_expire_later(struct vgpu_space_set *set)
{
	unsigned int ms = min(READ_ONCE(expire_ms), 1000U);

	if (ms)
		vgpu_flush_expire(set, msecs_to_jiffies(ms << READ_ONCE(set->expire_doubled)));
}

void vgpu_space_expire(struct work_struct *work)
{
	struct vgpu_space_set *set = container_of(work, struct vgpu_space_set, expire.work);

	if (atomic_read(&set->nr_cached)) {
		WRITE_ONCE(set->expire_doubled,
			   min(READ_ONCE(set->expire_doubled) + 1, SPACE_EXPIRE_DOUBLE));
		if (!atomic_read(&set->starved))
			space_drop(set, NULL);
		/* Pages that were written to meanwhile stay cached. */
		if (atomic_read(&set->nr_cached))
			space_expire_later(set);
	}
	vgpu_host_put(container_of(set, struct vgpu_memory_host, spaces)->host);
}

void vgpu_space_activate(struct vgpu_space *space)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;

	lockdep_assert_held(&space->lock);
	spin_lock(&set->lock);
	if (list_empty(&space->active)) {
		/* A round of reclaim that is under way skips the space, so that the round ends. */
		space->round = set->rounds;
		list_add_tail(&space->active, &set->active);
	}
	spin_unlock(&set->lock);
	space_expire_later(set);
}

int vgpu_space_flush(struct vgpu_session *session)
{
	int ret = vgpu_space_await_faults(session->host);

	return ret ?: vgpu_flush_all(&session->host->memory->spaces, session, 0);
}

int vgpu_space_settle(struct vgpu_session *session)
{
	struct vgpu_flush *flush = &session->memory->flush;

	if (list_empty_careful(&flush->unmaps) && !test_bit(0, &flush->busy))
		return 0;
	return vgpu_flush_run(flush);
}
