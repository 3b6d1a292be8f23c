// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flush: see flush.h.
 *
 * Each session has a flush of its own, which one thread at a time runs (flush->busy). The
 * thread takes dirty pages off their space: PTEs are zapped first, so that a later store
 * faults and makes the page dirty anew; then the bytes that differ from the snapshot are
 * copied into a *flight*, which goes out as one WRITE_PAGES call. Whole pages go only where all of
 * their bytes are known to be the programs' (page->whole): else the others may be the device's,
 * or another process's, by now.
 *
 * A flight whose bytes the host did not take, since the thread was killed or no lane could be
 * had, or the lane was lost, is left as an orphan, which the next run sends again. Should the host
 * have applied them after all, they may then replace what the device has written since.
 *
 * set->stamp orders stores and runs. A page has the stamp of its first store, a run takes the
 * pages that are older than itself, and flush->done is the stamp of the last run that is
 * through. Who needs to have all bytes at the host that were written until now takes a new
 * stamp and waits until each flush has done a run that is as young.
 *
 * Two sessions may have stored to one page, one after the other. Their shadows take bytes in
 * any order, so a page goes by one flight at a time (space->flying), and is not fetched before
 * that has landed. Only a flight that is late (see below) is not waited for: where both have
 * stored to the same bytes, its own may then come last.
 *
 * A call of one process may be about memory that another one wrote to, so it waits for all
 * flushes of the host; but for those of others only as long as they go on. A shadow that has
 * taken nothing for VGPU_FLUSH_LATE is one that its driver holds: it stops its own process only.
 */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "deadline.h"
#include "export.h"
#include "flight.h"
#include "flush.h"
#include "host.h"
#include "mapping.h"
#include "pages.h"
#include "session.h"
#include "space.h"
#include "wire.h"

/* When a run that found no lane or no memory is tried again. */
#define FLUSH_AGAIN	(HZ / 10)

/*
 * How often a waiter looks whether others are late, jiffies. A run may begin after its waiter, and
 * is not late yet when the waiter has waited for VGPU_FLUSH_LATE; a fault has little more time.
 */
#define FLUSH_LOOK	(VGPU_FLUSH_LATE / 8)

/* A range that ends at the host once its dirty bytes are there. */
struct flush_unmap {
	struct list_head node;
	struct vgpu_mapping *mapping;
	u64 addr;
	u64 len;
};

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

static struct vgpu_session *flush_session(struct vgpu_flush *flush)
{
	return container_of(flush, struct vgpu_session, flush);
}

static struct vgpu_space_set *flush_set(struct vgpu_flush *flush)
{
	return &flush_session(flush)->host->spaces;
}

/* --- which have something to send ------------------------------------------- */

static void flush_done_locked(struct vgpu_flush *flush, u64 stamp)
{
	lockdep_assert_held(&flush->lock);
	WRITE_ONCE(flush->done, max(flush->done, stamp));
}

/* There is something in one of its lists now. */
static void flush_list_locked(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = flush_set(flush);

	lockdep_assert_held(&flush->lock);
	if (flush->listed)
		return;
	flush->listed = true;
	/* Who has a stamp already waits for no store that comes now: see flush_is_done(). */
	flush_done_locked(flush, atomic64_read(&set->stamp));
	vgpu_session_get(flush_session(flush));
	spin_lock(&set->lock);
	list_add_tail(&flush->entry, &set->flushes);
	WRITE_ONCE(set->nr_flushes, set->nr_flushes + 1);
	spin_unlock(&set->lock);
}

/* Its lists may have become empty. The caller holds a reference of the session. */
static void flush_unlist(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = flush_set(flush);
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
		vgpu_session_put(flush_session(flush));
}

/* A run has begun, or its shadow has taken bytes: who waits may wait on. */
static void flush_goes_on(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = flush_set(flush);

	spin_lock(&set->lock);
	flush->since = jiffies;
	WRITE_ONCE(flush->late, false);
	set->sent++;
	spin_unlock(&set->lock);
	if (wq_has_sleeper(&set->wait))
		wake_up_all(&set->wait);
}

