// SPDX-License-Identifier: GPL-2.0-only
/* READ_PAGES and WRITE_PAGES: see pages.h. */
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "base/deadline.h"
#include "link/call.h"
#include "memory/pages.h"

/* Return: what the host's @result of a READ_PAGES call means to the caller. */
static s64 pages_got(s64 result)
{
	/* Other errors of the host's must not look like those of this module. */
	return result >= 0 || result == -ENOMEM || result == -EINTR ? result : -EFAULT;
}

/* Makes one call. @result: out: result of the host. Return: as vgpu_call_run(). */
static int pages_read_once(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr,
			   const struct kvec *vec, size_t nr, u32 len, u16 flags,
			   unsigned long deadline, s64 *result)
{
	struct vgpu_guest_call xcall;
	int ret;

	vgpu_guest_call_init(&xcall, VGPU_OP_READ_PAGES, 0);
	xcall.msg.flags = cpu_to_le16(flags);
	xcall.msg.args.pages.addr = cpu_to_le64(addr);
	xcall.msg.args.pages.len = cpu_to_le64(len);
	xcall.flags = VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL;
	xcall.deadline = deadline;
	xcall.stats = stats;
	vgpu_guest_call_seg(&xcall, NULL, len, VGPU_SEG_OUT, NULL);
	xcall.out = vec;
	xcall.nr_out = nr;
	ret = vgpu_call_run(session, &xcall);
	*result = pages_got(xcall.result);
	vgpu_guest_call_fini(&xcall);
	return ret;
}

s64 vgpu_pages_read_vec(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr,
			const struct kvec *vec, size_t nr, u32 len, u16 flags,
			unsigned long deadline)
{
	s64 result;
	int ret;

	/*
	 * -EINTR: the host's thread was interrupted. A host may say so for ever, so a signal ends
	 * the attempts of a fault that has no deadline: an instruction of the program runs again.
	 */
	do {
		ret = pages_read_once(session, stats, addr, vec, nr, len, flags, deadline, &result);
		if (ret || result != -EINTR)
			return ret ?: result;
		if (vgpu_deadline_passed(deadline))
			return -ETIMEDOUT;
	} while (deadline ? !fatal_signal_pending(current) : !signal_pending(current));
	return -EINTR;
}

s64 vgpu_pages_read(struct vgpu_session *session, struct vgpu_stats *stats, u64 addr, void *buf,
		    u32 len, unsigned long deadline)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };

	return vgpu_pages_read_vec(session, stats, addr, &vec, 1, len, 0, deadline);
}

/* Return: what the host's @result of a WRITE_PAGES call means to the sender. */
static s64 pages_written(s64 result)
{
	switch (min_t(s64, result, 0)) {
	case 0:
		return 0;
	case -ENOMEM:
		return -ENOMEM;
	case -EINTR:
		/* The host's thread was interrupted, not the caller. */
		return -EAGAIN;
	default:
		/*
		 * The driver has refused the bytes, or the session ends there, and its mappings
		 * with it (-ENODEV), or the host does not take the message. Sending the bytes
		 * again would change nothing.
		 */
		return -EFAULT;
	}
}

s64 vgpu_pages_write(struct vgpu_session *session, struct vgpu_stats *stats,
		     const struct vgpu_wire_diff *diff, unsigned long deadline)
{
	static const u64 zeros;
	u32 ranges_len = diff->nr * sizeof(*diff->ranges);
	u32 pad = vgpu_wire_pad(diff->len) - diff->len;
	struct vgpu_seg segs[] = {
		{
			.len = cpu_to_le32(ranges_len),
			.flags = cpu_to_le32(VGPU_SEG_IN),
		}, {
			.len = cpu_to_le32(diff->len),
			.flags = cpu_to_le32(VGPU_SEG_IN),
		},
	};
	struct kvec in[] = {
		{ .iov_base = diff->ranges, .iov_len = ranges_len },
		{ .iov_base = diff->bytes, .iov_len = diff->len },
		{ .iov_base = (void *)&zeros, .iov_len = pad },
	};
	struct vgpu_guest_call xcall;
	s64 ret;

	vgpu_guest_call_init(&xcall, VGPU_OP_WRITE_PAGES, 0);
	xcall.flags = VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL;
	xcall.deadline = deadline;
	xcall.stats = stats;
	xcall.nr_segs = ARRAY_SIZE(segs);
	xcall.segs = segs;
	xcall.in = in;
	xcall.nr_in = pad ? 3 : 2;
	ret = vgpu_call_run(session, &xcall);
	if (!ret)
		ret = pages_written(xcall.result);
	else if (ret == -ENODEV && xcall.sent_at)
		ret = -EPIPE;
	vgpu_guest_call_fini(&xcall);
	return ret;
}
