/* SPDX-License-Identifier: GPL-2.0-only */
/* Reclaim: frees clean cached pages where there are too many of them, and under memory pressure. */
#ifndef VGPU_RECLAIM_H
#define VGPU_RECLAIM_H

#include <linux/types.h>

struct vgpu_space;
struct vgpu_space_set;

/* Register the shrinker. Return: 0 or -ENOMEM. */
int vgpu_reclaim_start(struct vgpu_space_set *set);
void vgpu_reclaim_stop(struct vgpu_space_set *set);

/**
 * vgpu_reclaim_next - get the next space of a round of all active ones
 * @set: spaces of a host
 * @round: number of the round; 0 begins a round, and is replaced by its number
 *
 * The space is moved to the end of the list. A round returns each space once at most. It may miss a
 * space that another round returns meanwhile, or that becomes active meanwhile.
 *
 * Context: any that may take set->lock, which is taken here.
 * Return: a space, with a reference; NULL: all that are left were returned by a round, or became
 * active, since this round began.
 */
struct vgpu_space *vgpu_reclaim_next(struct vgpu_space_set *set, u64 *round);

#endif /* VGPU_RECLAIM_H */
