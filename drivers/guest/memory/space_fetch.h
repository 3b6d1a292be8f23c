/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fetches: bring pages of the host into the cache, for faults that wait for them. A fault that
 * stores also waits here until its page may become dirty. Pages for consecutive offsets in a space
 * are allocated together, as a batch.
 */
#ifndef VGPU_SPACE_FETCH_H
#define VGPU_SPACE_FETCH_H

#include <linux/types.h>

struct vgpu_mapping;
struct vgpu_page;

/**
 * struct vgpu_space_ahead - pages of a mapping that are fetched ahead; protected by mapping->lock
 * @run_first: page at which the program began to read page after page
 * @run_end: page behind the last one that the program has used since it began at @run_first
 * @next: page at which a fault counts as sequential
 * @nr: number of pages that the last fault fetched
 */
struct vgpu_space_ahead {
	pgoff_t run_first;
	pgoff_t run_end;
	pgoff_t next;
	u32 nr;
};

/*
 * Fetch a page that is not cached, and, with @write, wait until it may become dirty. @deadline:
 * deadline of the fault, see deadline.h. Return: 0, -EINTR, or the error of the fetch or the wait.
 */
int vgpu_space_wait(struct vgpu_mapping *mapping, pgoff_t index, bool write,
		    unsigned long deadline);

/**
 * vgpu_space_note_use - note that a program uses a page that may have been fetched ahead
 * @mapping: mapping of the fault
 * @index: offset of the page in its space, in pages
 *
 * Context: any that may take mapping->lock.
 */
void vgpu_space_note_use(struct vgpu_mapping *mapping, pgoff_t index);

/**
 * vgpu_batch_alloc - allocate pages that are not cached yet
 * @pages: out: the pages, clean
 * @nr: number of pages
 * @zero: true if their bytes are to be zero; else they are undefined
 *
 * Memory of many pages is allocated at once where possible: one allocation for each page costs as
 * much time as filling the pages.
 *
 * Return: number of pages, fewer than @nr if memory is short.
 */
u32 vgpu_batch_alloc(struct vgpu_page **pages, u32 nr, bool zero);

/* Free the pages that are left in @pages, where entries may be NULL. */
void vgpu_batch_free(struct vgpu_page **pages, u32 nr);

#endif /* VGPU_SPACE_FETCH_H */