/* --- dirty pages ------------------------------------------------------------ */

void vgpu_flush_unmap(struct vgpu_space *space, pgoff_t first, pgoff_t nr)
{
	struct vgpu_page *page;
	unsigned long index;

	lockdep_assert_held(&space->lock);
	/* One that a fault has made dirty is mapped for writing when that is through. */
	xa_for_each_range(&space->pages, index, page, first, first + nr - 1) {
		lock_page(page->page);
		unlock_page(page->page);
	}
	unmap_mapping_pages(space->inode->i_mapping, first, nr, false);
}

void vgpu_flush_add(struct vgpu_space *space, struct vgpu_page *page,
		    struct vgpu_mapping *mapping)
{
	struct vgpu_space_set *set = &space->host->spaces;
	struct vgpu_flush *flush = &mapping->session->flush;

	lockdep_assert_held(&space->lock);
	page->owner = vgpu_mapping_get(mapping);
	page->stamp = atomic64_read(&set->stamp);
	xa_set_mark(&space->pages, page->index, SPACE_DIRTY);
	atomic_inc(&set->nr_dirty);
	spin_lock(&flush->lock);
	list_add_tail(&page->node, &flush->dirty);
	flush_list_locked(flush);
	spin_unlock(&flush->lock);
}

struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page)
{
	struct vgpu_mapping *owner = page->owner;
	struct vgpu_flush *flush = &owner->session->flush;

	lockdep_assert_held(&space->lock);
	spin_lock(&flush->lock);
	list_del(&page->node);
	spin_unlock(&flush->lock);
	page->owner = NULL;
	kfree(page->orig);
	page->orig = NULL;
	page->whole = false;
	page->sent = true;
	xa_clear_mark(&space->pages, page->index, SPACE_DIRTY);
	atomic_dec(&space->host->spaces.nr_dirty);
	return owner;
}

/* --- runs ------------------------------------------------------------------- */

static struct vgpu_flight *flush_next(struct vgpu_flush *flush, u64 stamp)
{
	struct vgpu_flight *flight;

	spin_lock(&flush->lock);
	flight = list_first_entry_or_null(&flush->orphans, struct vgpu_flight, node);
	if (flight)
		list_del(&flight->node);
	spin_unlock(&flush->lock);
	return flight ?: vgpu_flight_load(flush, stamp);
}

/* Nobody can have its bytes any more. */
static bool flush_is_dead(struct vgpu_flush *flush)
{
	struct vgpu_session *session = flush_session(flush);

	return READ_ONCE(session->dead) || vgpu_host_is_down(session->host);
}

/*
 * Takes over the flight. Return: 0: the host has its bytes, its driver refused some, or nobody
 * can have them any more; -errno: it became an orphan.
 */
static int flight_send(struct vgpu_flush *flush, struct vgpu_flight *flight)
{
	struct vgpu_stats *stats = NULL;
	s64 ret = 0;

	/* Of one process, and so nearly always of one device. */
	if (flight->nr_owners)
		stats = &flight->owners[0].mapping->export->stats;
	if (flight->diff.nr)
		ret = vgpu_pages_write(flight->session, stats, &flight->diff, 0);
	if (!ret || ret == -EFAULT || (ret == -ENODEV && flush_is_dead(flush))) {
		vgpu_flight_free(flight);
		return 0;
	}
	spin_lock(&flush->lock);
	list_add_tail(&flight->node, &flush->orphans);
	flush_list_locked(flush);
	spin_unlock(&flush->lock);
	return ret;
}

static void flush_unmap_free(struct flush_unmap *unmap)
{
	vgpu_mapping_put(unmap->mapping);
	kfree(unmap);
}

