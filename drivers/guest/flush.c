// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flush: see flush.h.
 *
 * One thread flushes at a time (set->busy). It takes dirty pages off their
 * space: PTEs are zapped first, so that a later store faults and makes the page
 * dirty anew; then the bytes that differ from the snapshot are copied into a
 * *flight*, which goes out as one WRITE_PAGES call. Whole pages never go: their
 * other bytes may be the device's, or another process's, by now.
 *
 * A thread that is killed while its flight is out leaves it as an orphan, which
 * the next flush sends again: the bytes are the same, so it does no harm if the
 * host has applied them.
 */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "export.h"
#include "flush.h"
#include "host.h"
#include "mapping.h"
#include "pages.h"
#include "session.h"
#include "space.h"
#include "wire.h"

#define FLIGHT_PAGES	64

static_assert(FLIGHT_PAGES * VGPU_DIFF_RANGES <= VGPU_RANGES_MAX);

/* What a flight has for each of its pages. */
struct flight_room {
	struct vgpu_mapping *owner;
	struct vgpu_range ranges[VGPU_DIFF_RANGES];
	u8 bytes[VGPU_DIFF_BYTES];
};

static_assert(sizeof(struct vgpu_call) + FLIGHT_PAGES * sizeof(struct flight_room) <
	      VGPU_CALL_BYTES_MIN);

/**
 * struct vgpu_flight - dirty bytes of one session
 * @node: in set->orphans
 * @session: whose shadow writes them, a reference
 * @diff: where they go, in the shadow, and they themselves
 * @nr_owners: entries of @owners
 * @max_owners: how many there is room for, and for as many pages in @diff
 * @owners: mappings whose references go with the flight
 */
struct vgpu_flight {
	struct list_head node;
	struct vgpu_session *session;
	struct vgpu_wire_diff diff;
	u32 nr_owners;
	u32 max_owners;
	struct vgpu_mapping *owners[];
};

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

/* Return: a flight with room for @nr pages, or NULL. */
static struct vgpu_flight *flight_alloc(u32 nr)
{
	struct vgpu_flight *flight;

	/* Not zeroed: what is sent is what was put there. */
	flight = kvmalloc(sizeof(*flight) + nr * sizeof(struct flight_room), GFP_KERNEL_ACCOUNT);
	if (!flight)
		return NULL;
	flight->session = NULL;
	flight->nr_owners = 0;
	flight->max_owners = nr;
	flight->diff = (struct vgpu_wire_diff) {
		.ranges = (void *)(flight->owners + nr),
		.bytes = (void *)(flight->owners + nr) +
			 nr * sizeof_field(struct flight_room, ranges),
	};
	return flight;
}

static void flight_free(struct vgpu_flight *flight)
{
	while (flight->nr_owners)
		vgpu_mapping_put(flight->owners[--flight->nr_owners]);
	if (flight->session)
		vgpu_session_put(flight->session);
	kvfree(flight);
}

void vgpu_flush_unmap(struct vgpu_space *space, const struct vgpu_page *page)
{
	lockdep_assert_held(&space->lock);
	/* Not mapped for writing by a fault that has made it dirty and is under way. */
	lock_page(page->page);
	unmap_mapping_range(space->inode->i_mapping, (loff_t)page->index << PAGE_SHIFT,
			    PAGE_SIZE, 0);
	unlock_page(page->page);
}

struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page)
{
	struct vgpu_mapping *owner = page->owner;

	lockdep_assert_held(&space->lock);
	page->owner = NULL;
	kfree(page->orig);
	page->orig = NULL;
	list_del(&page->node);
	atomic_dec(&space->host->spaces.nr_dirty);
	return owner;
}

/*
 * No page table has it any more. If somebody has a reference, the kernel or a device may write
 * to it still, of which nobody hears: it counts as dirty until then. (Direct I/O before Linux 6.5
 * does not pin. Whoever refers to it for something else delays it a little.) Not where others
 * wait for pages to become clean, nor when the mapping has ended, in the place of which something
 * else may be.
 */
static bool flush_keeps(struct vgpu_space *space, const struct vgpu_page *page)
{
	return page_count(page->page) > 1 && vgpu_mapping_covered(page->owner, page->index) &&
		atomic_read(&space->host->spaces.nr_dirty) < SPACE_DIRTY_MAX;
}

