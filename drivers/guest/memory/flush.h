/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flush: sends bytes that programs wrote to cached pages back to the host. A call that needs the
 * bytes at the host uses vgpu_space_flush(). Dirty pages are in the flush of their mapping's
 * session. A flush is late if its shadow has taken no bytes for VGPU_FLUSH_LATE, so that only its
 * own process waits for it.
 */
#ifndef VGPU_FLUSH_H
#define VGPU_FLUSH_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct vgpu_mapping;
struct vgpu_page;
struct vgpu_space;
struct vgpu_space_set;

/**
 * struct vgpu_flush - bytes that programs of one session wrote and its shadow does not have yet
 * @busy: lock in bit 0, held by the thread that runs or has claimed the flush. The owner waits for
 *	the host, but only as long as the connection lasts; others wait for the lock killably
 * @failed: true if the last run could not send all bytes, unless its thread was killed; written by
 *	the owner of @busy, read anywhere
 * @work: work item that runs the flush without a caller; holds a reference of the session while
 *	it is queued
 * @lock: spinlock that protects @done, @dirty, @orphans, @unmaps and @listed
 * @done: value of set->stamp at the start of the last complete run, or when the flush was listed
 *	if that is later; read anywhere
 * @dirty: list of struct vgpu_page that were written to, oldest first; changed under the lock of
 *	the page's space as well
 * @orphans: list of struct vgpu_flight whose sending failed; the host may lack their bytes
 * @unmaps: list of ranges to be unmapped at the host once their dirty bytes have arrived
 * @listed: true while @entry is in set->flushes: from when one of the three lists gets an entry
 *	until the end of a run after which all are empty
 * @entry: list entry in set->flushes, which holds a reference of the session; protected by
 *	set->lock
 * @since: time in jiffies of the last progress, or of the last start of an idle flush by
 *	vgpu_flush_later(); protected by set->lock
 * @late: true if there was no progress for VGPU_FLUSH_LATE; written under set->lock, read anywhere
 */
struct vgpu_flush {
	unsigned long busy;
	bool failed;
	struct delayed_work work;
	spinlock_t lock;
	u64 done;
	struct list_head dirty;
	struct list_head orphans;
	struct list_head unmaps;
	bool listed;
	struct list_head entry;
	unsigned long since;
	bool late;
};

void vgpu_flush_init(struct vgpu_flush *flush);

/**
 * vgpu_flush_run - send the dirty bytes of a session, then the unmaps that wait for them
 * @flush: flush of the session, of which the caller holds a reference
 *
 * After a failure the work item tries again.
 *
 * Context: process, no locks; waits killably.
 * Return: 0, or an error as of vgpu_flush_all() without a deadline.
 */
int vgpu_flush_run(struct vgpu_flush *flush);

/*
 * Claim the flush: until vgpu_flush_release() no thread runs it, so none of its flights is being
 * sent. Return: 0, -EINTR (killed), -ETIMEDOUT (@deadline has passed).
 */
int vgpu_flush_claim(struct vgpu_flush *flush, unsigned long deadline);
void vgpu_flush_release(struct vgpu_flush *flush);

/*
 * Free the orphans and the queued unmaps of all flushes of a host, and cancel set->expire, after
 * the connection is lost.
 */
void vgpu_flush_abort(struct vgpu_space_set *set);

/* Time, in jiffies, without progress of a shadow after which other processes do not wait for it. */
#define VGPU_FLUSH_LATE		(2 * HZ)

/*
 * Interval in jiffies at which a waiter checks whether flushes of other sessions are late. A run
 * begins after its waiter started to wait, so it becomes late when the waiter has waited for more
 * than VGPU_FLUSH_LATE. A fault's deadline is little longer, so the waiter has to check often.
 */
#define VGPU_FLUSH_LOOK	(VGPU_FLUSH_LATE / 8)

/**
 * vgpu_flush_check_late - mark the flush whose flight has a page as late if it makes no progress
 * @space: space of the page
 * @index: offset of the page in @space, in pages; a page in no flight changes nothing
 *
 * Context: any that may take set->lock.
 */
void vgpu_flush_check_late(struct vgpu_space *space, pgoff_t index);

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

#endif /* VGPU_FLUSH_H */
