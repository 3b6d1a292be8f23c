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
#include "memory/flush_all.h"
#include "memory/mapping.h"
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
	wake_up_all(&mapping->session->host->move_wait);
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

/* --- spans -------------------------------------------------------------------- */

/*
 * The shadow's mapping lives as long as any VMA of any process shows it. The core calls ->open for
 * a new VMA (after a fork, or a split by a partial munmap or mprotect) and ->close for one that
 * goes. So a mapping keeps *spans*: its parts, each with the number of VMAs that cover it. A fork
 * adds 1 to the number where its VMA is. A split adds nothing, as each half covers its own part. A
 * close subtracts 1, and a part that no VMA covers any more ends at the host. A part also ends
 * when the process to which the shadow belongs has unmapped it: calls of the process may refer to
 * something else at that address from then on. A child that still shows the part gets SIGBUS there.
 */

struct vgpu_mapping_span *vgpu_mapping_span_alloc(pgoff_t first, pgoff_t end)
{
	/* A span may be needed where a VMA is closed, which cannot fail. */
	struct vgpu_mapping_span *span = kmalloc(sizeof(*span), GFP_KERNEL | __GFP_NOFAIL);

	span->first = first;
	span->end = end;
	span->users = 1;
	span->own = 1;
	return span;
}

/*
 * Split the span that has @at inside, so that @at is a border of spans. @spare: span of the caller
 * for the second half. Return: NULL, or @spare if it was not needed.
 */
static struct vgpu_mapping_span *span_split(struct vgpu_mapping *mapping, pgoff_t at,
					    struct vgpu_mapping_span *spare)
{
	struct vgpu_mapping_span *span;

	lockdep_assert_held(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (at <= span->first || at >= span->end)
			continue;
		spare->first = at;
		spare->end = span->end;
		spare->users = span->users;
		spare->own = span->own;
		span->end = at;
		list_add(&spare->node, &span->node);
		return NULL;
	}
	return spare;
}

bool vgpu_mapping_spans_count(struct vgpu_mapping *mapping, struct vm_area_struct *vma, int change,
			      struct list_head *gone)
{
	bool own = vma->vm_mm == mapping->session->mm;
	/* A process at its end (mm_users is 0) cannot map anything else there: this is no unmap. */
	bool unmapped = own && change < 0 && atomic_read(&vma->vm_mm->mm_users);
	pgoff_t first = vma->vm_pgoff, end = first + vma_pages(vma);
	struct vgpu_mapping_span *a = vgpu_mapping_span_alloc(0, 0);
	struct vgpu_mapping_span *b = vgpu_mapping_span_alloc(0, 0);
	struct vgpu_mapping_span *span, *tmp;
	bool ended;

	spin_lock(&mapping->lock);
	a = span_split(mapping, first, a);
	b = span_split(mapping, end, b);
	list_for_each_entry_safe(span, tmp, &mapping->spans, node) {
		if (span->first < first || span->end > end)
			continue;
		span->users += change;
		span->own += own ? change : 0;
		if (!span->users || (unmapped && !span->own))
			list_move_tail(&span->node, gone);
	}
	ended = list_empty(&mapping->spans);
	spin_unlock(&mapping->lock);
	kfree(a);
	kfree(b);
	return ended;
}

void vgpu_mapping_around(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t *first, pgoff_t *end)
{
	struct vgpu_mapping_span *span;

	*first = pgoff;
	*end = pgoff;
	spin_lock(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (span->first > max(*end, pgoff))
			break;
		if (span->first != *end)
			*first = span->first;
		*end = span->end;
	}
	/* The page has ended at the host meanwhile: what is around it is unknown. */
	if (*end <= pgoff) {
		*first = pgoff;
		*end = pgoff;
	}
	spin_unlock(&mapping->lock);
}

pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	pgoff_t first, end;

	vgpu_mapping_around(mapping, pgoff, &first, &end);
	return end - pgoff;
}

pgoff_t vgpu_mapping_next_run(struct vgpu_mapping *mapping, pgoff_t *pgoff)
{
	struct vgpu_mapping_span *span;
	pgoff_t end = *pgoff;

	spin_lock(&mapping->lock);
	list_for_each_entry(span, &mapping->spans, node) {
		if (span->end <= *pgoff)
			continue;
		if (end == *pgoff)
			*pgoff = max(*pgoff, span->first);
		else if (span->first != end)
			break;
		end = span->end;
	}
	spin_unlock(&mapping->lock);
	return end > *pgoff ? end - *pgoff : 0;
}