static int flight_put(void *arg, u64 addr, const u8 *data, u32 len)
{
	memcpy((u8 *)arg + offset_in_page(addr), data, len);
	return 0;
}

/* What has been sent of a page that stays dirty does not go again. */
static void flight_note(const struct vgpu_wire_diff *diff, u32 nr, u32 len, u8 *orig)
{
	for (; nr < diff->nr; nr++) {
		vgpu_wire_range_apply(&diff->ranges[nr], diff->bytes + len, flight_put, orig);
		len += le32_to_cpu(diff->ranges[nr].len);
	}
}

/*
 * Copy what changed on @page into the flight. Return: true: the page is clean, or dirty
 * for the next flush, number @pass being through with it; false: the flight is full.
 */
static bool flight_take(struct vgpu_flight *flight, struct vgpu_space *space,
			struct vgpu_page *page, u64 pass)
{
	struct vgpu_wire_diff *diff = &flight->diff;
	u32 nr = diff->nr, len = diff->len;

	if (flight->nr_owners == flight->max_owners)
		return false;
	vgpu_flush_unmap(space, page);
	vgpu_wire_diff_page(diff, vgpu_mapping_addr(page->owner, page->index), page->orig,
			    page_address(page->page));
	if (flush_keeps(space, page)) {
		flight_note(diff, nr, len, page->orig);
		flight->owners[flight->nr_owners++] = vgpu_mapping_get(page->owner);
		page->pass = pass;
		list_move_tail(&page->node, &space->dirty);
		return true;
	}
	flight->owners[flight->nr_owners++] = vgpu_flush_clean(space, page);
	return true;
}

/* An active space that flush number @pass has not seen clean yet, or NULL. */
static struct vgpu_space *flush_find(struct vgpu_space_set *set, u64 pass)
{
	struct vgpu_space *space;

	spin_lock(&set->lock);
	list_for_each_entry(space, &set->active, active) {
		if (space->flushed < pass && kref_get_unless_zero(&space->ref)) {
			spin_unlock(&set->lock);
			return space;
		}
	}
	spin_unlock(&set->lock);
	return NULL;
}

/*
 * Pages that became dirty after flush number @pass began are left to the next:
 * a program that writes all the time does not keep a call from being made.
 */
static void flight_fill(struct vgpu_flight *flight, struct vgpu_space *space, u64 pass)
{
	struct vgpu_page *page, *tmp;

	mutex_lock(&space->lock);
	list_for_each_entry_safe(page, tmp, &space->dirty, node) {
		if (page->pass >= pass)
			break;
		if (!flight->session)
			flight->session = vgpu_session_get(page->owner->session);
		else if (flight->session != page->owner->session)
			continue;
		if (!flight_take(flight, space, page, pass))
			break;
	}
	if (!flight->session)
		space->flushed = pass;
	mutex_unlock(&space->lock);
}

/* Return: a flight, NULL if nothing is dirty, ERR_PTR(-ENOMEM). */
static struct vgpu_flight *flight_load(struct vgpu_space_set *set, u64 pass)
{
	struct vgpu_space *space;
	struct vgpu_flight *flight;

	flight = flight_alloc(clamp(atomic_read(&set->nr_dirty), 1, FLIGHT_PAGES));
	if (!flight)
		return ERR_PTR(-ENOMEM);
	while (!flight->session) {
		space = flush_find(set, pass);
		if (!space) {
			kvfree(flight);
			return NULL;
		}
		flight_fill(flight, space, pass);
		vgpu_space_put(space);
	}
	return flight;
}

/* Takes over the flight. Return: 0, or -EINTR after it became an orphan. */
static int flight_send(struct vgpu_space_set *set, struct vgpu_flight *flight)
{
	struct vgpu_stats *stats = NULL;
	s64 ret = 0;

	/* Of one process, and so nearly always of one device. */
	if (flight->nr_owners)
		stats = &flight->owners[0]->export->stats;
	if (flight->diff.nr)
		ret = vgpu_pages_write(flight->session, stats, &flight->diff, 0);
	if (ret != -EINTR) {
		flight_free(flight);
		return 0;
	}
	spin_lock(&set->lock);
	list_add_tail(&flight->node, &set->orphans);
	spin_unlock(&set->lock);
	return -EINTR;
}

