// SPDX-License-Identifier: MIT
/*
 * Helpers of the functions that run calls: memory for arguments and replies, system calls that run
 * drivers, and replies.
 */
#include <linux/errno.h>
#include <linux/uio.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/tally.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/thread/syscall.h"
#include "shadow/keys.h"

s64 call_refuse(struct call *call, int error)
{
	call->reply.flags |= VGPU_REPLY_REFUSED;
	count(&counters->refused, 1);
	return error;
}

void call_take_back(struct call *call)
{
	const struct vgpu_object_desc *desc;

	while (call->reply.nr_objects) {
		desc = &call->reply.objects[--call->reply.nr_objects];
		channel_tell(ESHADOW_TAKE_BACK, le32_to_cpu(desc->object),
			     le32_to_cpu(desc->reference), 0);
	}
}

/* --- memory ----------------------------------------------------------------- */

static u64 budget_used;

bool budget_charge(u64 len)
{
	/*
	 * Limit: one message and one reply of the largest size, with memory for the arguments of
	 * both, or many small ones.
	 */
	u64 most = 4ULL * shared->limits.call_bytes;

	if (__atomic_add_fetch(&budget_used, len, __ATOMIC_RELAXED) <= most)
		return true;
	budget_return(len);
	return false;
}

void budget_return(u64 len)
{
	__atomic_sub_fetch(&budget_used, len, __ATOMIC_RELAXED);
}

void *budget_get(u64 len)
{
	void *memory;

	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	if (!budget_charge(len))
		return NULL;
	memory = memory_get(len);
	if (!memory)
		budget_return(len);
	return memory;
}

void budget_put(void *memory, u64 len)
{
	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	memory_put(memory, len);
	budget_return(len);
}

int call_alloc_data(struct call *call, u32 len)
{
	u32 size = vgpu_wire_pad(len);

	call->reply.data = call->lane->reply_buf;
	call->reply.data_size = size;
	if (size > THREAD_BUF)
		call->reply.data = budget_get(size);
	if (!call->reply.data)
		return -ENOMEM;
	memset(call->reply.data + len, 0, size - len);
	return 0;
}

int call_alloc_scratch(struct call *call, u64 len)
{
	struct room *room;
	void *memory;
	int ret;

	ret = room_take(call);
	if (ret)
		return ret;
	room = call->room;
	if (len <= THREAD_SCRATCH) {
		/*
		 * Clear beyond the end as well: the driver must not see bytes of an earlier call
		 * there.
		 */
		memset(room_scratch(room), 0, max(len, room->used));
		room->used = len;
		call->scratch.addr = (u64)room_scratch(room);
		call->scratch.len = len;
		return 0;
	}
	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	if (!budget_charge(len))
		return -ENOMEM;
	memory = memory_get_key(len, room->key);
	if (!memory) {
		budget_return(len);
		return -ENOMEM;
	}
	call->scratch.addr = (u64)memory;
	call->scratch.len = len;
	call->scratch.mapped = true;
	return 0;
}

/* --- running ----------------------------------------------------------------- */

long call_system(struct call *call, u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	struct lane *lane = call->lane;
	long ret;

	ret = room_take(call);
	if (ret)
		return ret;
	lane->driver.syscall.reach = keys_on ? keys_only(call->room->key) : 0;
	lane->driver.syscall.nr = nr;
	lane->driver.syscall.args[0] = a;
	lane->driver.syscall.args[1] = b;
	lane->driver.syscall.args[2] = c;
	lane->driver.syscall.args[3] = d;
	lane_set_running(lane, true);
	if (nr == __NR_ioctl && call_is_compat(call)) {
		lane->driver.syscall.nr = 54;	/* ioctl, for 32-bit programs */
		ret = syscall_compat(&lane->driver.syscall);
	} else {
		ret = syscall_cancelable(&lane->driver.syscall);
	}
	lane_set_running(lane, false);
	return ret;
}

s64 call_close_strays(struct call *call, s64 result)
{
	u32 nr = files_call_ends();

	if (!nr)
		return result;
	count(&counters->stray_fds, nr);
	call_take_back(call);
	call->reply.data_len = 0;
	call->reply.flags |= VGPU_REPLY_STRAY_FD;
	/* An ioctl's bytes would contain the number of a file that is closed here. */
	if (le16_to_cpu(call->view.call->op) == VGPU_OP_IOCTL)
		return call_refuse(call, -EOPNOTSUPP);
	return -EOPNOTSUPP;
}

int call_send_reply(struct call *call)
{
	struct vgpu_draft *draft = &call->reply;
	struct vgpu_reply reply;
	struct iovec iov[] = {
		{ .iov_base = &reply, .iov_len = sizeof(reply) },
		{ .iov_base = draft->objects,
		  .iov_len = draft->nr_objects * sizeof(draft->objects[0]) },
		{ .iov_base = draft->data, .iov_len = draft->data_len },
	};
	u64 now, len;

	len = vgpu_draft_fill(draft, call->lane->seq, &reply);
	now = now_ns();
	reply.clock_out = cpu_to_le64(now);
	/* A guest that has its reply can ask for the counts. */
	tally_count(call, len, now);
	/* No deadline: a guest that does not read blocks only its own lane. */
	return lane_send(call->lane, iov, ARRAY_SIZE(iov), 0);
}

void call_finish(struct call *call)
{
	if (call->segs && call->segs != call->segs_small)
		memory_put(call->segs, vgpu_view_nr_segs(&call->view) * sizeof(*call->segs));
	call->segs = NULL;
	if (call->reply.data && call->reply.data != call->lane->reply_buf)
		budget_put(call->reply.data, call->reply.data_size);
	call->reply.data = NULL;
	if (call->msg && call->msg != call->lane->buf)
		budget_put(call->msg, call->msg_len);
	call->msg = NULL;
}
