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
 * @change: 1 or -1, which is added to the users of what @vma covers
 * @gone: list to which spans that end are moved; the caller frees them
 *
 * Context: process; mmap_lock held for writing. Takes mapping->lock.
 * Return: true if no program shows any part of the mapping, nor will.
 */
bool vgpu_mapping_spans_count(struct vgpu_mapping *mapping, struct vm_area_struct *vma, int change,
			      struct list_head *gone);

/*
 * Return: number of pages from page @pgoff of the space on that the shadow still has mapped, up to
 * the first gap. Addresses of the mapping in a gap may show something else.
 */
pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff);
/* Find the pages around page @pgoff that are still mapped, without a gap: [@first, @end). */
void vgpu_mapping_around(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t *first, pgoff_t *end);

/*
 * Find the first pages from page *@pgoff on that the shadow still has mapped, and store the first
 * of them in *@pgoff. Return: number of pages without a gap; 0: there are none.
 */
pgoff_t vgpu_mapping_next_run(struct vgpu_mapping *mapping, pgoff_t *pgoff);

#endif /* VGPU_MAPPING_SPAN_H */
