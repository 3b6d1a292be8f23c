// SPDX-License-Identifier: GPL-2.0-only
/* Mappings: see mapping.h. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "link/control.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/flush_list.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/state.h"
#include "memory/window_range.h"

atomic64_t *vgpu_mapping_count(struct vgpu_mapping *mapping)
{
	struct vgpu_stats *stats = &mapping->export->stats;

	return mapping->range ? &stats->window_mappings : &stats->copy_mappings;
}

static void mapping_release(struct kref *ref)
{
	struct vgpu_mapping *mapping = container_of(ref, struct vgpu_mapping, ref);
	struct vgpu_mapping_span *span, *tmp;

	list_for_each_entry_safe(span, tmp, &mapping->spans, node)
		kfree(span);
	vgpu_move_forget(mapping);
	vgpu_blank_forget(mapping);
	atomic64_dec(vgpu_mapping_count(mapping));
	if (mapping->range)
		vgpu_window_release(mapping->range, true);
	vgpu_space_put(mapping->space);
	vgpu_export_put(mapping->export);
	vgpu_session_release(mapping->session);
	vgpu_session_put(mapping->session);
	kfree(mapping);
}

struct vgpu_mapping *vgpu_mapping_get(struct vgpu_mapping *mapping)
{
	kref_get(&mapping->ref);
	return mapping;
}

void vgpu_mapping_put(struct vgpu_mapping *mapping)
{
	kref_put(&mapping->ref, mapping_release);
}

void vgpu_mapping_move_begin(struct vgpu_mapping *mapping)
{
	down_write(&mapping->mode_lock);
	vgpu_move_set_mode(mapping, VGPU_MAPPING_MOVING);
	/* The window does not show which pages are written to, so none counts as blank. */
	vgpu_blank_forget(mapping);
	up_write(&mapping->mode_lock);
}

void vgpu_mapping_move_end(struct vgpu_mapping *mapping, struct vgpu_window_range *range,
			   int error)
{
	down_write(&mapping->mode_lock);
	atomic64_dec(vgpu_mapping_count(mapping));
	mapping->range = range;
	vgpu_move_set_mode(mapping, range ? VGPU_MAPPING_WINDOW : VGPU_MAPPING_COPY);
	atomic64_inc(vgpu_mapping_count(mapping));
	mapping->move.error = error;
	WRITE_ONCE(mapping->move.moves, mapping->move.moves + 1);
	up_write(&mapping->mode_lock);
	wake_up_all(&mapping->session->host->memory->moves.wait);
}

u64 vgpu_mapping_addr(const struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	return mapping->addr + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);
}

void vgpu_mapping_end(struct vgpu_mapping *mapping, u64 addr, u64 len)
{
	vgpu_control_unmap(mapping->session->host, mapping->session->number, addr, len);
}

/* --- unmaps ------------------------------------------------------------------- */

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