/* Return: 0, or why nothing was claimed: -EINTR (killed), -ETIMEDOUT. */
int vgpu_flush_claim(struct vgpu_flush *flush, unsigned long deadline)
{
	long left;

	left = wait_event_killable_timeout(flush_set(flush)->wait,
					   !test_and_set_bit_lock(0, &flush->busy),
					   vgpu_deadline_left(deadline));
	return left > 0 ? 0 : left ? -EINTR : -ETIMEDOUT;
}

void vgpu_flush_release(struct vgpu_flush *flush)
{
	clear_bit_unlock(0, &flush->busy);
	/* Pairs with the barrier of the waiters' prepare_to_wait(). */
	smp_mb__after_atomic();
	wake_up_all(&flush_set(flush)->wait);
}

bool vgpu_flush_is_flying(struct vgpu_space *space, pgoff_t index, const struct vgpu_flush *own)
{
	struct vgpu_flush *flush;
	bool flying;

	/* Its session stays while it is found there. */
	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	flying = flush && (flush == own || !READ_ONCE(flush->late));
	xa_unlock(&space->flying);
	return flying;
}

/* It is late if it has not gone on for as long. */
static void flush_check_late_locked(struct vgpu_flush *flush)
{
	lockdep_assert_held(&flush_set(flush)->lock);
	if (time_after_eq(jiffies, flush->since + VGPU_FLUSH_LATE))
		WRITE_ONCE(flush->late, true);
}

/* Somebody has waited for the flight that has the page at @index. */
static void flush_check_late(struct vgpu_space *space, pgoff_t index)
{
	struct vgpu_space_set *set = &space->host->spaces;
	struct vgpu_flush *flush;

	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	if (flush) {
		spin_lock(&set->lock);
		flush_check_late_locked(flush);
		spin_unlock(&set->lock);
	}
	xa_unlock(&space->flying);
}

int vgpu_flush_await_landed(struct vgpu_space *space, pgoff_t index,
			    const struct vgpu_flush *own, unsigned long deadline)
{
	long left;

	for (;;) {
		left = min_t(long, vgpu_deadline_left(deadline), FLUSH_LOOK);
		left = wait_event_killable_timeout(space->host->spaces.wait,
						   !vgpu_flush_is_flying(space, index, own), left);
		if (left)
			return left < 0 ? -EINTR : 0;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		flush_check_late(space, index);
	}
}

/* The oldest dirty page can be taken. @late: see whether the flight that has it is late. */
static bool flush_may_go(struct vgpu_flush *flush, bool late)
{
	struct vgpu_page *page;
	bool may = true;

	spin_lock(&flush->lock);
	page = list_first_entry_or_null(&flush->dirty, struct vgpu_page, node);
	if (page && late)
		flush_check_late(page->owner->space, page->index);
	if (page)
		may = !vgpu_flush_is_flying(page->owner->space, page->index, NULL);
	spin_unlock(&flush->lock);
	return may;
}

/*
 * Wait until the flight of another session, which has bytes of the same page, has landed or is
 * late. No run waits while a flight of its own is under way, so none waits for itself. Return:
 * 0 or -EINTR.
 */
static int flush_wait_landed(struct vgpu_flush *flush)
{
	long left;

	left = wait_event_killable_timeout(flush_set(flush)->wait, flush_may_go(flush, false),
					   VGPU_FLUSH_LATE);
	if (left < 0)
		return -EINTR;
	if (!left)
		flush_may_go(flush, true);
	return 0;
}

static int flush_send_all(struct vgpu_flush *flush, u64 stamp)
{
	struct vgpu_flight *flight;
	bool lost = false;
	int ret;

	for (;;) {
		flight = flush_next(flush, stamp);
		if (flight == ERR_PTR(-EINPROGRESS)) {
			ret = flush_wait_landed(flush);
			if (ret)
				return ret;
			continue;
		}
		if (IS_ERR_OR_NULL(flight))
			return PTR_ERR_OR_ZERO(flight);
		ret = flight_send(flush, flight);
		/* The host may have ended one lane alone, and another takes the flight. */
		if (ret == -EAGAIN || (ret == -ENODEV && !lost)) {
			lost |= ret == -ENODEV;
			schedule_timeout_killable(1);
			continue;
		}
		if (ret)
			return ret;
		lost = false;
		flush_goes_on(flush);
	}
}

