// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upcalls. The thread that waits for the reply serves them in process context with its own mm.
 * The host's driver gets -EFAULT for a bad address, as it would natively.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/stats.h"
#include "link/call.h"
#include "link/host.h"
#include "link/lane.h"
#include "link/session.h"
#include "link/trace.h"
#include "link/upcall.h"

/* Limit of a FETCH in bytes; hosts ask for less. */
#define UPCALL_FETCH_MAX	SZ_1M

static int upcall_fetch(struct vgpu_lane *lane, struct vgpu_guest_call *xcall,
			const struct vgpu_fetch *fetch)
{
	u64 addr = le64_to_cpu(fetch->addr);
	u32 len = le32_to_cpu(fetch->len);
	struct vgpu_fetched fetched = {
		.hdr.type = cpu_to_le16(VGPU_MSG_FETCHED),
		.hdr.seq = fetch->hdr.seq,
	};
	struct kvec vec[2];
	int error = 0;
	void *buf;
	int ret;

	if (len > UPCALL_FETCH_MAX)
		return -EPROTO;
	xcall->fetched = true;
	buf = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!buf)
		error = ENOMEM;
	else if (copy_from_user(buf, u64_to_user_ptr(addr), len))
		error = EFAULT;
	if (error)
		len = 0;
	else if (xcall->stats)
		atomic64_add(len / VGPU_PAGE_SIZE, &xcall->stats->fetched_pages);
	xcall->cost.pages += len / VGPU_PAGE_SIZE;
	trace_vgpu_fetch(addr, len, error);

	fetched.hdr.len = cpu_to_le32(sizeof(fetched) + len);
	fetched.error = cpu_to_le32(error);
	fetched.len = cpu_to_le32(len);
	vec[0] = (struct kvec){ .iov_base = &fetched, .iov_len = sizeof(fetched) };
	vec[1] = (struct kvec){ .iov_base = buf, .iov_len = len };
	ret = vgpu_conn_send(&lane->conn, vec, len ? 2 : 1, sizeof(fetched) + len, 0);
	kvfree(buf);
	return ret;
}

static int upcall_put(void *arg, u64 addr, const u8 *data, u32 len)
{
	return copy_to_user(u64_to_user_ptr(addr), data, len) ? -EFAULT : 0;
}

static int upcall_writeback(struct vgpu_lane *lane, const struct vgpu_writeback *msg)
{
	const struct vgpu_range *ranges = (const void *)(msg + 1);
	u32 nr = le32_to_cpu(msg->nr_ranges);
	const u8 *data = (const u8 *)(ranges + nr);
	struct vgpu_written written = {
		.hdr.len = cpu_to_le32(sizeof(written)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WRITTEN),
		.hdr.seq = msg->hdr.seq,
	};
	struct kvec vec = { .iov_base = &written, .iov_len = sizeof(written) };
	int error = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		u32 len = le32_to_cpu(ranges[i].len);

		if (vgpu_wire_range_apply(&ranges[i], data, upcall_put, NULL))
			error = EFAULT;
		trace_vgpu_writeback(le64_to_cpu(ranges[i].addr), len, error);
		data += len;
	}
	written.error = cpu_to_le32(error);
	return vgpu_conn_send(&lane->conn, &vec, 1, sizeof(written), 0);
}

/**
 * vgpu_upcall_serve - serve an upcall
 * @lane: lane of the upcall
 * @xcall: call during which the upcall came
 * @hdr: checked header of the upcall; the rest was not received yet
 *
 * Return: 0, or an errno after which the lane must be ended: -EPROTO, -ENODEV, -EINTR, -ENOMEM.
 */
int vgpu_upcall_serve(struct vgpu_lane *lane, struct vgpu_guest_call *xcall,
		      const struct vgpu_hdr *hdr)
{
	u32 len = le32_to_cpu(hdr->len);
	u64 small[8];
	void *msg = small;
	int ret;

	if (len > sizeof(small)) {
		msg = kvmalloc(len, GFP_KERNEL_ACCOUNT);
		if (!msg)
			return -ENOMEM;
	}
	memcpy(msg, hdr, sizeof(*hdr));
	ret = vgpu_conn_recv(&lane->conn, msg + sizeof(*hdr), len - sizeof(*hdr), 0);
	if (!ret)
		ret = vgpu_wire_msg_check(msg, len, &lane->session->host->limits);
	if (!ret) {
		switch (le16_to_cpu(hdr->type)) {
		case VGPU_MSG_FETCH:
			ret = upcall_fetch(lane, xcall, msg);
			break;
		case VGPU_MSG_WRITEBACK:
			ret = upcall_writeback(lane, msg);
			break;
		default:
			ret = -EPROTO;
		}
	}
	if (!ret && xcall->stats)
		atomic64_inc(&xcall->stats->round_trips);
	xcall->cost.round_trips += !ret;
	if (msg != small)
		kvfree(msg);
	return ret;
}
