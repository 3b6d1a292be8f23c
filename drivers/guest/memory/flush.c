// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flush: see flush.h.
 *
 * Each session has a flush of its own, which one thread at a time runs (flush->busy). A run
 * collects the bytes of dirty pages. PTEs are zapped first, so that a later store faults and
 * makes the page dirty anew. Then the bytes that differ from the snapshot are copied into a
 * *flight*, which is sent as one WRITE_PAGES call. Whole pages are sent only where all of their
 * bytes are known to be the programs' (page->whole): elsewhere the device or another process may
 * have written the other bytes since the snapshot.
 *
 * A flight fails if the thread is killed, no lane can be had, or the lane is lost. It is kept as
 * an orphan then, which the next run sends again. If the host applied the bytes of the first
 * attempt after all, the second one may overwrite what the device has written since. A host that
 * ends lane after lane on which it gets a flight takes it for broken. The session is ended then, as
 * the bytes would never arrive, and the program must not go on without them.
 *
 * set->stamp orders stores and runs. A page has the stamp of its first store, a run takes the
 * pages with an older stamp than its own, and flush->done is the stamp of the last complete run.
 * A waiter that needs all bytes written until now at the host takes a new stamp and waits until
 * each flush has completed a run with this stamp or a later one.
 *
 * Two sessions may store to one page, one after the other. Their shadows take bytes in any order,
 * so a page is in one flight at a time (space->flying), and is not fetched before that flight has
 * landed. Only a flight of a late flush is not waited for. If both sessions stored to the same
 * bytes, those of the late flush may arrive last.
 *
 * A call of one process may be about memory that another process wrote to, so the call waits for
 * all flushes of the host, but for those of other sessions only while they make progress. A flush
 * is *late* if its shadow has taken no bytes for VGPU_FLUSH_LATE, for example as its driver is
 * stuck. A late flush stops only its own process.
 */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "base/deadline.h"
#include "link/export.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"
#include "memory/flight.h"
#include "memory/flush.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/state.h"
#include "wire.h"

/* Delay in jiffies after which a failed run is tried again. */
#define FLUSH_AGAIN	(HZ / 10)
/*
 * Number of attempts to send a flight on lanes that are lost, or whose thread is interrupted, after
 * which the session is ended. With two attempts a run, that takes some seconds.
 */
#define FLIGHT_LOST_MAX	64

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

/* Note that a lane with the flight was lost, and end the session if that goes on and on. */
static void flight_lost(struct vgpu_flight *flight)
{
	struct vgpu_session *session = flight->session;

	if (++flight->lost < FLIGHT_LOST_MAX || READ_ONCE(session->dead) ||
	    vgpu_host_is_down(session->host))
		return;
	/* Log the reason: the program only finds that its files are dead. */
	pr_warn_ratelimited("%s (pid %u): host %s does not take what this process writes to device memory: its session ends\n",
			    session->comm, session->tgid, session->host->name);
	vgpu_lane_end_all(session);
}

/*
 * Send a flight, and free it or keep it as an orphan. Return: 0: the host has the bytes, its
 * driver refused some, or the shadow is gone; -errno: the flight became an orphan.
 */
static int flight_send(struct vgpu_flush *flush, struct vgpu_flight *flight)
{
	struct vgpu_session *session = flight->session;
	struct vgpu_stats *stats = NULL;
	s64 ret = 0;

	/* The pages belong to one process, and so nearly always to one device. */
	if (flight->nr_owners)
		stats = &flight->owners[0].mapping->export->stats;
	if (flight->diff.nr)
		ret = vgpu_pages_write(session, stats, &flight->diff, 0);
	if (ret == -EPIPE || ret == -EAGAIN)
		flight_lost(flight);
	if (ret == -EPIPE)
		ret = -ENODEV;
	/* No bytes can be sent any more once the shadow is gone, or the session was ended. */
	if (!ret || ret == -EFAULT ||
	    (ret == -ENODEV && (READ_ONCE(session->dead) || vgpu_host_is_down(session->host)))) {
		vgpu_flight_free(flight);
		return 0;
	}
	spin_lock(&flush->lock);
	list_add_tail(&flight->node, &flush->orphans);
	vgpu_flush_list_locked(flush);
	spin_unlock(&flush->lock);
	return ret;
}

