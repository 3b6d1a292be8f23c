// SPDX-License-Identifier: GPL-2.0-only
/* Spaces around calls: see space_sync.h. */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/deadline.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/dirty.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/space_sync.h"
#include "memory/state.h"

static unsigned int expire_ms = 40;
module_param(expire_ms, uint, 0644);
MODULE_PARM_DESC(expire_ms,
		 "milliseconds (up to 1000, default 40) after which cached pages of mappings are sent or dropped if no call does so; the time doubles each time, up to eightfold; 0: never");

/* Maximum number of times that the delay of vgpu_space_expire() doubles while there is no call. */
#define SPACE_EXPIRE_DOUBLE	3U

/* --- pages that stay dirty, as programs write to them all the time ----------- */

/*
 * Take over the host's bytes, @fetched, where the program has not written since the snapshot
 * @orig. Bytes that the program has written stay: a flush compares them with the new snapshot.
 */
static void page_merge(u8 *now, u8 *orig, const u8 *fetched)
{
	unsigned int i;

	for (i = 0; i < PAGE_SIZE; i++) {
		if (now[i] == orig[i])
			now[i] = fetched[i];
		orig[i] = fetched[i];
	}
}

/* Check whether a dirty page has bytes from before the drop @drops that are to be fetched again. */
static bool page_is_old(const struct vgpu_page *page, s64 drops)
{
	/*
	 * The kernel may write to a pinned page at any time, so its bytes cannot be merged. A
	 * page that is sent whole has no bytes of the host.
	 */
	return page->fresh < drops && !page->whole && !vgpu_page_is_pinned(page);
}

/*
 * Merge @fetched into a dirty page: the bytes that the host had when set->drops was @fresh,
 * including all that flights have taken from the page before.
 */
static void space_merge(struct vgpu_mapping *mapping, pgoff_t index, const u8 *fetched, s64 fresh)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_page *page;

	mutex_lock(&space->lock);
	page = xa_load(&space->pages, index);
	if (page && page->owner == mapping && !page->whole && page->fresh < fresh &&
	    vgpu_mapping_covered(mapping, index)) {
		/* Stores and new pins have to fault after this, and wait for space->lock. */
		vgpu_space_unmap(space, index, 1);
		if (!vgpu_page_is_pinned(page)) {
			page_merge(page_address(page->page), page->orig, fetched);
			page->fresh = fresh;
		}
	}
	mutex_unlock(&space->lock);
}

/*
 * Fetch the host's bytes of a dirty page through the mapping that owns it, and merge them. For a
 * session other than @own, the caller's, the fetch is bounded by VGPU_FLUSH_LATE.
 */
static void space_refresh_page(struct vgpu_mapping *mapping, pgoff_t index,
			       struct vgpu_session *own)
{
	struct vgpu_space_set *set = &mapping->space->host->memory->spaces;
	struct vgpu_flush *flush = &mapping->session->memory->flush;
	unsigned long deadline = 0;
	void *buf;
	s64 fresh, ret;

	if (mapping->session != own) {
		if (READ_ONCE(flush->late))
			return;
		deadline = vgpu_deadline_in(VGPU_FLUSH_LATE);
	}
	buf = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return;
	ret = vgpu_flush_await_landed(mapping->space, index, flush,
				      vgpu_deadline_in(VGPU_FLUSH_LATE));
	/*
	 * The next pages of a flight without progress are not waited for. The flight may be another
	 * session's, and a new one that has the page by now.
	 */
	if (ret == -ETIMEDOUT)
		vgpu_flush_check_late(mapping->space, index);
	if (ret)
		goto out_free;
	ret = vgpu_flush_claim(flush, deadline);
	if (ret)
		goto out_late;
	/*
	 * A flight that still has the page is an orphan of this flush, which is sent after the
	 * flush is released, or a late flight of another one. The host's bytes are old then.
	 */
	if (!xa_load(&mapping->space->flying, index)) {
		fresh = atomic64_read(&set->drops);
		ret = vgpu_pages_read(mapping->session, &mapping->export->stats,
				      vgpu_mapping_addr(mapping, index), buf, PAGE_SIZE, deadline);
		if (ret == PAGE_SIZE)
			space_merge(mapping, index, buf, fresh);
	}
	vgpu_flush_release(flush);
out_late:
	/* The next pages of a session that does not answer are not waited for. */
	if (ret == -ETIMEDOUT) {
		spin_lock(&set->lock);
		WRITE_ONCE(flush->late, true);
		spin_unlock(&set->lock);
	}
out_free:
	kfree(buf);
}

/*
 * Find the first dirty page from *@index on that is old. Return: its mapping, with a reference, or
 * NULL.
 */
