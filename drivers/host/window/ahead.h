/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Preparations of pages that a program will access soon.
 */
#ifndef _VGPU_HOST_AHEAD_H
#define _VGPU_HOST_AHEAD_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct vgpu_binding;
struct vgpu_touch;
struct work_struct;

/* Time after which a preparation ends, and for which a touch waits for it at most. */
#define VGPU_AHEAD_TIME	max(HZ / 50, 1)

/* Work function of a binding's preparation. */
void vgpuh_ahead_work(struct work_struct *work);
/*
 * Wait killably for a preparation that is under way and covers @offset, no longer than a
 * preparation may take. Return: false if there is none, and the caller has not waited.
 */
bool vgpuh_ahead_wait(struct vgpu_binding *binding, u64 offset);
/*
 * Continue read-ahead: the pages from @touch to @next were inserted, if @huge by a PMD mapping. If
 * the touch began where the last one ended, the program goes on in order, and the bytes from @next
 * on are prepared: up to the next 2 MiB of the window, so that steps of 2 MiB begin where a PMD
 * mapping may begin; if @huge, several times 2 MiB.
 */
void vgpuh_ahead_start(struct vgpu_binding *binding, const struct vgpu_touch *touch, u64 next,
		       bool huge);

#endif /* _VGPU_HOST_AHEAD_H */
