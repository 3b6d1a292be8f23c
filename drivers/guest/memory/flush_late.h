/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages in flights, and flushes that are late: their shadows have taken no bytes for
 * VGPU_FLUSH_LATE, so only their own processes wait for them.
 */
#ifndef VGPU_FLUSH_LATE_H
#define VGPU_FLUSH_LATE_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct vgpu_flush;
struct vgpu_space;

/* Time, in jiffies, without progress of a shadow after which other processes do not wait for it. */
#define VGPU_FLUSH_LATE		(2 * HZ)

/*
 * Interval in jiffies at which a waiter checks whether flushes of other sessions are late. A run
 * begins after its waiter started to wait, so it becomes late when the waiter has waited for more
 * than VGPU_FLUSH_LATE. A fault's deadline is little longer, so the waiter has to check often.
 */
#define VGPU_FLUSH_LOOK	(VGPU_FLUSH_LATE / 8)

/**
 * vgpu_flush_check_late_locked - mark a flush as late if it has made no progress
 * @flush: the flush; the caller holds set->lock
 */
void vgpu_flush_check_late_locked(struct vgpu_flush *flush);

/**
 * vgpu_flush_check_late - mark the flush whose flight has a page as late if it makes no progress
 * @space: space of the page
 * @index: offset of the page in @space, in pages; a page in no flight changes nothing
 *
 * Context: any that may take set->lock.
 */
void vgpu_flush_check_late(struct vgpu_space *space, pgoff_t index);

/* Mark the flush as late, after its shadow kept a caller waiting for VGPU_FLUSH_LATE. */
void vgpu_flush_set_late(struct vgpu_flush *flush);

/*
 * Check whether a flight has bytes of the page at @index that the host may lack and that have to
 * be waited for by a caller that belongs to flush @own (NULL: to none). Flights of late flushes
 * other than @own are not waited for.
 */
bool vgpu_flush_is_flying(struct vgpu_space *space, pgoff_t index, const struct vgpu_flush *own);

/*
 * Wait until vgpu_flush_is_flying() is false. Return: 0, -EINTR (killed), -ETIMEDOUT (@deadline
 * has passed).
 */
int vgpu_flush_await_landed(struct vgpu_space *space, pgoff_t index,
			    const struct vgpu_flush *own, unsigned long deadline);

#endif /* VGPU_FLUSH_LATE_H */
