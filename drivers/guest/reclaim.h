/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reclaim of cached pages, where there are too many of them and under memory pressure, from a
 * host's connection to its end.
 */
#ifndef VGPU_RECLAIM_H
#define VGPU_RECLAIM_H

struct vgpu_space;
struct vgpu_space_set;

/* Return: 0 or -ENOMEM. */
int vgpu_reclaim_start(struct vgpu_space_set *set);
void vgpu_reclaim_stop(struct vgpu_space_set *set);

/*
 * An active space, with a reference, which goes to the end of the line; or NULL, once around.
 * @first: NULL in the beginning; where this began
 */
struct vgpu_space *vgpu_reclaim_next(struct vgpu_space_set *set, const struct vgpu_space **first);

#endif /* VGPU_RECLAIM_H */
