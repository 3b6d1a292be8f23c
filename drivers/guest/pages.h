/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of class mm that move bytes of device mappings. */
#ifndef VGPU_PAGES_H
#define VGPU_PAGES_H

#include <linux/types.h>

struct kvec;
struct vgpu_session;
struct vgpu_stats;
struct vgpu_wire_diff;

/**
 * vgpu_pages_read - read mapped device memory of a shadow
 * @session: the session
 * @stats: counters, or NULL
 * @addr: first byte in the shadow, page aligned
 * @buf: kernel memory
 * @len: bytes, a multiple of the page size
 * @deadline: jiffies, from which on nobody waits any more; 0: none (deadline.h)
 *
 * Context: process; waits killably. No lock but mmap_lock may be held.
 * Return: bytes read, a multiple of the page size, or -EFAULT, -EINTR (killed),
 * -ETIMEDOUT (@deadline has passed), -ENODEV, -ENOMEM.
 */
s64 vgpu_pages_read(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr, void *buf,
		    u32 len, unsigned long deadline);

/*
 * The same into pieces of memory, which have room for @len bytes. They hold anything where it
 * fails, and behind what was read.
 */
s64 vgpu_pages_read_vec(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr,
			const struct kvec *vec, size_t nr, u32 len, unsigned long deadline);

/**
 * vgpu_pages_have_access - whether the driver has an operation for debuggers
 * @session: the session
 * @stats: counters, or NULL
 * @addr: page of a mapping with VGPU_MAP_ASK, which is read by that operation if there is one
 * @deadline: as of vgpu_pages_read()
 *
 * Context: as vgpu_pages_read().
 * Return: true if it has; false if it has none, or nobody answers.
 */
bool vgpu_pages_have_access(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr,
			    unsigned long deadline);

/**
 * vgpu_pages_write - write to mapped device memory of a shadow
 * @session: the session
 * @stats: counters, or NULL
 * @diff: what, at least one range; those that the driver refuses are passed over
 * @deadline: as of vgpu_pages_read()
 *
 * Context and return: as vgpu_pages_read(), 0 for success; -EAGAIN: the host's thread was
 * interrupted.
 */
s64 vgpu_pages_write(struct vgpu_session *session, struct vgpu_stats *stats,
		     const struct vgpu_wire_diff *diff, unsigned long deadline);

#endif /* VGPU_PAGES_H */