int vgpu_flush_claim(struct vgpu_flush *flush, unsigned long deadline)
{
	long left;

	left = wait_event_killable_timeout(vgpu_flush_spaces(flush)->wait,
					   !test_and_set_bit_lock(0, &flush->busy),
					   vgpu_deadline_left(deadline));
	return left > 0 ? 0 : left ? -EINTR : -ETIMEDOUT;
}

void vgpu_flush_release(struct vgpu_flush *flush)
{
	clear_bit_unlock(0, &flush->busy);
	/* Pairs with the barrier of the waiters' prepare_to_wait(). */
	smp_mb__after_atomic();
	wake_up_all(&vgpu_flush_spaces(flush)->wait);
}

/*
 * Check whether the oldest dirty page can be taken: no flight has it, or only one of a late flush.
 * @late: true to check first whether the flush of the flight that has the page has become late.
 */
static bool flush_may_go(struct vgpu_flush *flush, bool late)
{
	struct vgpu_page *page;
	bool may = true;

	spin_lock(&flush->lock);
	page = list_first_entry_or_null(&flush->dirty, struct vgpu_page, node);
	if (page && late)
		vgpu_flush_check_late(page->owner->space, page->index);
	if (page)
		may = !vgpu_flush_is_flying(page->owner->space, page->index, NULL);
	spin_unlock(&flush->lock);
	return may;
}

/*
 * Wait until the flight of another session, which has bytes of the same page, has landed or is
 * late, for VGPU_FLUSH_LATE at most. A run waits here only while it has no flight of its own, so
 * runs do not wait for each other in a circle. Return: 0 or -EINTR.
 */
static int flush_wait_landed(struct vgpu_flush *flush)
{
	long left;

	left = wait_event_killable_timeout(vgpu_flush_spaces(flush)->wait,
					   flush_may_go(flush, false), VGPU_FLUSH_LATE);
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
		/* The host may have ended one lane alone: another lane takes the orphan then. */
		if (ret == -EAGAIN || (ret == -ENODEV && !lost)) {
			lost |= ret == -ENODEV;
			schedule_timeout_killable(1);
			continue;
		}
		if (ret)
			return ret;
		lost = false;
		vgpu_flush_goes_on(flush);
	}
}

int vgpu_flush_run(struct vgpu_flush *flush)
{
	struct vgpu_host *host = vgpu_flush_session(flush)->host;
	struct vgpu_unmap_entry *unmap, *tmp;
	LIST_HEAD(unmaps);
	u64 stamp;
	int ret;

	ret = vgpu_flush_claim(flush, 0);
	if (ret)
		return ret;
	/*
	 * The bytes of the ranges to unmap were dirty, or in an orphan, before the ranges were
	 * queued. The stamp is taken after that, so this run sends the bytes.
	 */
	spin_lock(&flush->lock);
	list_splice_init(&flush->unmaps, &unmaps);
	spin_unlock(&flush->lock);
	stamp = atomic64_inc_return(&vgpu_flush_spaces(flush)->stamp);
	/* A run after a failed one is no progress, so that a flush which keeps failing is late. */
	if (!flush->failed)
		vgpu_flush_goes_on(flush);
	ret = flush_send_all(flush, stamp);
	WRITE_ONCE(flush->failed, ret && ret != -EINTR);
	if (ret) {
		spin_lock(&flush->lock);
		list_splice(&unmaps, &flush->unmaps);
		vgpu_flush_list_locked(flush);
		spin_unlock(&flush->lock);
		/*
		 * No timer may be pending when the host is gone, as this module may be unloaded
		 * then. vgpu_host_abort() sets host->down under this lock. Work that was queued
		 * before is started at once by flush_purge().
		 */
		spin_lock(&host->lock);
		vgpu_flush_run_later(flush,
				     ret == -EINTR || vgpu_host_is_down(host) ? 0 : FLUSH_AGAIN);
		spin_unlock(&host->lock);
	} else {
		list_for_each_entry_safe(unmap, tmp, &unmaps, node) {
			vgpu_mapping_end(unmap->mapping, unmap->addr, unmap->len);
			vgpu_unmap_free(unmap);
		}
		spin_lock(&flush->lock);
		vgpu_flush_done_locked(flush, stamp);
		spin_unlock(&flush->lock);
		vgpu_flush_unlist(flush);
	}
	vgpu_flush_release(flush);
	return ret;
}

