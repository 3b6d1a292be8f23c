// SPDX-License-Identifier: GPL-2.0-only
/* Unmaps: see unmap.h. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "link/session.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/mapping.h"
#include "memory/space.h"
#include "memory/state.h"
#include "memory/unmap.h"

void vgpu_unmap_free(struct vgpu_unmap_entry *unmap)
{
	vgpu_mapping_put(unmap->mapping);
	kfree(unmap);
}

/*
 * Check whether no flight is being sent and no orphan is left. A run sets busy before it takes an
 * orphan off the list, and puts a flight back on the list before it clears busy, so one of the
 * three checks in this order finds the flight.
 */
static bool flush_is_idle(struct vgpu_flush *flush)
{
	if (test_bit(0, &flush->busy))
		return false;
	/* Pairs with the barriers of flush->lock and flush->busy in vgpu_flush_run(). */
	smp_rmb();
	if (!list_empty_careful(&flush->orphans))
		return false;
	/* Pairs with the same barriers of vgpu_flush_run(). */
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

void vgpu_unmap_range(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr)
{
	struct vgpu_flush *flush = &mapping->session->memory->flush;
	u64 addr = vgpu_mapping_addr(mapping, pgoff);
	struct vgpu_unmap_entry *unmap;

	/*
	 * A page leaves the dirty list under the space's lock while busy is set, so one of the
	 * two checks in this order finds its bytes.
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
	vgpu_flush_list_locked(flush);
	spin_unlock(&flush->lock);
	vgpu_flush_run_later(flush, 0);
}
