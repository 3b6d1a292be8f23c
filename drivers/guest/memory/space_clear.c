// SPDX-License-Identifier: GPL-2.0-only
/* Clear: see space_clear.h. */
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "link/host.h"
#include "memory/flush_all.h"
#include "memory/flush_dirty.h"
#include "memory/mapping.h"
#include "memory/space.h"
#include "memory/space_clear.h"
#include "memory/state.h"

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
 * Check whether a page that a flush kept dirty because of a reference has not been written to
 * since. Unmaps the page.
 */
static bool space_page_is_sent(struct vgpu_space *space, struct vgpu_page *page)
{
	lockdep_assert_held(&space->lock);
	if (!vgpu_page_is_dirty(page) || page->whole || vgpu_page_is_pinned(page))
		return false;
	vgpu_flush_unmap(space, page->index, 1);
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
	if (!ret && vgpu_space_renew_clean(space, pgoff, nr))
		ret = -EAGAIN;
	space_let_go(space);
	return ret;
}
