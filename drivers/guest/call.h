/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The call engine: sends a call on a lane and serves the host's upcalls until
 * the reply comes.
 */
#ifndef VGPU_CALL_H
#define VGPU_CALL_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "uapi/linux/vgpu_wire.h"

#include "wire.h"

struct vgpu_object;
struct vgpu_session;
struct vgpu_stats;

/* Only for MMAP, READ_PAGES, WRITE_PAGES: mmap_lock may be held, no upcalls. */
#define VGPU_XCALL_MM		BIT(0)
/* The driver is known to look at no mapped memory: caches of it may stay. */
#define VGPU_XCALL_NO_MAPPED	BIT(1)
/* Signals do not cancel it: the host does not block in it. */
#define VGPU_XCALL_NO_CANCEL	BIT(2)

/*
 * In another process's session: nothing of the caller's memory is in it, nor is looked at for it,
 * and what that process has to wait for is no business of the caller. It has a deadline.
 */
#define VGPU_XCALL_FOREIGN	BIT(3)

#define VGPU_XCALL_INLINE	272

/**
 * struct vgpu_xcall - a call of this guest, from request to reply
 * @msg: fixed part. The caller fills in op, flags, object, f_flags, pos and
 *	args; vgpu_call_run() the rest
 * @object: on which, or NULL
 * @flags: VGPU_XCALL_*
 * @deadline: jiffies, from which on it ends with -ETIMEDOUT, whether it has no lane yet or
 *	no reply; 0: none (deadline.h). Set by the caller
 * @nr_segs: segments
 * @nr_fixups: fixups
 * @segs: segments, as on the wire
 * @fixups: fixups, as on the wire
 * @in: bytes of the IN segments, each segment padded to 8; modified
 * @nr_in: entries of @in
 * @in_len: bytes of @in together
 * @out: where the bytes of a READ_PAGES go, as many as it asks for; NULL: into memory of this
 *	call's, as all others
 * @nr_out: entries of @out
 * @stats: counters; may be NULL
 * @sent_at: CLOCK_MONOTONIC in nanoseconds when sending began
 * @sent: the host has the whole call, whatever came of it then
 * @fetched: the host has asked for memory of the program, of which no segment tells
 * @result: what the file operation returned on the host
 * @reply: the checked reply, valid from a successful run to fini, without the bytes that
 *	went to @out. It was acknowledged: the caller owns the references of its objects
 * @buf: memory behind @reply
 * @inline_buf: for short replies
 */
struct vgpu_xcall {
	struct vgpu_call msg;
	struct vgpu_object *object;
	unsigned int flags;
	unsigned long deadline;
	unsigned int nr_segs;
	unsigned int nr_fixups;
	const struct vgpu_seg *segs;
	const struct vgpu_fixup *fixups;
	struct kvec *in;
	size_t nr_in;
	size_t in_len;
	const struct kvec *out;
	size_t nr_out;
	struct vgpu_stats *stats;

	u64 sent_at;
	bool sent;
	bool fetched;
	s64 result;
	struct vgpu_reply_view reply;
	void *buf;
	u64 inline_buf[VGPU_XCALL_INLINE / sizeof(u64)];
};

void vgpu_xcall_init(struct vgpu_xcall *xcall, u16 op, struct vgpu_object *object);
void vgpu_xcall_fini(struct vgpu_xcall *xcall);
int vgpu_call_run(struct vgpu_session *session, struct vgpu_xcall *xcall);
long vgpu_call_result(const struct vgpu_xcall *xcall);

#endif /* VGPU_CALL_H */
