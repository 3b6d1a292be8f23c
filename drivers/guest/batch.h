/* SPDX-License-Identifier: GPL-2.0-only */
/* Batches: cached pages that are made together, for places next to each other in a space. */
#ifndef VGPU_BATCH_H
#define VGPU_BATCH_H

#include <linux/types.h>
#include <linux/uio.h>

struct vgpu_page;

/**
 * vgpu_batch_alloc - make pages that are not cached yet
 * @pages: out: the pages, clean
 * @nr: how many
 * @zero: their bytes are zero, else anything
 *
 * Memory of many pages is asked for at once where there is some: one page after the other costs
 * as much as what fills them.
 *
 * Return: how many there are, which may be fewer where memory is short.
 */
u32 vgpu_batch_alloc(struct vgpu_page **pages, u32 nr, bool zero);

/* The function frees the pages that are left in @pages, where entries may be NULL. */
void vgpu_batch_free(struct vgpu_page **pages, u32 nr);
/* A page that is cached no more, or was never. */
void vgpu_page_free(struct vgpu_page *page);

/*
 * The function notes in @vec, which has room for an entry for each page, where the bytes of the
 * pages are. Return: how many entries it takes.
 */
size_t vgpu_batch_vec(struct vgpu_page *const *pages, u32 nr, struct kvec *vec);

#endif /* VGPU_BATCH_H */
