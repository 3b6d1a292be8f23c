/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reclaim of cached pages, where there are too many of them and under memory pressure, from a
 * host's connection to its end.
 */
#ifndef VGPU_RECLAIM_H
#define VGPU_RECLAIM_H

#include <linux/types.h>

struct vgpu_space;
struct vgpu_space_set;

/* Return: 0 or -ENOMEM. */
int vgpu_reclaim_start(struct vgpu_space_set *set);
void vgpu_reclaim_stop(struct vgpu_space_set *set);

/**
 * vgpu_reclaim_next - the next space of a round of all active ones
 * @set: the spaces of a host
 * @round: number of the round; 0 begins one, and becomes its number
 *
 * The space goes to the end of the line. Each is returned once at most. One that another round was
 * at meanwhile may be left out, and so may one that comes meanwhile.
 *
 * Context: any that may take set->lock, which is taken here.
 * Return: a reference, or NULL: what is left was looked at, or came, since the round began.
 */
struct vgpu_space *vgpu_reclaim_next(struct vgpu_space_set *set, u64 *round);

#endif /* VGPU_RECLAIM_H */
