/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flush: bytes that programs wrote to cached pages go back to the host. Between
 * space.c, flush.c and mapping.c only; others call vgpu_space_flush().
 */
#ifndef VGPU_FLUSH_H
#define VGPU_FLUSH_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vgpu_mapping;
struct vgpu_page;
struct vgpu_session;
struct vgpu_space;
struct vgpu_space_set;

/* How long a shadow may take no bytes until other processes do not wait for it, jiffies. */
#define VGPU_FLUSH_LATE		(2 * HZ)

/**
 * struct vgpu_flush - bytes of one session's programs that go to its shadow
 * @busy: bit 0: a thread runs it. A claim that is waited for killably, and that ends
 *	with the connection, as that thread waits for the host
 * @failed: the last run could not send all; of whoever runs it, read anywhere
 * @work: a run by nobody's thread; has a reference of the session while it is queued
 * @lock: guards what follows to @listed
 * @done: set->stamp of the last run that is through, or of when it was listed; read anywhere
 * @dirty: struct vgpu_page that were written to, oldest first; changed under the lock of
 *	the page's space, too
 * @orphans: struct vgpu_flight that the host may not have
 * @unmaps: ranges that end at the host when their dirty bytes are there
 * @listed: in set->flushes: one of these lists is not empty, or was not before the run that
 *	goes on
 * @entry: in set->flushes, with a reference of the session (set->lock)
 * @since: when it was last seen to go on, jiffies (set->lock)
 * @late: it has not gone on for VGPU_FLUSH_LATE (set->lock); read anywhere
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

/* Module init and exit; exit after the last host is freed. */
int vgpu_flush_global_init(void);
void vgpu_flush_global_exit(void);

void vgpu_flush_init(struct vgpu_flush *flush);

/**
 * vgpu_flush_all - all dirty bytes of a host's programs, then the unmaps that wait for them
 * @set: the host's spaces
 * @session: the calling process's, a reference of the caller's, or NULL: none
 * @deadline: jiffies, until which it has to be done; 0: none
 *
 * Bytes that the host refuses are lost, as its driver's SIGBUS would lose them. Those of
 * other sessions than @session are waited for only while they go on, see flush.c.
 *
 * Context: process, no locks; waits killably. With @deadline the caller may hold locks on
 * which the host's answer depends: then work items send all.
 * Return: 0, -EINTR (killed), -ETIMEDOUT, -ENOMEM, -ENODEV (lanes are lost, and the session is
 * not), or why there is no lane.
 */
int vgpu_flush_all(struct vgpu_space_set *set, struct vgpu_session *session,
		   unsigned long deadline);

/*
 * The same, by work items, which go on also when no shadow has taken any bytes in @wait
 * (jiffies), or not all are there after @most. Return: 0, or -ETIMEDOUT then.
 */
int vgpu_flush_soon(struct vgpu_space_set *set, unsigned long wait, unsigned long most);

/* The same without waiting. Any context. */
void vgpu_flush_later(struct vgpu_space_set *set);
/* The same for one session. */
void vgpu_flush_start(struct vgpu_flush *flush);

/*
 * No run of the flush goes on until vgpu_flush_release(), so no flight of it is under way.
 * Return: 0, -EINTR (killed), -ETIMEDOUT (@deadline).
 */
int vgpu_flush_claim(struct vgpu_flush *flush, unsigned long deadline);
void vgpu_flush_release(struct vgpu_flush *flush);

/* Its shadow has let somebody wait for as long. */
void vgpu_flush_set_late(struct vgpu_flush *flush);

/*
 * A flight has bytes of the page at @index that the host may not have, and who belongs to @own
 * (NULL: nobody) waits for them: not for those of others that are late.
 */
bool vgpu_flush_is_flying(struct vgpu_space *space, pgoff_t index, const struct vgpu_flush *own);
/* Until it is not. Return: 0, -EINTR (killed), -ETIMEDOUT (@deadline). */
int vgpu_flush_await_landed(struct vgpu_space *space, pgoff_t index,
			    const struct vgpu_flush *own, unsigned long deadline);

/* Another's work item that waits for flushes. Return: as queue_work(). */
bool vgpu_flush_queue(struct work_struct *work);

/* set->expire, @delay (jiffies) from now unless it comes before. Takes host->lock. */
void vgpu_flush_expire(struct vgpu_space_set *set, unsigned long delay);

/*
 * Under its space's lock: @page, which has a snapshot or goes whole, is dirty, and goes back by
 * @mapping.
 */
void vgpu_flush_add(struct vgpu_space *space, struct vgpu_page *page,
		    struct vgpu_mapping *mapping);

/* Under the space's lock: no page table has these pages any more, all of them cached. */
void vgpu_flush_unmap(struct vgpu_space *space, pgoff_t first, pgoff_t nr);

/*
 * Under its space's lock, a dirty page is clean. Return: whose it was, a reference, to be put
 * without the lock.
 */
struct vgpu_mapping *vgpu_flush_clean(struct vgpu_space *space, struct vgpu_page *page);

/* The connection is lost: forget the dirty bytes of a dead space ... */
void vgpu_flush_discard(struct vgpu_space *space);
/* ... and all that is under way. */
void vgpu_flush_abort(struct vgpu_space_set *set);

#endif /* VGPU_FLUSH_H */
