// SPDX-License-Identifier: GPL-2.0-only
/* List of the flushes of a host, and the work queue: see flush_list.h. */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "link/host.h"
#include "link/session.h"
#include "memory/flush.h"
#include "memory/flush_list.h"
#include "memory/space.h"
#include "memory/state.h"

static struct workqueue_struct *flush_workqueue;

int vgpu_flush_global_init(void)
{
	flush_workqueue = alloc_workqueue("vgpu_flush", WQ_UNBOUND, 0);
	return flush_workqueue ? 0 : -ENOMEM;
}

void vgpu_flush_global_exit(void)
{
	destroy_workqueue(flush_workqueue);
}

struct vgpu_session *vgpu_flush_session(struct vgpu_flush *flush)
{
	return container_of(flush, struct vgpu_session_memory, flush)->session;
}

struct vgpu_space_set *vgpu_flush_spaces(struct vgpu_flush *flush)
{
	return &vgpu_flush_session(flush)->host->memory->spaces;
}

void vgpu_flush_done_locked(struct vgpu_flush *flush, u64 stamp)
{
	lockdep_assert_held(&flush->lock);
	WRITE_ONCE(flush->done, max(flush->done, stamp));
}

void vgpu_flush_list_locked(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = vgpu_flush_spaces(flush);

	lockdep_assert_held(&flush->lock);
	if (flush->listed)
		return;
	flush->listed = true;
	/* Waiters that already have a stamp need no stores that follow: see flush_is_done(). */
	vgpu_flush_done_locked(flush, atomic64_read(&set->stamp));
	vgpu_session_get(vgpu_flush_session(flush));
	spin_lock(&set->lock);
	list_add_tail(&flush->entry, &set->flushes);
	WRITE_ONCE(set->nr_flushes, set->nr_flushes + 1);
	spin_unlock(&set->lock);
}

void vgpu_flush_unlist(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = vgpu_flush_spaces(flush);
	bool idle;

	spin_lock(&flush->lock);
	idle = flush->listed && list_empty(&flush->dirty) && list_empty(&flush->orphans) &&
		list_empty(&flush->unmaps);
	if (idle) {
		flush->listed = false;
		spin_lock(&set->lock);
		list_del_init(&flush->entry);
		WRITE_ONCE(set->nr_flushes, set->nr_flushes - 1);
		spin_unlock(&set->lock);
	}
	spin_unlock(&flush->lock);
	if (idle)
		vgpu_session_put(vgpu_flush_session(flush));
}

void vgpu_flush_goes_on(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = vgpu_flush_spaces(flush);

	spin_lock(&set->lock);
	flush->since = jiffies;
	WRITE_ONCE(flush->late, false);
	set->sent++;
	spin_unlock(&set->lock);
	if (wq_has_sleeper(&set->wait))
		wake_up_all(&set->wait);
}

void vgpu_flush_check_late_locked(struct vgpu_flush *flush)
{
	lockdep_assert_held(&vgpu_flush_spaces(flush)->lock);
	if (time_after_eq(jiffies, flush->since + VGPU_FLUSH_LATE))
		WRITE_ONCE(flush->late, true);
}

void vgpu_flush_run_later(struct vgpu_flush *flush, unsigned long delay)
{
	struct vgpu_session *session = vgpu_session_get(vgpu_flush_session(flush));
	bool queued;

	if (delay)
		queued = queue_delayed_work(flush_workqueue, &flush->work, delay);
	else
		queued = !mod_delayed_work(flush_workqueue, &flush->work, 0);
	if (!queued)
		vgpu_session_put(session);
}

bool vgpu_flush_queue(struct work_struct *work)
{
	return queue_work(flush_workqueue, work);
}

void vgpu_flush_expire(struct vgpu_space_set *set, unsigned long delay)
{
	struct vgpu_host *host = container_of(set, struct vgpu_memory_host, spaces)->host;

	if (delayed_work_pending(&set->expire) &&
	    time_before_eq(READ_ONCE(set->expire.timer.expires), jiffies + delay))
		return;
	spin_lock(&host->lock);
	if (!host->down) {
		vgpu_host_get(host);
		if (mod_delayed_work(flush_workqueue, &set->expire, delay))
			vgpu_host_put(host);
	}
	spin_unlock(&host->lock);
}
