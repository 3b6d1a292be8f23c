/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * READ_PAGES and WRITE_PAGES: calls of class mm that read and write the bytes of device mappings in
 * a shadow. Cached pages (struct vgpu_page) are in space.h.
 */
#ifndef VGPU_PAGES_H
#define VGPU_PAGES_H

#include <linux/types.h>

struct kvec;
struct vgpu_session;
struct vgpu_stats;
struct vgpu_wire_diff;

/**
 * vgpu_pages_read - read mapped device memory of a shadow
 * @session: session of the shadow
 * @stats: counters, or NULL
 * @addr: address of the first byte in the shadow, page aligned
 * @buf: kernel memory for the bytes
 * @len: number of bytes, a multiple of the page size
 * @deadline: time in jiffies at which the wait ends; 0: none (deadline.h)
 *
 * Context: process; waits killably. No lock but mmap_lock may be held.
 * Return: bytes read, a multiple of the page size, or -EFAULT, -EINTR (killed, or a signal came
 * and there is no deadline), -ETIMEDOUT (@deadline has passed), -ENODEV, -ENOMEM.
 */
s64 vgpu_pages_read(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr, void *buf,
		    u32 len, unsigned long deadline);

/*
 * Read into pieces of memory, which together have room for @len bytes. The pieces are undefined
 * after a failure, and behind the bytes that were read. @flags: VGPU_CALL_DEBUG: use the driver's
 * operation for debuggers (vm_ops->access), and fail if there is none; else 0. Context and return:
 * as vgpu_pages_read().
 */
s64 vgpu_pages_read_vec(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr,
			const struct kvec *vec, size_t nr, u32 len, u16 flags,
			unsigned long deadline);

/**
 * vgpu_pages_write - write to mapped device memory of a shadow
 * @session: session of the shadow
 * @stats: counters, or NULL
 * @diff: ranges and their bytes, at least one range; ranges that the driver refuses are skipped
 * @deadline: as of vgpu_pages_read()
 *
 * Context: as vgpu_pages_read().
 * Return: 0, an error as of vgpu_pages_read(), -EFAULT (the host has refused all ranges, or the
 * message), -EAGAIN (the host's thread was interrupted), or -EPIPE (the lane was lost on which the
 * ranges were sent).
 */
s64 vgpu_pages_write(struct vgpu_session *session, struct vgpu_stats *stats,
		     const struct vgpu_wire_diff *diff, unsigned long deadline);

#endif /* VGPU_PAGES_H */