static void flush_later(struct vgpu_flush *flush, unsigned long delay)
{
	struct vgpu_session *session = vgpu_session_get(flush_session(flush));
	bool queued;

	if (delay)
		queued = queue_delayed_work(flush_workqueue, &flush->work, delay);
	else
		queued = !mod_delayed_work(flush_workqueue, &flush->work, 0);
	if (!queued)
		vgpu_session_put(session);
}

static int flush_run(struct vgpu_flush *flush)
{
	struct vgpu_host *host = flush_session(flush)->host;
	struct flush_unmap *unmap, *tmp;
	LIST_HEAD(unmaps);
	u64 stamp;
	int ret;

	ret = vgpu_flush_claim(flush, 0);
	if (ret)
		return ret;
	/*
	 * Their bytes are dirty, or an orphan's, since before they were queued, and so
	 * before this run began.
	 */
	spin_lock(&flush->lock);
	list_splice_init(&flush->unmaps, &unmaps);
	spin_unlock(&flush->lock);
	stamp = atomic64_inc_return(&flush_set(flush)->stamp);
	/* One that tries in vain again and again does not go on. */
	if (!flush->failed)
		flush_goes_on(flush);
	ret = flush_send_all(flush, stamp);
	WRITE_ONCE(flush->failed, ret && ret != -EINTR);
	if (ret) {
		spin_lock(&flush->lock);
		list_splice(&unmaps, &flush->unmaps);
		flush_list_locked(flush);
		spin_unlock(&flush->lock);
		/*
		 * No timer may run on when the host is gone, as this module may be soon.
		 * vgpu_host_abort() says so under this lock, and what was queued before is then
		 * begun at once (flush_purge()).
		 */
		spin_lock(&host->lock);
		flush_later(flush, ret == -EINTR || vgpu_host_is_down(host) ? 0 : FLUSH_AGAIN);
		spin_unlock(&host->lock);
	} else {
		list_for_each_entry_safe(unmap, tmp, &unmaps, node) {
			vgpu_mapping_end(unmap->mapping, unmap->addr, unmap->len);
			flush_unmap_free(unmap);
		}
		spin_lock(&flush->lock);
		flush_done_locked(flush, stamp);
		spin_unlock(&flush->lock);
		flush_unlist(flush);
	}
	vgpu_flush_release(flush);
	return ret;
}

static void flush_run_work(struct work_struct *work)
{
	struct vgpu_flush *flush = container_of(to_delayed_work(work), struct vgpu_flush, work);

	flush_run(flush);
	vgpu_session_put(flush_session(flush));
}

void vgpu_flush_init(struct vgpu_flush *flush)
{
	INIT_LIST_HEAD(&flush->entry);
	spin_lock_init(&flush->lock);
	INIT_LIST_HEAD(&flush->dirty);
	INIT_LIST_HEAD(&flush->orphans);
	INIT_LIST_HEAD(&flush->unmaps);
	INIT_DELAYED_WORK(&flush->work, flush_run_work);
}

/* --- all of a host's -------------------------------------------------------- */

/* All but @own run now, each by a work item. */
static void flush_kick(struct vgpu_space_set *set, struct vgpu_flush *own)
{
	struct vgpu_flush *flush;

	spin_lock(&set->lock);
	list_for_each_entry(flush, &set->flushes, entry) {
		if (flush == own)
			continue;
		/* It has its time from here on, whenever the work item begins. */
		if (!test_bit(0, &flush->busy) && !delayed_work_pending(&flush->work) &&
		    !READ_ONCE(flush->failed))
			flush->since = jiffies;
		flush_later(flush, 0);
	}
	spin_unlock(&set->lock);
}

/* @late: of those that are late, too. */
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

