/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spaces around calls: bytes that programs wrote are sent before a call. Pages that may be old are
 * dropped after the call, or after some time without calls; those that stay dirty are fetched again
 * and merged. The cache of a range is cleared before mappings of the range move out of the window.
 */
#ifndef VGPU_SPACE_SYNC_H
#define VGPU_SPACE_SYNC_H

#include <linux/types.h>

struct vgpu_host;
struct vgpu_session;
struct vgpu_space;
struct work_struct;

/**
 * vgpu_space_flush - send to the host every byte that programs wrote
 * @session: session of the calling process
 *
 * Called before each call that may make the device look at its memory. Calls
 * vgpu_space_await_faults() first. Costs one or two atomic reads if nothing was written.
 *
 * Context: process, no locks; waits killably.
 * Return: 0, or as vgpu_flush_all() without a deadline.
 */
int vgpu_space_flush(struct vgpu_session *session);

/**
 * vgpu_space_await_faults - wait for faults that lost several races against calls
 * @host: the host
 *
 * Called before everything that ends with vgpu_space_drop(). Waits for some seconds at most.
 *
 * Context: process; waits killably.
 * Return: 0 or -EINTR.
 */
int vgpu_space_await_faults(struct vgpu_host *host);

/*
 * Send the session's unmaps that wait for its flush, after the dirty bytes. Called before calls
 * that need no vgpu_space_flush(), as the program may have unmapped memory. Context and return: as
 * vgpu_space_flush().
 */
int vgpu_space_settle(struct vgpu_session *session);

/**
 * vgpu_space_drop - drop cached pages that may be old
 * @host: the host
 * @session: session of the calling process, or NULL: none
 *
 * Called after each call that may have changed device memory. Dirty bytes are sent, and clean pages
 * are dropped. Pages that are still dirty, as programs write to them meanwhile, are fetched again,
 * except for the bytes that were written.
 *
 * Context: as vgpu_space_flush().
 */
void vgpu_space_drop(struct vgpu_host *host, struct vgpu_session *session);

/**
 * vgpu_space_is_renewed - drop pages that may be old, if that needs no wait
 * @host: the host
 *
 * Does what vgpu_space_drop() does, if no page is cached and no fault waits after several lost
 * races. Fetches under way are repeated.
 *
 * Context: any.
 * Return: true if nothing is left to do; false if the caller has to call vgpu_space_drop().
 */
bool vgpu_space_is_renewed(struct vgpu_host *host);

/*
 * Work function of set->expire: drops cached pages after some time without calls. A program may
 * wait for the device by reading mapped memory, and the device for the program, while no call
 * brings either the other's bytes.
 */
void vgpu_space_expire(struct work_struct *work);

/**
 * vgpu_space_activate - enter a space into set->active
 * @space: the space, whose lock the caller holds. The caller has added pages, or does so under the
 *	same lock
 */
void vgpu_space_activate(struct vgpu_space *space);

/**
 * vgpu_space_clear - empty the cache of a range, so that the next fetch sees the host's bytes
 * @space: the space
 * @pgoff: first page, as offset in the space
 * @nr: number of pages
 * @wait: time in jiffies to wait for dirty bytes to be sent
 *
 * Dirty bytes are sent to the host. Meanwhile writers to clean pages of the space wait, but not
 * forever.
 *
 * Context: process, no locks.
 * Return: 0, -EAGAIN (pages are dirty still or again), -ETIMEDOUT (the bytes are not sent yet).
 */
int vgpu_space_clear(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr, unsigned long wait);

#endif /* VGPU_SPACE_SYNC_H */
