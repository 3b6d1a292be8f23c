// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetches: see space_fetch.h.
 *
 * Two races need an explanation:
 *
 *  - A page that is fetched while another thread's call changes it must not be cached beyond that
 *    call. set->drops counts the ends of calls. A fetch notes its value, counts the fetched page
 *    in nr_cached, and then compares the value. The end of a call increments drops first and looks
 *    at nr_cached then. At least one of the two sees what the other has done.
 *  - A fault may lose that race again and again to a program that makes calls all the time. After
 *    SPACE_TRIES attempts the fault increments set->starved. While set->starved is not 0, calls,
 *    polls and events wait (vgpu_space_await_faults()), and vgpu_space_expire() drops nothing.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/deadline.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/pages.h"
#include "memory/reclaim.h"
#include "memory/space.h"
#include "memory/space_fetch.h"
#include "memory/space_sync.h"
#include "memory/state.h"

#define SPACE_TRIES		3
#define SPACE_AHEAD_MAX		128U
/* Interval at which a writer checks whether a hold is over, in jiffies. */
#define SPACE_HOLD_LOOK		max(HZ / 50, 1)

/* --- batches: cached pages that are allocated together --------------------------- */

/* Largest order of a piece: larger ones are rare on a machine that has run for some time. */
#define BATCH_ORDER	5

/*
 * Allocate 1 << *@order adjacent pages, or fewer, each with a reference of its own. Store in
 * *@order the order of the allocated pages. Return: the first page, or NULL.
 */
static struct page *batch_piece(gfp_t gfp, unsigned int *order)
{
	struct page *page;
	unsigned int i;

	for (; *order; --*order) {
		/* A piece is worth neither reclaim nor the reserves, as single pages will do. */
		page = alloc_pages((gfp & ~__GFP_RECLAIM) | __GFP_NOMEMALLOC | __GFP_NOWARN,
				   *order);
		if (!page)
			continue;
		split_page(page, *order);
		/*
		 * The allocator clears page_private() of the first page only: another may have a
		 * stale value, which may be SPACE_PAGE_GONE (space.c).
		 */
		for (i = 1; i < 1U << *order; i++)
			set_page_private(page + i, 0);
		return page;
	}
	return alloc_page(gfp);
}

u32 vgpu_batch_alloc(struct vgpu_page **pages, u32 nr, bool zero)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | (zero ? __GFP_ZERO : 0);
	unsigned int order = BATCH_ORDER;
	struct page *piece = NULL;
	u32 made, left = 0;

	for (made = 0; made < nr; made++) {
		pages[made] = kzalloc(sizeof(*pages[made]), GFP_KERNEL_ACCOUNT);
		if (!pages[made])
			break;
		if (!left) {
			/* An order that has just failed is not tried again. */
			order = min_t(unsigned int, order, ilog2(nr - made));
			piece = batch_piece(gfp, &order);
			left = piece ? 1U << order : 0;
		}
		if (!left) {
			kfree(pages[made]);
			break;
		}
		pages[made]->page = piece++;
		left--;
	}
	for (; left; left--)
		put_page(piece++);
	return made;
}

void vgpu_batch_free(struct vgpu_page **pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[i])
			vgpu_page_free(pages[i]);
}

/*
 * Store the addresses of the pages in @vec, which has room for an entry for each page. Adjacent
 * pages share an entry.
 * Return: number of used entries.
 */
static size_t batch_vec(struct vgpu_page *const *pages, u32 nr, struct kvec *vec)
{
	void *end = NULL;
	size_t used = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		void *bytes = page_address(pages[i]->page);

		if (!used || bytes != end)
			vec[used++] = (struct kvec){ .iov_base = bytes };
		vec[used - 1].iov_len += PAGE_SIZE;
		end = bytes + PAGE_SIZE;
	}
	return used;
}

/* --- fetches ------------------------------------------------------------------- */

/*
 * Cache pages that were fetched when set->drops was @drops. Pages that are not cached stay in
 * @pages. Return: 0, -EAGAIN (a call has ended since), -ENODEV (the space is dead), or the first
 * page's error.
 */