static struct vgpu_mapping *space_next_old(struct vgpu_space *space, unsigned long *index,
					   s64 drops)
{
	struct vgpu_mapping *mapping = NULL;
	struct vgpu_page *page;

	mutex_lock(&space->lock);
	page = xa_find(&space->pages, index, ULONG_MAX, SPACE_DIRTY);
	while (page && !page_is_old(page, drops))
		page = xa_find_after(&space->pages, index, ULONG_MAX, SPACE_DIRTY);
	if (page)
		mapping = vgpu_mapping_get(page->owner);
	mutex_unlock(&space->lock);
	return mapping;
}

/*
 * Find the active space with the next higher id than *@id, or, with @first, the one with the lowest
 * id, and store its id in *@id. A space without references is skipped, as it has no dirty pages.
 * Return: the space, with a reference, or NULL.
 */
static struct vgpu_space *space_by_id(struct vgpu_space_set *set, bool first, u64 *id)
{
	struct vgpu_space *space, *found;

	spin_lock(&set->lock);
	do {
		found = NULL;
		list_for_each_entry(space, &set->active, active)
			if ((first || space->id > *id) && (!found || space->id < found->id))
				found = space;
		if (found)
			*id = found->id;
		first = false;
	} while (found && !kref_get_unless_zero(&found->ref));
	spin_unlock(&set->lock);
	return found;
}

/*
 * Fetch again the pages that stayed dirty, except for the bytes that programs wrote. Two kinds of
 * pages are left as they are: those that were fetched since set->drops was @drops, and those of
 * sessions other than @own whose shadows do not answer for VGPU_FLUSH_LATE. Waits killably.
 */
static void space_refresh(struct vgpu_space_set *set, struct vgpu_session *own, s64 drops)
{
	struct vgpu_mapping *mapping;
	struct vgpu_space *space;
	unsigned long index;
	bool first = true;
	u64 id;

	for (; atomic_read(&set->nr_dirty) && (space = space_by_id(set, first, &id));
	     first = false) {
		for (index = 0; !fatal_signal_pending(current) &&
		     (mapping = space_next_old(space, &index, drops)); index++) {
			space_refresh_page(mapping, index, own);
			vgpu_mapping_put(mapping);
		}
		vgpu_space_put(space);
	}
}

/* --- drops ------------------------------------------------------------------ */

/*
 * Return: an active space whose last drop is older than @drops, with a reference; or NULL. The
 * caller holds set->lock.
 */
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
		vgpu_space_drop_range(space, 0, ULONG_MAX, false);
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
	space_refresh(set, own, drops);
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

/* --- clear -------------------------------------------------------------------- */

static void space_hold(struct vgpu_space *space)
{
	mutex_lock(&space->lock);
	WRITE_ONCE(space->holds, space->holds + 1);
	WRITE_ONCE(space->held, jiffies + SPACE_HOLD_TIME);
	mutex_unlock(&space->lock);
}

static void space_let_go(struct vgpu_space *space)
{
	mutex_lock(&space->lock);
	WRITE_ONCE(space->holds, space->holds - 1);
	mutex_unlock(&space->lock);
	wake_up_all(&space->host->memory->spaces.wait);
}

/*
 * Check whether the host has all bytes of a dirty page. A flush leaves a page dirty while a
 * reference of it is held (flush_keeps() of flight.c). Unmaps the page, so that later stores fault.
 */
static bool space_page_is_sent(struct vgpu_space *space, struct vgpu_page *page)
{
	lockdep_assert_held(&space->lock);
	if (!vgpu_page_is_dirty(page) || page->whole || vgpu_page_is_pinned(page))
		return false;
	vgpu_space_unmap(space, page->index, 1);
	return !vgpu_page_is_pinned(page) &&
		!memcmp(page->orig, page_address(page->page), PAGE_SIZE);
}

/* Make pages clean whose bytes the host has: see space_page_is_sent(). */
static void space_clean_sent(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_mapping *owner;
	struct vgpu_page *page;
	unsigned long index;

	for (index = pgoff; ; index++) {
		owner = NULL;
		mutex_lock(&space->lock);
		page = xa_find(&space->pages, &index, pgoff + nr - 1, XA_PRESENT);
		if (page && space_page_is_sent(space, page))
			owner = vgpu_flush_clean(space, page);
		mutex_unlock(&space->lock);
		if (!page)
			return;
		if (owner)
			vgpu_mapping_put(owner);
	}
}

int vgpu_space_clear(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr, unsigned long wait)
{
	int ret;

	/*
	 * Hold up writers: a page that became dirty again would stay cached with its old bytes,
	 * and a program that writes all the time would make each attempt fail.
	 */
	space_hold(space);
	ret = vgpu_flush_soon(&space->host->memory->spaces, wait, wait);
	if (!ret)
		space_clean_sent(space, pgoff, nr);
	if (!ret && vgpu_space_renew(space, pgoff, nr))
		ret = -EAGAIN;
	space_let_go(space);
	return ret;
}