static struct vgpu_flight *flush_next(struct vgpu_space_set *set, u64 pass)
{
	struct vgpu_flight *flight;

	spin_lock(&set->lock);
	flight = list_first_entry_or_null(&set->orphans, struct vgpu_flight, node);
	if (flight)
		list_del(&flight->node);
	spin_unlock(&set->lock);
	return flight ?: flight_load(set, pass);
}

static void flush_unmap_free(struct flush_unmap *unmap)
{
	vgpu_mapping_put(unmap->mapping);
	kfree(unmap);
}

static bool flush_needed(struct vgpu_space_set *set)
{
	return atomic_read(&set->nr_dirty) || test_bit(0, &set->busy) ||
	       !list_empty_careful(&set->orphans) || !list_empty_careful(&set->unmaps);
}

/*
 * A flush is busy before it takes an orphan and until its bytes are at the host, and
 * leaves one before it is not busy any more: looked at in this order, it is found.
 */
static bool flush_is_idle(struct vgpu_space_set *set)
{
	if (test_bit(0, &set->busy))
		return false;
	/* Pairs with set->lock and set->busy of flush_run(). */
	smp_rmb();
	if (!list_empty_careful(&set->orphans))
		return false;
	/* Likewise. */
	smp_rmb();
	return !test_bit(0, &set->busy);
}

static int flush_run(struct vgpu_space_set *set)
{
	struct flush_unmap *unmap, *tmp;
	struct vgpu_flight *flight;
	LIST_HEAD(unmaps);
	u64 pass;
	int ret;

	if (wait_event_killable(set->wait, !test_and_set_bit_lock(0, &set->busy)))
		return -EINTR;

	/*
	 * Their bytes are dirty, or an orphan's, since before they were queued, and so
	 * before this flush began.
	 */
	spin_lock(&set->lock);
	list_splice_init(&set->unmaps, &unmaps);
	spin_unlock(&set->lock);
	pass = set->pass + 1;
	WRITE_ONCE(set->pass, pass);

	for (;;) {
		flight = flush_next(set, pass);
		ret = PTR_ERR_OR_ZERO(flight);
		if (!flight || ret)
			break;
		ret = flight_send(set, flight);
		if (ret)
			break;
		WRITE_ONCE(set->sent, set->sent + 1);
		if (wq_has_sleeper(&set->wait))
			wake_up_all(&set->wait);
	}
	if (ret) {
		spin_lock(&set->lock);
		list_splice(&unmaps, &set->unmaps);
		spin_unlock(&set->lock);
		if (ret == -EINTR)
			vgpu_flush_later(set);
	} else {
		list_for_each_entry_safe(unmap, tmp, &unmaps, node) {
			vgpu_mapping_end(unmap->mapping, unmap->addr, unmap->len);
			flush_unmap_free(unmap);
		}
		WRITE_ONCE(set->passed, pass);
	}
	clear_bit_unlock(0, &set->busy);
	/* Pairs with the barrier of the waiters' prepare_to_wait(). */
	smp_mb__after_atomic();
	wake_up_all(&set->wait);
	return ret;
}

int vgpu_flush_all(struct vgpu_space_set *set)
{
	return flush_needed(set) ? flush_run(set) : 0;
}

int vgpu_flush_soon(struct vgpu_space_set *set, unsigned long wait, unsigned long most)
{
	unsigned long end = jiffies + most;
	u64 pass, sent;
	long left;

	if (!atomic_read(&set->nr_dirty)) {
		/* A page leaves the dirty ones while busy is set: as in vgpu_space_unmap(). */
		smp_rmb();
		if (flush_is_idle(set))
			return 0;
	}
	/* What is dirty now goes with the next one that begins. */
	pass = READ_ONCE(set->pass) + 1;
	vgpu_flush_later(set);
	do {
		sent = READ_ONCE(set->sent);
		left = clamp((long)(end - jiffies), 0L, (long)wait);
		left = wait_event_timeout(set->wait, READ_ONCE(set->passed) >= pass ||
					  READ_ONCE(set->sent) != sent, left);
	} while (left && READ_ONCE(set->passed) < pass);
	return left ? 0 : -ETIMEDOUT;
}

