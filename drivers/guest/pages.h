/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of class mm that move bytes of device mappings. */
#ifndef VGPU_PAGES_H
#define VGPU_PAGES_H

#include <linux/types.h>

struct vgpu_range;
struct vgpu_session;
struct vgpu_stats;

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

/**
 * vgpu_pages_write - write to mapped device memory of a shadow
 * @session: the session
 * @stats: counters, or NULL
 * @ranges: where, as on the wire
 * @nr: entries of @ranges, 1 to VGPU_RANGES_MAX
 * @bytes: one range after the other
 * @len: bytes together
 * @deadline: likewise
 *
 * Context and return: as vgpu_pages_read(), 0 for success.
 */
s64 vgpu_pages_write(struct vgpu_session *session, struct vgpu_stats *stats,
		     struct vgpu_range *ranges, u32 nr, void *bytes, u32 len,
		     unsigned long deadline);

#endif /* VGPU_PAGES_H */