static int space_insert(struct vgpu_mapping *mapping, pgoff_t index, struct vgpu_page **pages,
			u32 nr, s64 drops)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_space_set *set = &space->host->memory->spaces;
	u32 i, cached = 0;
	int ret = 0;

	atomic_add(nr, &set->nr_cached);
	mutex_lock(&space->lock);
	/* A drop that is counted after the check of set->drops has to find the space listed. */
	if (!space->dead)
		vgpu_space_activate(space);
	/*
	 * Pairs with the inc_return of space_drop(), vgpu_space_renew() and
	 * vgpu_space_is_renewed().
	 */
	smp_mb();
	if (space->dead)
		ret = -ENODEV;
	else if (atomic64_read(&set->drops) != drops)
		ret = -EAGAIN;
	for (i = 0; !ret && i < nr; i++) {
		ret = vgpu_space_page_add(space, pages[i], index + i, drops);
		if (!ret) {
			pages[i] = NULL;
			vgpu_blank_touch(mapping, index + i);
			cached++;
		} else if (ret == -EBUSY) {
			/* Another fault has cached this page. */
			ret = 0;
		}
	}
	mutex_unlock(&space->lock);
	atomic_sub(nr - cached, &set->nr_cached);
	/* Only the first page is what the fault needs. */
	return i > 1 ? 0 : ret;
}

/*
 * Return the number of pages to fetch at @index: twice as many as the last time while a program
 * reads on. A program that reads again from where it began, after a call for example, gets as many
 * pages as it used the last time.
 */
static u32 space_ahead(struct vgpu_mapping *mapping, pgoff_t index)
{
	pgoff_t left = vgpu_mapping_covered(mapping, index);
	pgoff_t nr = 1;

	spin_lock(&mapping->lock);
	if (index == mapping->ahead.next) {
		nr = mapping->ahead.nr * 2;
	} else {
		if (index == mapping->ahead.run_first)
			nr = mapping->ahead.run_end - index;
		mapping->ahead.run_first = index;
		mapping->ahead.run_end = index;
	}
	nr = clamp_t(pgoff_t, nr, 1, min_t(pgoff_t, max(left, 1UL), SPACE_AHEAD_MAX));
	mapping->ahead.nr = nr;
	mapping->ahead.next = index + nr;
	spin_unlock(&mapping->lock);
	return nr;
}

void vgpu_space_note_use(struct vgpu_mapping *mapping, pgoff_t index)
{
	spin_lock(&mapping->lock);
	if (index >= mapping->ahead.run_end && index < mapping->ahead.next)
		mapping->ahead.run_end = index + 1;
	spin_unlock(&mapping->lock);
}

/*
 * Return: number of pages from @index on, up to @nr, before the next page that a flight has. The
 * caller has waited for the flight of the first page.
 */
static u32 space_landed(struct vgpu_space *space, pgoff_t index, u32 nr)
{
	unsigned long at = index + 1;

	return nr > 1 && xa_find(&space->flying, &at, index + nr - 1, XA_PRESENT) ? at - index : nr;
}

/**
 * struct space_fetch - pages that are being fetched
 * @nr: number of entries of @pages
 * @nr_vec: number of used entries of @vec
 * @pages: pages that are not cached yet, or NULL
 * @vec: memory of the pages
 */
struct space_fetch {
	u32 nr;
	size_t nr_vec;
	struct vgpu_page *pages[SPACE_AHEAD_MAX];
	struct kvec vec[SPACE_AHEAD_MAX];
};

/* Return: memory for up to @nr pages, charged to the caller's control group; or NULL. */
static struct space_fetch *space_fetch_make(u32 nr)
{
	struct space_fetch *fetch = kmalloc(sizeof(*fetch), GFP_KERNEL_ACCOUNT);

	if (!fetch)
		return NULL;
	fetch->nr = vgpu_batch_alloc(fetch->pages, nr, false);
	if (!fetch->nr) {
		kfree(fetch);
		return NULL;
	}
	fetch->nr_vec = batch_vec(fetch->pages, fetch->nr, fetch->vec);
	return fetch;
}

static void space_fetch_free(struct space_fetch *fetch)
{
	vgpu_batch_free(fetch->pages, fetch->nr);
	kfree(fetch);
}