void vgpu_flush_work(struct work_struct *work)
{
	struct vgpu_space_set *set = container_of(work, struct vgpu_space_set, work);

	/* Somebody may wait for the end of one: see vgpu_flush_soon(). */
	flush_run(set);
	vgpu_host_put(container_of(set, struct vgpu_host, spaces));
}

bool vgpu_flush_queue(struct work_struct *work)
{
	return queue_work(flush_workqueue, work);
}

void vgpu_flush_later(struct vgpu_space_set *set)
{
	struct vgpu_host *host = container_of(set, struct vgpu_host, spaces);

	vgpu_host_get(host);
	if (!queue_work(flush_workqueue, &set->work))
		vgpu_host_put(host);
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

int vgpu_space_flush(struct vgpu_host *host)
{
	struct vgpu_space_set *set = &host->spaces;

	if (atomic_read(&set->starved) &&
	    wait_event_killable(set->wait, !atomic_read(&set->starved)))
		return -EINTR;
	return vgpu_flush_all(set);
}

int vgpu_space_settle(struct vgpu_host *host)
{
	struct vgpu_space_set *set = &host->spaces;

	if (list_empty_careful(&set->unmaps) && !test_bit(0, &set->busy))
		return 0;
	return vgpu_flush_all(set);
}

static bool flush_covers(struct vgpu_space *space, struct vgpu_mapping *mapping, pgoff_t pgoff,
			 pgoff_t nr)
{
	struct vgpu_page *page;
	bool found = false;

	mutex_lock(&space->lock);
	list_for_each_entry(page, &space->dirty, node) {
		if (page->owner == mapping && page->index - pgoff < nr) {
			found = true;
			break;
		}
	}
	mutex_unlock(&space->lock);
	return found;
}

void vgpu_space_unmap(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_space_set *set = &mapping->space->host->spaces;
	u64 addr = vgpu_mapping_addr(mapping, pgoff);
	struct flush_unmap *unmap;

	/*
	 * A page leaves the dirty list under the space's lock while busy is set:
	 * looked at in this order, it is found in one of the two.
	 */
	if (!flush_covers(mapping->space, mapping, pgoff, nr) && flush_is_idle(set)) {
		vgpu_mapping_end(mapping, addr, (u64)nr << PAGE_SHIFT);
		return;
	}
	unmap = kmalloc(sizeof(*unmap), GFP_KERNEL | __GFP_NOFAIL);
	unmap->mapping = vgpu_mapping_get(mapping);
	unmap->addr = addr;
	unmap->len = (u64)nr << PAGE_SHIFT;
	spin_lock(&set->lock);
	list_add_tail(&unmap->node, &set->unmaps);
	spin_unlock(&set->lock);
	vgpu_flush_later(set);
}

void vgpu_flush_discard(struct vgpu_space *space)
{
	struct vgpu_mapping *owner;
	struct vgpu_page *page;

	for (;;) {
		mutex_lock(&space->lock);
		page = list_first_entry_or_null(&space->dirty, struct vgpu_page, node);
		if (!page) {
			mutex_unlock(&space->lock);
			return;
		}
		owner = vgpu_flush_clean(space, page);
		mutex_unlock(&space->lock);
		vgpu_mapping_put(owner);
	}
}

void vgpu_flush_abort(struct vgpu_space_set *set)
{
	struct flush_unmap *unmap, *tmp;
	struct vgpu_flight *flight, *next;
	LIST_HEAD(orphans);
	LIST_HEAD(unmaps);

	spin_lock(&set->lock);
	list_splice_init(&set->orphans, &orphans);
	list_splice_init(&set->unmaps, &unmaps);
	spin_unlock(&set->lock);
	list_for_each_entry_safe(flight, next, &orphans, node)
		flight_free(flight);
	list_for_each_entry_safe(unmap, tmp, &unmaps, node)
		flush_unmap_free(unmap);
	/* The host is down, so it is not queued after this. */
	if (cancel_delayed_work(&set->expire))
		vgpu_host_put(container_of(set, struct vgpu_host, spaces));
}
