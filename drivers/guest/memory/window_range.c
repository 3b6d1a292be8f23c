// SPDX-License-Identifier: GPL-2.0-only
/* Ranges: see window_range.h. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "fault.h"
#include "link/control.h"
#include "link/host.h"
#include "memory/mapping.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/window.h"
#include "memory/window_range.h"

/* Wait queue, woken when nothing is bound in a lost window any more, or when a window has ended. */
static DECLARE_WAIT_QUEUE_HEAD(window_hidden_wait);

/*
 * Work queue on which ranges are freed: a provider's unbind may take long, and the host's messages
 * must not wait.
 */
static struct workqueue_struct *window_wq;

int vgpu_window_global_init(void)
{
	window_wq = alloc_workqueue("vgpu_window_ranges", WQ_UNBOUND, 0);
	return window_wq ? 0 : -ENOMEM;
}

void vgpu_window_global_exit(void)
{
	destroy_workqueue(window_wq);
}

static struct vgpu_window_range *range_of(struct interval_tree_node *node)
{
	return node ? container_of(node, struct vgpu_window_range, node) : NULL;
}

struct vgpu_window_range *vgpu_window_range_first(struct vgpu_window *window, u64 first, u64 last)
{
	lockdep_assert_held(&window->lock);
	return range_of(interval_tree_iter_first(&window->ranges, first, last));
}

struct vgpu_window_range *vgpu_window_range_next(struct vgpu_window_range *range, u64 first,
						 u64 last)
{
	return range_of(interval_tree_iter_next(&range->node, first, last));
}

bool vgpu_window_is_over(const struct vgpu_window *window)
{
	lockdep_assert_held(&window->lock);
	return READ_ONCE(window->gone) && !window->nr_shown;
}

/* Accounts that the host has nothing bound in a range of the window, and never will. */
static void range_hidden(struct vgpu_window *window)
{
	lockdep_assert_held(&window->lock);
	WRITE_ONCE(window->nr_shown, window->nr_shown - 1);
	if (!window->nr_shown)
		wake_up_all(&window_hidden_wait);
}

/*
 * Removes a range from the window, so that its pages can be claimed again; the caller frees the
 * range. Return: true if vgpu_move_queue() has to be called: a mapping waits for room, or the
 * window is lost and its memory can be opened anew.
 */
static bool range_remove(struct vgpu_window *window, struct vgpu_window_range *range)
{
	bool wanted = false;

	lockdep_assert_held(&window->lock);
	if (range->state != VGPU_RANGE_HIDDEN)
		range_hidden(window);
	interval_tree_remove(&range->node, &window->ranges);
	bitmap_clear(window->map, range->offset >> PAGE_SHIFT, range->len >> PAGE_SHIFT);
	swap(wanted, window->wanted);
	return wanted || vgpu_window_is_over(window);
}

static void range_unbind(struct vgpu_window_range *range)
{
	if (range->bound)
		range->window->provider->unbind(range);
	range->bound = false;
}

static void range_free(struct vgpu_window_range *range)
{
	range_unbind(range);
	xa_destroy(&range->good);
	vgpu_window_put(range->window);
	kfree(range);
}

/*
 * Frees a range after its UNBOUND. The pages stay claimed until the provider's unbind has run,
 * because a page must not be mapped with two cache attributes.
 */
static void range_unbound_work(struct work_struct *work)
{
	struct vgpu_window_range *range = container_of(work, struct vgpu_window_range, unbound);
	struct vgpu_window *window = range->window;

	range_unbind(range);
	mutex_lock(&window->lock);
	/* The host may be freed once the window has ended. */
	if (range_remove(window, range) && !window->ended)
		vgpu_move_queue(window->host, 0);
	mutex_unlock(&window->lock);
	range_free(range);
}

/*
 * Finds @nr free pages; returns a page behind the window's end if there are none. Large ranges
 * are looked for in the upper half first and small ones in the lower half: a page table that
 * was allocated for single pages stays, and a PMD mapping cannot be inserted in its place.
 */
