/* SPDX-License-Identifier: GPL-2.0-only */
/* Spans: parts of a mapping, each with the number of VMAs that cover it. */
#ifndef VGPU_MAPPING_SPAN_H
#define VGPU_MAPPING_SPAN_H

#include <linux/list.h>

struct vgpu_mapping;
struct vm_area_struct;

/**
 * struct vgpu_mapping_span - part of a mapping: pages [@first, @end) of its space
 * @node: list entry in mapping->spans; protected by mapping->lock, like all fields below
 * @first: offset of the first page in the space, in pages
 * @end: offset behind the last page
 * @users: number of VMAs that cover the pages
 * @own: number of these VMAs that belong to the process of the shadow
 */
struct vgpu_mapping_span {
	struct list_head node;
	pgoff_t first;
	pgoff_t end;
	unsigned int users;
	unsigned int own;
};

/**
 * vgpu_mapping_span_alloc - allocate a span that one VMA of the shadow's process covers
 * @first: offset of the first page in the space, in pages
 * @end: offset behind the last page
 *
 * Context: process; may reclaim memory. Does not fail.
 * Return: the span, which is on no list and is freed with kfree().
 */
struct vgpu_mapping_span *vgpu_mapping_span_alloc(pgoff_t first, pgoff_t end);

/**
 * vgpu_mapping_spans_count - count a VMA that comes or goes
 * @mapping: the mapping
 * @vma: the VMA
 * @change: 1 for a VMA that comes, -1 for one that goes
 * @gone: list to which spans that end are moved; the caller frees them
 *
 * Context: process; mmap_lock held for writing. Takes mapping->lock.
 * Return: true if the mapping has no span any more, and never will: every part has ended at the
 * host.
 */
bool vgpu_mapping_spans_count(struct vgpu_mapping *mapping, struct vm_area_struct *vma, int change,
			      struct list_head *gone);

/*
 * Return: number of consecutive pages, beginning with page @pgoff of the space, that the shadow
 * still has mapped; 0 if the page itself has ended. Another mapping of the shadow may be at the
 * addresses of pages that have ended.
 */
pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff);
/*
 * Find the consecutive pages around page @pgoff that the shadow still has mapped: [@first, @end).
 * Both are @pgoff if the page itself has ended.
 */
void vgpu_mapping_around(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t *first, pgoff_t *end);

/*
 * Find the first page from page *@pgoff on that the shadow still has mapped, and store its offset
 * in *@pgoff. Return: number of consecutive mapped pages that begin there; 0: there are none.
 */
pgoff_t vgpu_mapping_next_run(struct vgpu_mapping *mapping, pgoff_t *pgoff);

#endif /* VGPU_MAPPING_SPAN_H */