/* Those that do not go on are late. */
static void flush_give_up(struct vgpu_space_set *set, struct vgpu_flush *own, u64 stamp)
{
	struct vgpu_flush *flush;

	spin_lock(&set->lock);
	list_for_each_entry(flush, &set->flushes, entry)
		if (flush != own && READ_ONCE(flush->done) < stamp)
			flush_check_late_locked(flush);
	spin_unlock(&set->lock);
}

void vgpu_flush_set_late(struct vgpu_flush *flush)
{
	struct vgpu_space_set *set = flush_set(flush);

	spin_lock(&set->lock);
	WRITE_ONCE(flush->late, true);
	spin_unlock(&set->lock);
}

/* Return: 0, -EINTR (killed), -ETIMEDOUT (@deadline). */
static int flush_wait(struct vgpu_space_set *set, struct vgpu_flush *own, u64 stamp,
		      unsigned long deadline)
{
	long left;

	for (;;) {
		left = min_t(long, vgpu_deadline_left(deadline), FLUSH_LOOK);
		left = wait_event_killable_timeout(set->wait,
						   flush_is_done(set, own, stamp, false), left);
		if (left)
			return left < 0 ? -EINTR : 0;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		flush_give_up(set, own, stamp);
	}
}

/* The same for one flush, however long it takes without @deadline. */
static int flush_wait_own(struct vgpu_flush *own, u64 stamp, unsigned long deadline)
{
	long left;

	if (!deadline)
		return flush_run(own);
	flush_later(own, 0);
	left = wait_event_killable_timeout(flush_set(own)->wait, READ_ONCE(own->done) >= stamp,
					   vgpu_deadline_left(deadline));
	return left > 0 ? 0 : left ? -EINTR : -ETIMEDOUT;
}

int vgpu_flush_all(struct vgpu_space_set *set, struct vgpu_session *session,
		   unsigned long deadline)
{
	struct vgpu_flush *own = session ? &session->flush : NULL;
	u64 stamp;
	int ret = 0;

	if (!READ_ONCE(set->nr_flushes))
		return 0;
	stamp = atomic64_inc_return(&set->stamp);
	flush_kick(set, own);
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
	flush_kick(set, NULL);
	do {
		sent = READ_ONCE(set->sent);
		left = clamp((long)(end - jiffies), 0L, (long)wait);
		left = wait_event_timeout(set->wait, flush_is_done(set, NULL, stamp, true) ||
					  READ_ONCE(set->sent) != sent, left);
	} while (left && !flush_is_done(set, NULL, stamp, true));
	return left ? 0 : -ETIMEDOUT;
}

void vgpu_flush_later(struct vgpu_space_set *set)
{
	flush_kick(set, NULL);
}

void vgpu_flush_start(struct vgpu_flush *flush)
{
	flush_later(flush, 0);
}

bool vgpu_flush_queue(struct work_struct *work)
{
	return queue_work(flush_workqueue, work);
}

