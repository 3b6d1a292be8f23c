/* SPDX-License-Identifier: GPL-2.0-only */
/* Batches: cached pages that are allocated together, for consecutive places in a space. */
#ifndef VGPU_BATCH_H
#define VGPU_BATCH_H

#include <linux/types.h>
#include <linux/uio.h>

struct vgpu_page;

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
/* Free a page that is not in a cache. */
void vgpu_page_free(struct vgpu_page *page);

/*
 * Store in @vec, which has room for an entry for each page, where the bytes of the pages are.
 * Return: number of used entries.
 */
size_t vgpu_batch_vec(struct vgpu_page *const *pages, u32 nr, struct kvec *vec);

#endif /* VGPU_BATCH_H */
