/* SPDX-License-Identifier: GPL-2.0-only */
/* Reclaim of cached pages under memory pressure, from a host's connection to its end. */
#ifndef VGPU_RECLAIM_H
#define VGPU_RECLAIM_H

struct vgpu_space_set;

/* Return: 0 or -ENOMEM. */
int vgpu_reclaim_start(struct vgpu_space_set *set);
void vgpu_reclaim_stop(struct vgpu_space_set *set);

#endif /* VGPU_RECLAIM_H */
