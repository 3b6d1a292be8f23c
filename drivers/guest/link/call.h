/* SPDX-License-Identifier: GPL-2.0-only */
/* Call engine: sends a call on a lane and serves the host's upcalls until the reply has come. */
#ifndef VGPU_CALL_H
#define VGPU_CALL_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "uapi/linux/vgpu_wire.h"

#include "wire.h"

struct file;
struct vgpu_session;
struct vgpu_stats;

/*
 * Call of class mm (Documentation/internals/protocol.rst): mmap_lock may be held, so the host sends
 * no upcalls.
 */
#define VGPU_GUEST_CALL_MM		BIT(0)
/* The host's driver accesses no mapped memory in this call, so cached pages may stay. */
#define VGPU_GUEST_CALL_NO_MAPPED	BIT(1)
/* A signal sends no CANCEL, because the host does not block in this call. */
#define VGPU_GUEST_CALL_NO_CANCEL	BIT(2)

/*
 * Call in the session of another process. The call passes no memory of the caller, and an upcall
 * for the call is a protocol error. The caller does not wait for flushes of the other process.
 * The call must have a deadline.
 */
#define VGPU_GUEST_CALL_FOREIGN	BIT(3)

/* Size limit in bytes of a reply that needs no allocation. */
#define VGPU_GUEST_CALL_INLINE	272

/**
 * struct vgpu_call_cost - cost of one call; written by the calling thread
 * @round_trips: number of replies that the thread has awaited, and of upcalls
 * @pages: number of program pages that the host has fetched
 * @bytes_out: number of bytes sent
 * @bytes_in: number of bytes received
 */
struct vgpu_call_cost {
	u32 round_trips;
	u32 pages;
	u64 bytes_out;
	u64 bytes_in;
};

/**
 * struct vgpu_guest_call - a call of this guest, from request to reply
 * @msg: fixed part of the message. The caller fills in op, flags, object, f_flags, pos and
 *	args; vgpu_call_run() fills in the rest
 * @flags: VGPU_GUEST_CALL_*
 * @deadline: time in jiffies at which the call ends with -ETIMEDOUT if it has no lane or no
 *	reply yet; 0: none (deadline.h). Set by the caller
 * @nr_segs: number of segments
 * @nr_fixups: number of fixups
 * @segs: segments in the format of the wire
 * @fixups: fixups in the format of the wire
 * @in: bytes of the IN segments, each segment padded to 8
 * @nr_in: number of entries of @in
 * @out: buffers for the bytes that a READ_PAGES returns, with room for all that the call asks
 *	for; NULL: all of the reply goes to @buf
 * @nr_out: number of entries of @out
 * @stats: counters of the export; may be NULL
 * @file: file of the call, for tracing; NULL: none. The caller keeps its reference
 * @cost: cost of the call so far
 * @sent_at: time at which sending began, CLOCK_MONOTONIC in nanoseconds
 * @sent: true if all of the call was sent, whether or not a reply came
 * @fetched: true if the host has asked for program memory that no segment names
 * @result: result of the file operation on the host
 * @reply: checked reply, valid from a successful vgpu_call_run() to vgpu_guest_call_fini(), without
 *	the bytes that went to @out. It was acknowledged: the caller owns the references of its
 *	objects
 * @buf: memory of @reply
 * @seg: segment of vgpu_guest_call_seg()
 * @seg_in: bytes of @seg
 * @inline_buf: memory for short replies
 */
struct vgpu_guest_call {
	struct vgpu_call msg;
	unsigned int flags;
	unsigned long deadline;
	unsigned int nr_segs;
	unsigned int nr_fixups;
	const struct vgpu_seg *segs;
	const struct vgpu_fixup *fixups;
	struct kvec *in;
	size_t nr_in;
	const struct kvec *out;
	size_t nr_out;
	struct vgpu_stats *stats;
	const struct file *file;

	struct vgpu_call_cost cost;
	u64 sent_at;
	bool sent;
	bool fetched;
	s64 result;
	struct vgpu_reply_view reply;
	void *buf;
	struct vgpu_seg seg;
	struct kvec seg_in;
	u64 inline_buf[VGPU_GUEST_CALL_INLINE / sizeof(u64)];
};

void vgpu_guest_call_init(struct vgpu_guest_call *xcall, u16 op, u32 object);
void vgpu_guest_call_seg(struct vgpu_guest_call *xcall, const void __user *addr, u32 len,
			 u32 flags, void *in);
void vgpu_guest_call_fini(struct vgpu_guest_call *xcall);
int vgpu_call_run(struct vgpu_session *session, struct vgpu_guest_call *xcall);
long vgpu_call_result(const struct vgpu_guest_call *xcall);

#endif /* VGPU_CALL_H */