void vgpu_flush_expire(struct vgpu_space_set *set, unsigned long delay)
{
	struct vgpu_host *host = container_of(set, struct vgpu_host, spaces);

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

int vgpu_space_flush(struct vgpu_session *session)
{
	int ret = vgpu_space_await_faults(session->host);

	return ret ?: vgpu_flush_all(&session->host->spaces, session, 0);
}

int vgpu_space_settle(struct vgpu_session *session)
{
	struct vgpu_flush *flush = &session->flush;

	if (list_empty_careful(&flush->unmaps) && !test_bit(0, &flush->busy))
		return 0;
	return flush_run(flush);
}

/* --- unmaps ----------------------------------------------------------------- */

/*
 * A run is busy before it takes an orphan and until its bytes are at the host, and
 * leaves one before it is not busy any more: looked at in this order, it is found.
 */
static bool flush_is_idle(struct vgpu_flush *flush)
{
	if (test_bit(0, &flush->busy))
		return false;
	/* Pairs with flush->lock and flush->busy of flush_run(). */
	smp_rmb();
	if (!list_empty_careful(&flush->orphans))
		return false;
	/* Likewise. */
	smp_rmb();
	return !test_bit(0, &flush->busy);
}

static bool flush_covers(struct vgpu_space *space, struct vgpu_mapping *mapping, pgoff_t pgoff,
			 pgoff_t nr)
{
	struct vgpu_page *page;
	unsigned long index = pgoff;
	bool found = false;

	mutex_lock(&space->lock);
	for (page = xa_find(&space->pages, &index, pgoff + nr - 1, SPACE_DIRTY); page && !found;
	     page = xa_find_after(&space->pages, &index, pgoff + nr - 1, SPACE_DIRTY))
		found = page->owner == mapping;
	mutex_unlock(&space->lock);
	return found;
}

void vgpu_space_unmap(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_flush *flush = &mapping->session->flush;
	u64 addr = vgpu_mapping_addr(mapping, pgoff);
	struct flush_unmap *unmap;

	/*
	 * A page leaves the dirty list under the space's lock while busy is set:
	 * looked at in this order, it is found in one of the two.
	 */
	if (!flush_covers(mapping->space, mapping, pgoff, nr) && flush_is_idle(flush)) {
		vgpu_mapping_end(mapping, addr, (u64)nr << PAGE_SHIFT);
		return;
	}
	unmap = kmalloc(sizeof(*unmap), GFP_KERNEL | __GFP_NOFAIL);
	unmap->mapping = vgpu_mapping_get(mapping);
	unmap->addr = addr;
	unmap->len = (u64)nr << PAGE_SHIFT;
	spin_lock(&flush->lock);
	list_add_tail(&unmap->node, &flush->unmaps);
	flush_list_locked(flush);
	spin_unlock(&flush->lock);
	flush_later(flush, 0);
}

/* --- the connection is lost -------------------------------------------------- */

void vgpu_flush_discard(struct vgpu_space *space)
{
	struct vgpu_mapping *owner;
	struct vgpu_page *page;
	unsigned long index = 0;

	for (;;) {
		owner = NULL;
		mutex_lock(&space->lock);
		page = xa_find(&space->pages, &index, ULONG_MAX, SPACE_DIRTY);
		if (page)
			owner = vgpu_flush_clean(space, page);
		mutex_unlock(&space->lock);
		if (!page)
			return;
		vgpu_mapping_put(owner);
	}
}

/* What nobody will send, nor end, any more. */
static void flush_purge(struct vgpu_flush *flush)
{
	struct flush_unmap *unmap, *tmp;
	struct vgpu_flight *flight, *next;
	LIST_HEAD(orphans);
	LIST_HEAD(unmaps);

	/* Its timer has to end before the work queue does. */
	flush_later(flush, 0);
	spin_lock(&flush->lock);
	list_splice_init(&flush->orphans, &orphans);
	list_splice_init(&flush->unmaps, &unmaps);
	spin_unlock(&flush->lock);
	list_for_each_entry_safe(flight, next, &orphans, node)
		vgpu_flight_free(flight);
	list_for_each_entry_safe(unmap, tmp, &unmaps, node)
		flush_unmap_free(unmap);
	flush_unlist(flush);
}

void vgpu_flush_abort(struct vgpu_space_set *set)
{
	struct vgpu_flush *flush;
	LIST_HEAD(all);

	spin_lock(&set->lock);
	list_splice_init(&set->flushes, &all);
	while (!list_empty(&all)) {
		flush = list_first_entry(&all, struct vgpu_flush, entry);
		list_move_tail(&flush->entry, &set->flushes);
		vgpu_session_get(flush_session(flush));
		spin_unlock(&set->lock);
		flush_purge(flush);
		vgpu_session_put(flush_session(flush));
		spin_lock(&set->lock);
	}
	spin_unlock(&set->lock);
	/* The host is down, so it is not queued after this. */
	if (cancel_delayed_work(&set->expire))
		vgpu_host_put(container_of(set, struct vgpu_host, spaces));
}