/* Fetch pages from @index on and cache them. Return: 0, or the error of the first page. */
static int space_fetch_once(struct vgpu_mapping *mapping, pgoff_t index,
			    struct space_fetch *fetch, unsigned long deadline)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_flush *own = &mapping->session->memory->flush;
	struct vgpu_space_set *set = &space->host->memory->spaces;
	s64 drops = atomic64_read(&set->drops);
	s64 got;
	u32 nr;
	int ret;

	/* Programs may have written to the memory by other mappings: that is flushed first. */
	ret = vgpu_flush_all(set, mapping->session, deadline);
	/* vgpu_flush_all() may have given up on another session, whose flight has the page. */
	if (!ret)
		ret = vgpu_flush_await_landed(space, index, own, deadline);
	if (ret)
		return ret;
	nr = space_landed(space, index, fetch->nr);
	got = vgpu_pages_read_vec(mapping->session, &mapping->export->stats,
				  vgpu_mapping_addr(mapping, index), fetch->vec, fetch->nr_vec,
				  nr << PAGE_SHIFT, 0, deadline);
	if (got < 0)
		return got;
	got >>= PAGE_SHIFT;
	/* Bytes of something else may have been read behind the pages that are still mapped. */
	got = min_t(pgoff_t, got, vgpu_mapping_covered(mapping, index));
	if (!got)
		return -EFAULT;
	return space_insert(mapping, index, fetch->pages, got, drops);
}

/*
 * Drop clean pages of one space after the other until there is room. The mapping's own space alone
 * may have few of them, and those of other spaces would stay until some program makes a call.
 */
static void space_make_room(struct vgpu_space_set *set)
{
	struct vgpu_space *space;
	u64 round = 0;

	while (atomic_read(&set->nr_cached) > SPACE_CACHED_MAX &&
	       (space = vgpu_reclaim_next(set, &round))) {
		vgpu_space_drop_range(space, 0, ULONG_MAX, true);
		vgpu_space_put(space);
	}
}

static void space_starve_end(struct vgpu_space_set *set)
{
	atomic_dec(&set->starved);
	wake_up_all(&set->wait);
}

static int space_fetch(struct vgpu_mapping *mapping, pgoff_t index, unsigned long deadline)
{
	struct vgpu_space_set *set = &mapping->space->host->memory->spaces;
	u32 nr = space_ahead(mapping, index);
	unsigned long until = deadline;
	struct space_fetch *fetch;
	int tries = 0;
	int ret;

	space_make_room(set);
	fetch = space_fetch_make(nr);
	if (!fetch)
		return -ENOMEM;
	for (;;) {
		ret = space_fetch_once(mapping, index, fetch, until);
		/* Calls are held up for SPACE_HOLD_TIME at most: go on without holding them up. */
		if (ret == -ETIMEDOUT && !deadline && tries >= SPACE_TRIES) {
			space_starve_end(set);
			until = 0;
			tries = 0;
			continue;
		}
		if (ret != -EAGAIN)
			break;
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		if (++tries == SPACE_TRIES) {
			atomic_inc(&set->starved);
			until = deadline ?: vgpu_deadline_in(SPACE_HOLD_TIME);
		}
	}
	if (tries >= SPACE_TRIES)
		space_starve_end(set);
	space_fetch_free(fetch);
	return ret;
}

static bool space_is_cached(struct vgpu_space *space, pgoff_t index)
{
	bool cached;

	mutex_lock(&space->lock);
	cached = xa_load(&space->pages, index);
	mutex_unlock(&space->lock);
	return cached;
}

/* Check whether a writer need not wait: the page may become dirty, or there is no page. */
static bool space_can_write(struct vgpu_space *space, pgoff_t index)
{
	struct vgpu_page *page;
	bool can;

	mutex_lock(&space->lock);
	page = xa_load(&space->pages, index);
	can = space->dead || !page || vgpu_space_may_dirty(space, page);
	mutex_unlock(&space->lock);
	return can;
}

/* Wait for space_can_write(). Return: 0, -EINTR, -ETIMEDOUT. */
static int space_await_room(struct vgpu_space *space, pgoff_t index, unsigned long deadline)
{
	struct vgpu_space_set *set = &space->host->memory->spaces;
	long left;

	while (!space_can_write(space, index)) {
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
		vgpu_flush_later(set, NULL);
		left = min_t(long, vgpu_deadline_left(deadline), SPACE_HOLD_LOOK);
		if (wait_event_killable_timeout(set->wait, vgpu_space_has_room(space), left) < 0)
			return -EINTR;
	}
	return 0;
}

int vgpu_space_wait(struct vgpu_mapping *mapping, pgoff_t index, bool write,
		    unsigned long deadline)
{
	int ret = 0;

	if (!space_is_cached(mapping->space, index))
		ret = space_fetch(mapping, index, deadline);
	if (!ret && write)
		ret = space_await_room(mapping->space, index, deadline);
	return ret;
}