static unsigned long range_place(struct vgpu_window *window, u64 addr, unsigned long nr)
{
	unsigned long end = window->size >> PAGE_SHIFT, half = end / 2, at;

	if (nr >= PTRS_PER_PMD) {
		unsigned long shift = -(addr >> PAGE_SHIFT) % PTRS_PER_PMD;

		at = bitmap_find_next_zero_area_off(window->map, end, half, nr,
						    PTRS_PER_PMD - 1, shift);
		if (at >= end)
			at = bitmap_find_next_zero_area_off(window->map, end, 0, nr,
							    PTRS_PER_PMD - 1, shift);
	} else {
		at = bitmap_find_next_zero_area(window->map, half, window->next, nr, 0);
		if (at >= half)
			at = bitmap_find_next_zero_area(window->map, half, 0, nr, 0);
		if (at < half)
			window->next = at + nr;
		else
			at = end;
	}
	if (at >= end)
		at = bitmap_find_next_zero_area(window->map, end, 0, nr, 0);
	return at;
}

struct vgpu_window_range *vgpu_window_claim(struct vgpu_host *host, u64 addr, u64 len)
{
	struct vgpu_window *window = vgpu_window_get(host);
	unsigned long nr = len >> PAGE_SHIFT;
	struct vgpu_window_range *range;
	unsigned long at;

	if (!window)
		return NULL;
	if (!vgpu_window_is_open(window)) {
		vgpu_window_put(window);
		return NULL;
	}
	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range || len > window->size)
		goto err_free;
	xa_init(&range->good);
	mutex_init(&range->insert);
	INIT_WORK(&range->unbound, range_unbound_work);
	range->window = window;
	range->len = len;

	mutex_lock(&window->lock);
	at = range_place(window, addr, nr);
	if (at < window->size >> PAGE_SHIFT && !READ_ONCE(window->gone)) {
		bitmap_set(window->map, at, nr);
		range->offset = (u64)at << PAGE_SHIFT;
		range->node.start = range->offset;
		range->node.last = range->offset + len - 1;
		interval_tree_insert(&range->node, &window->ranges);
		WRITE_ONCE(window->nr_shown, window->nr_shown + 1);
	} else {
		window->wanted = true;
	}
	mutex_unlock(&window->lock);
	/* Offset 0 means that nothing was found: the header is claimed from the beginning. */
	if (range->offset)
		return range;
err_free:
	kfree(range);
	vgpu_window_put(window);
	return NULL;
}

/*
 * Unbinds the ranges of a lost window whose mappings cannot be copied. The mappings keep their
 * ranges, and the host ends what is bound there.
 */
static void window_leave(struct vgpu_window *window)
{
	struct vgpu_window_range *range;
	u64 offset, len;

	do {
		mutex_lock(&window->lock);
		range = window->ended ? NULL : vgpu_window_range_first(window, 0, U64_MAX);
		while (range && !(range->state == VGPU_RANGE_MAPPED && range->mapping->live))
			range = vgpu_window_range_next(range, 0, U64_MAX);
		if (range) {
			range->state = VGPU_RANGE_LEFT;
			offset = range->offset;
			len = range->len;
			/*
			 * vgpu_control_unbind() may reclaim memory, so it is called without the
			 * lock; the reference keeps the host until then.
			 */
			vgpu_host_get(window->host);
		}
		mutex_unlock(&window->lock);
		if (range) {
			vgpu_control_unbind(window->host, window->id, offset, len);
			vgpu_host_put(window->host);
		}
	} while (range);
}

int vgpu_window_attach(struct vgpu_window_range *range, struct vgpu_mapping *mapping)
{
	const struct vgpu_window_provider *provider = range->window->provider;
	int ret;

	if (provider->bind) {
		ret = provider->bind(range, mapping->cache);
		if (ret)
			return ret;
		range->bound = true;
	}
	mutex_lock(&range->window->lock);
	range->mapping = mapping;
	range->state = VGPU_RANGE_MAPPED;
	mutex_unlock(&range->window->lock);
	/* The window was lost meanwhile, perhaps after window_leave() had looked at the range. */
	if (READ_ONCE(range->window->gone))
		window_leave(range->window);
	return 0;
}

void vgpu_window_release(struct vgpu_window_range *range, bool bound)
{
	struct vgpu_window *window = range->window;
	u64 offset = range->offset, len = range->len;
	bool wait, asked, wanted = false;

	kref_get(&window->ref);
	mutex_lock(&window->lock);
	wait = bound && !window->ended && range->state != VGPU_RANGE_HIDDEN;
	asked = range->state == VGPU_RANGE_LEFT;
	range->mapping = NULL;
	if (wait)
		range->state = VGPU_RANGE_RELEASED;
	else
		/* The host may be freed once the window has ended. */
		wanted = range_remove(window, range) && !window->ended;
	mutex_unlock(&window->lock);
	if (!wait)
		range_free(range);
	else if (!asked)
		vgpu_control_unbind(window->host, window->id, offset, len);
	if (wanted)
		vgpu_move_queue(window->host, 0);
	vgpu_window_put(window);
}

