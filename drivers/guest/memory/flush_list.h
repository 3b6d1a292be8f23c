/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * List of the flushes of a host that have something to send, and the work queue on which they run
 * without a caller.
 */
#ifndef VGPU_FLUSH_LIST_H
#define VGPU_FLUSH_LIST_H

#include <linux/types.h>

struct vgpu_flush;
struct vgpu_session;
struct vgpu_space_set;
struct work_struct;

/* Module init and exit; exit is called after the last host is freed. */
int vgpu_flush_global_init(void);
void vgpu_flush_global_exit(void);

/* Return: the session of a flush, without a reference. */
struct vgpu_session *vgpu_flush_session(struct vgpu_flush *flush);
/* Return: the spaces of the flush's host. */
struct vgpu_space_set *vgpu_flush_spaces(struct vgpu_flush *flush);

/**
 * vgpu_flush_done_locked - note that a flush has completed a run
 * @flush: the flush, whose lock the caller holds
 * @stamp: stamp of the run; an older one than flush->done changes nothing
 */
void vgpu_flush_done_locked(struct vgpu_flush *flush, u64 stamp);

/**
 * vgpu_flush_list_locked - put a flush on set->flushes
 * @flush: the flush, one of whose lists got an entry; the caller holds its lock
 *
 * The list holds a reference of the session. Takes set->lock.
 */
void vgpu_flush_list_locked(struct vgpu_flush *flush);

/**
 * vgpu_flush_unlist - take a flush off set->flushes if its lists are empty
 * @flush: the flush; the caller has a reference of its session
 *
 * Context: any that may take flush->lock and set->lock.
 */
void vgpu_flush_unlist(struct vgpu_flush *flush);

/**
 * vgpu_flush_goes_on - note progress, so that the flush is not late and waiters go on waiting
 * @flush: the flush, of which a run has begun, or whose shadow has taken bytes
 *
 * Context: any that may take set->lock.
 */
void vgpu_flush_goes_on(struct vgpu_flush *flush);

/**
 * vgpu_flush_check_late_locked - mark a flush as late if it has made no progress
 * @flush: the flush; the caller holds set->lock
 */
void vgpu_flush_check_late_locked(struct vgpu_flush *flush);

/**
 * vgpu_flush_run_later - run a flush by its work item
 * @flush: the flush
 * @delay: time in jiffies until the run; ignored if the work item is queued already, unless it is 0
 *
 * Context: any; does not sleep.
 */
void vgpu_flush_run_later(struct vgpu_flush *flush, unsigned long delay);

/*
 * Queue on the work queue of flushes a work item that is not a flush, but may wait for flushes.
 * Return: as queue_work().
 */
bool vgpu_flush_queue(struct work_struct *work);

/* Queue set->expire in @delay jiffies, unless it is due earlier. Takes host->lock. */
void vgpu_flush_expire(struct vgpu_space_set *set, unsigned long delay);

#endif /* VGPU_FLUSH_LIST_H */