static void flush_run_work(struct work_struct *work)
{
	struct vgpu_flush *flush = container_of(to_delayed_work(work), struct vgpu_flush, work);

	vgpu_flush_run(flush);
	vgpu_session_put(vgpu_flush_session(flush));
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

/* --- the connection is lost -------------------------------------------------- */

/* Free the orphans and unmaps of a flush whose host is gone. */
static void flush_purge(struct vgpu_flush *flush)
{
	struct vgpu_unmap_entry *unmap, *tmp;
	struct vgpu_flight *flight, *next;
	LIST_HEAD(orphans);
	LIST_HEAD(unmaps);

	/* Start the work item now: no timer may be pending when the work queue is destroyed. */
	vgpu_flush_run_later(flush, 0);
	spin_lock(&flush->lock);
	list_splice_init(&flush->orphans, &orphans);
	list_splice_init(&flush->unmaps, &unmaps);
	spin_unlock(&flush->lock);
	list_for_each_entry_safe(flight, next, &orphans, node)
		vgpu_flight_free(flight);
	list_for_each_entry_safe(unmap, tmp, &unmaps, node)
		vgpu_unmap_free(unmap);
	vgpu_flush_unlist(flush);
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
		vgpu_session_get(vgpu_flush_session(flush));
		spin_unlock(&set->lock);
		flush_purge(flush);
		vgpu_session_put(vgpu_flush_session(flush));
		spin_lock(&set->lock);
	}
	spin_unlock(&set->lock);
	/* The host is down, so set->expire is not queued after this. */
	if (cancel_delayed_work(&set->expire))
		vgpu_host_put(container_of(set, struct vgpu_memory_host, spaces)->host);
}

/* --- pages in flights, and late flushes --------------------------------------- */

bool vgpu_flush_is_flying(struct vgpu_space *space, pgoff_t index, const struct vgpu_flush *own)
{
	struct vgpu_flush *flush;
	bool flying;

	/* The session of @flush is not freed while @flush is found in the XArray. */
	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	flying = flush && (flush == own || !READ_ONCE(flush->late));
	xa_unlock(&space->flying);
	return flying;
}

void vgpu_flush_check_late(struct vgpu_space *space, pgoff_t index)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;
	struct vgpu_flush *flush;

	xa_lock(&space->flying);
	flush = xa_load(&space->flying, index);
	if (flush) {
		spin_lock(&set->lock);
		vgpu_flush_check_late_locked(flush);
		spin_unlock(&set->lock);
	}
	xa_unlock(&space->flying);
}

int vgpu_flush_await_landed(struct vgpu_space *space, pgoff_t index,
			    const struct vgpu_flush *own, unsigned long deadline)
{
	long left;

	for (;;) {
		left = min_t(long, vgpu_deadline_left(deadline), VGPU_FLUSH_LOOK);
		left = wait_event_killable_timeout(space->host->memory->spaces.wait,
						   !vgpu_flush_is_flying(space, index, own), left);
		if (left)
			return left < 0 ? -EINTR : 0;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		vgpu_flush_check_late(space, index);
	}
}
