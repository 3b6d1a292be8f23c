/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings that may move, by the pages that they show. Mappings of a space that share pages are in
 * the same mode, or move.
 */
#ifndef VGPU_MOVE_SHARE_H
#define VGPU_MOVE_SHARE_H

#include <linux/types.h>

#include "memory/move.h"

struct vgpu_mapping;
struct vgpu_space;

/*
 * Return: the first mapping of the space that has pages from @first to @last. The caller holds
 * host->lock.
 */
struct vgpu_mapping *vgpu_move_first(struct vgpu_space *space, pgoff_t first, pgoff_t last);
/* Return: the mapping after @mapping in that range; @last may have grown in between. */
struct vgpu_mapping *vgpu_move_next(struct vgpu_mapping *mapping, pgoff_t first, pgoff_t last);

/**
 * vgpu_move_is_apart - check whether mappings that share pages are in different modes
 * @space: the space; the caller holds host->lock
 * @first: offset of the first page, in pages
 * @last: offset of the last page
 * @mode: mode that the mappings should have
 *
 * Takes a time that does not depend on the number of mappings.
 *
 * Return: true if a mapping that has pages from @first to @last is in another mode than @mode.
 */
bool vgpu_move_is_apart(struct vgpu_space *space, pgoff_t first, pgoff_t last,
			enum vgpu_mapping_mode mode);

/*
 * Add a new mapping that may move, and that no program can access yet. @asked: result of
 * vgpu_move_asked() from before the call that placed the mapping. The mapping begins in mode MOVING
 * if a mapping in another mode shows pages of it.
 */
void vgpu_move_add(struct vgpu_mapping *mapping, u64 asked);

/* Set the mode. The caller holds host->lock. */
void vgpu_move_set_mode_locked(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode);

/* Note that no program shows any part of the mapping any more: it shares pages with none. */
void vgpu_move_alone(struct vgpu_mapping *mapping);

/* Take a mapping that is freed off all lists and trees. */
void vgpu_move_forget(struct vgpu_mapping *mapping);

#endif /* VGPU_MOVE_SHARE_H */
