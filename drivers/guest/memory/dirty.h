/* SPDX-License-Identifier: GPL-2.0-only */
/* Dirty pages: cached pages that were written to, in the flush of their mapping's session. */
#ifndef VGPU_DIRTY_H
#define VGPU_DIRTY_H

struct vgpu_mapping;
struct vgpu_page;
struct vgpu_space;

/*
 * Make @page dirty; its bytes go back by @mapping. The caller holds the lock of its space and has
 * set page->orig or page->whole.
 */
void vgpu_flush_add(struct vgpu_space *space, struct vgpu_page *page,
		    struct vgpu_mapping *mapping);

/*
 * Make a dirty page clean. The caller holds space->lock. Return: the mapping that owned the page,
 * with its reference, which the caller drops after the lock.
 */
struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page);

/* Forget the dirty bytes of a dead space, after the connection is lost. */
void vgpu_flush_discard(struct vgpu_space *space);

#endif /* VGPU_DIRTY_H */