void vgpu_window_unclaim(struct vgpu_window_range *range)
{
	struct vgpu_window *window = range->window;

	mutex_lock(&window->lock);
	/*
	 * Keep window->wanted set, but do not call vgpu_move_queue(): a new round might fail in the
	 * same way at once. A mapping that found no room because of this range waits for later
	 * releases, as the owner of this range does.
	 */
	if (range_remove(window, range))
		window->wanted = true;
	mutex_unlock(&window->lock);
	range_free(range);
}

void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len)
{
	u64 end = offset + len;
	struct vgpu_window_range *range;

	mutex_lock(&window->lock);
	for (range = vgpu_window_range_first(window, offset, end - 1); range;
	     range = vgpu_window_range_next(range, offset, end - 1)) {
		u64 first, last;

		if (range->state != VGPU_RANGE_MAPPED)
			continue;
		first = max(offset, range->offset) - range->offset;
		last = min(end, range->offset + range->len) - range->offset;
		vgpu_unmap_nested(vgpu_space_mapping(range->mapping->space),
				  range->mapping->pgoff + (first >> PAGE_SHIFT),
				  (last - first) >> PAGE_SHIFT);
	}
	mutex_unlock(&window->lock);
}

void vgpu_window_unbound(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = vgpu_window_named(host, part->window);
	u64 offset = le64_to_cpu(part->offset);
	struct vgpu_window_range *range;

	if (!window)
		return;
	mutex_lock(&window->lock);
	range = vgpu_window_range_first(window, offset, offset);
	/* Ignore an UNBOUND that no UNBIND has asked for. */
	if (range && range->offset == offset && range->len == le64_to_cpu(part->len)) {
		if (range->state == VGPU_RANGE_RELEASED) {
			range->state = VGPU_RANGE_UNBOUND;
			queue_work(window_wq, &range->unbound);
		} else if (range->state == VGPU_RANGE_LEFT) {
			range->state = VGPU_RANGE_HIDDEN;
			range_hidden(window);
			if (vgpu_window_is_over(window))
				vgpu_move_queue(host, 0);
		}
	}
	mutex_unlock(&window->lock);
	vgpu_window_put(window);
}

/* --- end of a window ---------------------------------------------------------- */

/* Zaps all PTEs of the window and prevents new ones for good. */
static void window_shut(struct vgpu_window *window)
{
	down_write(&window->use);
	WRITE_ONCE(window->gone, true);
	up_write(&window->use);
	vgpu_window_zap(window, 0, window->size);
}

void vgpu_window_lost(struct vgpu_window *window)
{
	window_shut(window);
	window_leave(window);
	mutex_lock(&window->lock);
	/* The host may be freed once the window has ended. */
	if (!window->ended)
		vgpu_move_later(window->host);
	mutex_unlock(&window->lock);
}

bool vgpu_window_await_hidden(struct vgpu_window *window, unsigned long timeout)
{
	return wait_event_killable_timeout(window_hidden_wait,
					   !READ_ONCE(window->nr_shown) || READ_ONCE(window->ended),
					   timeout) > 0;
}

void vgpu_window_end(struct vgpu_window *window)
{
	struct vgpu_window_range *range;

	window_shut(window);
	mutex_lock(&window->lock);
	WRITE_ONCE(window->ended, true);
	mutex_unlock(&window->lock);
	wake_up_all(&window_hidden_wait);
	/* Free the ranges that wait for an UNBOUND; mappings free their own ranges. */
	do {
		mutex_lock(&window->lock);
		range = vgpu_window_range_first(window, 0, U64_MAX);
		while (range && range->state != VGPU_RANGE_RELEASED)
			range = vgpu_window_range_next(range, 0, U64_MAX);
		if (range)
			range_remove(window, range);
		mutex_unlock(&window->lock);
		if (range)
			range_free(range);
	} while (range);
	/* The next window may have the same memory with other cache attributes. */
	flush_workqueue(window_wq);
	vgpu_window_put(window);
}
