// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans: see mapping_span.h.
 *
 * The shadow's mapping lives as long as any VMA of any process shows it. The core calls ->open for
 * a new VMA (after a fork, or a split by a partial munmap or mprotect) and ->close for one that
 * goes. So a mapping keeps *spans*: its parts, each with the number of VMAs that cover it. A fork
 * adds 1 to the number where its VMA is. A split adds nothing, as each half covers its own part. A
 * close subtracts 1, and a part that no VMA covers any more ends at the host. A part also ends
 * when the process to which the shadow belongs has unmapped it: calls of the process may refer to
 * something else at that address from then on. A child that still shows the part gets SIGBUS there.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "link/session.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"

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
