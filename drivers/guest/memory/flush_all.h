/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All flushes of a host that have something to send (flush_list.h), and waits until they have sent
 * what was written before.
 */
#ifndef VGPU_FLUSH_ALL_H
#define VGPU_FLUSH_ALL_H

#include <linux/types.h>

struct vgpu_flush;
struct vgpu_session;
struct vgpu_space_set;

/**
 * vgpu_flush_all - send all dirty bytes of a host's programs, then the unmaps that wait for them
 * @set: spaces of the host
 * @session: session of the calling process, of which the caller holds a reference; NULL: none
 * @deadline: time in jiffies by which all has to be sent; 0: no deadline
 *
 * Bytes that the host's driver refuses are lost, as a native store that gets SIGBUS is. Flushes of
 * other sessions than @session are waited for only while they make progress, see flush.c.
 *
 * Context: process, no locks; waits killably. With @deadline the caller may hold locks on
 * which the host's answer depends: work items send all bytes then.
 * Return: 0, -EINTR (killed), -ETIMEDOUT, -ENOMEM, -ENODEV (lanes were lost although the session
 * lives), or the error with which no lane could be had.
 */
int vgpu_flush_all(struct vgpu_space_set *set, struct vgpu_session *session,
		   unsigned long deadline);

/*
 * Flush all sessions by work items. Waits, not killably, for all of them, including late ones, but
 * gives up when no flush has made progress for @wait jiffies, or after @most jiffies. The work
 * items go on then. Return: 0, or -ETIMEDOUT after giving up.
 */
int vgpu_flush_soon(struct vgpu_space_set *set, unsigned long wait, unsigned long most);

/*
 * Flush all sessions, except that of @own (NULL: none), by work items, without waiting. Does not
 * sleep; takes set->lock.
 */
void vgpu_flush_later(struct vgpu_space_set *set, struct vgpu_flush *own);

#endif /* VGPU_FLUSH_ALL_H */
