// SPDX-License-Identifier: MIT
/*
 * Calls, from a received message to its reply. The message is in private memory and is checked
 * once. Then a table entry tells the function that runs the call.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/uio.h>

#include "shadow.h"
#include "shadow/keys.h"

/* Does nothing: each reply tells when its call was received and when the reply was sent. */
static s64 call_clock(struct call *call)
{
	(void)call;
	return 0;
}

static const struct call_op {
	s64 (*run)(struct call *call);
	bool mm;	/* class mm: never upcalls */
} call_ops[] = {
	[VGPU_OP_OPEN]		= { .run = fops_open },
	[VGPU_OP_CLOSE]		= { .run = fops_close },
	[VGPU_OP_IOCTL]		= { .run = ioctl_run },
	[VGPU_OP_READ]		= { .run = fops_read },
	[VGPU_OP_WRITE]		= { .run = fops_write },
	[VGPU_OP_LLSEEK]	= { .run = fops_llseek },
	[VGPU_OP_POLL]		= { .run = fops_poll },
	[VGPU_OP_MMAP]		= { .run = mapping_mmap, .mm = true },
	[VGPU_OP_BIND]		= { .run = mapping_bind, .mm = true },
	[VGPU_OP_PROTECT]	= { .run = mapping_protect, .mm = true },
	[VGPU_OP_CLOCK]		= { .run = call_clock, .mm = true },
	[VGPU_OP_READ_PAGES]	= { .run = mapping_read_pages, .mm = true },
	[VGPU_OP_FDINFO]	= { .run = fops_fdinfo },
	[VGPU_OP_WRITE_PAGES]	= { .run = mapping_write_pages, .mm = true },
};

s64 call_refuse(struct call *call, int error)
{
	call->flags |= VGPU_REPLY_REFUSED;
	count(&counters->refused, 1);
	return error;
}

void call_take_back(struct call *call)
{
	const struct vgpu_object_desc *desc;

	while (call->nr_objects) {
		desc = &call->objects[--call->nr_objects];
		channel_tell(ESHADOW_TAKE_BACK, le32_to_cpu(desc->object),
			     le32_to_cpu(desc->reference));
	}
}

/* --- memory ----------------------------------------------------------------- */

static u64 budget_used;

void *budget_get(u64 len)
{
	/* Limit: one message and one reply of the largest size, or many small ones. */
	u64 most = 2ULL * shared->limits.call_bytes;
	void *memory = NULL;

	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	if (__atomic_add_fetch(&budget_used, len, __ATOMIC_RELAXED) <= most)
		memory = memory_get(len);
	if (!memory)
		__atomic_sub_fetch(&budget_used, len, __ATOMIC_RELAXED);
	return memory;
}

void budget_put(void *memory, u64 len)
{
	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	memory_put(memory, len);
	__atomic_sub_fetch(&budget_used, len, __ATOMIC_RELAXED);
}

int call_alloc_data(struct call *call, u32 len)
{
	u32 size = vgpu_wire_pad(len);

	call->data = call->lane->reply_buf;
	call->data_size = size;
	if (size > THREAD_BUF)
		call->data = budget_get(size);
	if (!call->data)
		return -ENOMEM;
	memset(call->data + len, 0, size - len);
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
		call->scratch = (u64)room_scratch(room);
		call->scratch_len = len;
		return 0;
	}
	len = (len + PAGE_SIZE - 1) & PAGE_MASK;
	memory = memory_get_key(len, room->key);
	if (!memory)
		return -ENOMEM;
	call->scratch = (u64)memory;
	call->scratch_len = len;
	call->scratch_mapped = true;
	return 0;
}

static void call_free_scratch(struct call *call)
{
	if (call->scratch_mapped)
		memory_put((void *)call->scratch, call->scratch_len);
	if (call->scratch_low)
		mapping_displace(call->scratch, call->scratch_len);
	call->scratch_mapped = false;
	call->scratch_low = false;
	call->scratch = 0;
	room_put(call);
}

/* --- running ----------------------------------------------------------------- */

long call_system(struct call *call, u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	struct lane *lane = call->lane;
	long ret;

	ret = room_take(call);
	if (ret)
		return ret;
	lane->syscall.reach = keys_on ? keys_only(call->room->key) : 0;
	lane->syscall.nr = nr;
	lane->syscall.args[0] = a;
	lane->syscall.args[1] = b;
	lane->syscall.args[2] = c;
	lane->syscall.args[3] = d;
	lane_set_running(lane, true);
	if (nr == __NR_ioctl && call_is_compat(call)) {
		lane->syscall.nr = 54;	/* ioctl, for 32-bit programs */
		ret = syscall_compat(&lane->syscall);
	} else {
		ret = syscall_cancelable(&lane->syscall);
	}
	lane_set_running(lane, false);
	return ret;
}

/* Passes changes of the file's flags (fcntl()) on to the driver's file. */
static void call_set_f_flags(const struct file_entry *file, u32 flags)
{
	const u32 mask = O_NONBLOCK | O_APPEND;
	long now = sys3(__NR_fcntl, file->fd, F_GETFL, 0);

	if (now >= 0 && ((now ^ flags) & mask))
		sys3_apart(__NR_fcntl, file->fd, F_SETFL, (now & ~mask) | (flags & mask));
}

s64 call_close_strays(struct call *call, s64 result)
{
	u32 nr = files_call_ends();

	if (!nr)
		return result;
	count(&counters->stray_fds, nr);
	call_take_back(call);
	call->data_len = 0;
	call->flags |= VGPU_REPLY_STRAY_FD;
	/* An ioctl's bytes would contain the number of a file that is closed here. */
	if (le16_to_cpu(call->view.call->op) == VGPU_OP_IOCTL)
		return call_refuse(call, -EOPNOTSUPP);
	return -EOPNOTSUPP;
}

static int call_sync(struct lane *lane, u64 seq)
{
	static u64 synced;
	struct request request = {
		.msg = { .type = ESHADOW_SYNC, .value = seq },
		.fd = -1,
	};
	u64 known = __atomic_load_n(&synced, __ATOMIC_ACQUIRE);
	int ret;

	if (seq <= known)
		return 0;
	ret = channel_ask(lane, &request);
	if (ret)
		return ret;
	while (seq > known && !__atomic_compare_exchange_n(&synced, &known, seq, false,
							   __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return 0;
}

static s64 call_do(struct call *call)
{
	const struct vgpu_call *msg = call->view.call;
	u16 op = le16_to_cpu(msg->op);
	struct lane *lane = call->lane;
	s64 result;
	int ret;

	ret = call_sync(lane, le64_to_cpu(msg->control_seq));
	/*
	 * Close nevertheless: references have numbers, so CLOSE may run early, but must not get
	 * lost.
	 */
	if (ret && op != VGPU_OP_CLOSE)
		return call_refuse(call, ret);
	/* FDINFO may come by a shadow that does not have the file, so the engine answers it. */
	if (msg->object && op != VGPU_OP_CLOSE && op != VGPU_OP_FDINFO) {
		call->file = file_find(lane, le32_to_cpu(msg->object));
		if (!call->file)
			return call_refuse(call, -EBADF);
		lane->no_demand = call->file->no_demand;
		call_set_f_flags(call->file, le32_to_cpu(msg->f_flags));
	}
	if (lane->mm) {
		demand_begin_mm(lane);
		return call_ops[op].run(call);
	}

	demand_begin(lane);
	files_call_begins(call->file ? call->file->limits : 0);
	result = call_ops[op].run(call);
	result = call_close_strays(call, result);
	/* Bytes that the driver wrote must be in the guest before the reply. */
	ret = demand_end(lane);
	if (lane->last) {
		/* The call fails, whatever its driver has returned. */
		call->flags |= VGPU_REPLY_LAST;
		ret = ret ?: -EFAULT;
	}
	if (ret) {
		call_take_back(call);
		/* The driver saw a bad address; only the host knows that the cause was a limit. */
		if (ret == -ENOBUFS || ret == -EOPNOTSUPP || ret == -ENOMEM)
			return call_refuse(call, ret);
		/* Segments of an ioctl are returned in any case, but a failed READ has no bytes. */
		if (op != VGPU_OP_IOCTL)
			call->data_len = 0;
		result = -EFAULT;
	}
	return result;
}

static void call_reset(struct call *call)
{
	call->lane->mm = true;
	call->lane->no_demand = false;
	call->file = NULL;
	call->result = 0;
	call->flags = 0;
	call->pos = 0;
	memset(&call->out, 0, sizeof(call->out));
	call->nr_objects = 0;
	call->data = NULL;
	call->data_len = 0;
	call->segs = NULL;
	call->placed = NULL;
	call->arg_file = NULL;
	call->event = 0;
	call->nr_kept = 0;
	call->nr_pieces = 0;
}

int call_run(struct call *call)
{
	call_reset(call);
	if (vgpu_wire_call_check(call->msg, call->msg_len, &wire_limits, &call->view))
		return -EPROTO;
	call->lane->mm = call_ops[le16_to_cpu(call->view.call->op)].mm;
	call->pos = le64_to_cpu(call->view.call->pos);
	count(&counters->calls, 1);
	call->result = call_do(call);
	if (call->flags & VGPU_REPLY_REFUSED)
		call->data_len = 0;
	call_free_scratch(call);
	if (call->file)
		file_put(call->file);
	call->lane->no_demand = false;
	call->file = NULL;
	return 0;
}

void call_reject(struct call *call, int error)
{
	call_reset(call);
	call->result = call_refuse(call, error);
}

int call_send_reply(struct call *call)
{
	u32 objects_len = call->nr_objects * sizeof(call->objects[0]);
	u32 len = sizeof(struct vgpu_reply) + objects_len + call->data_len;
	struct vgpu_reply reply = {
		.hdr.len = cpu_to_le32(len),
		.hdr.type = cpu_to_le16(VGPU_MSG_REPLY),
		.hdr.seq = cpu_to_le64(call->lane->seq),
		.result = cpu_to_le64(call->result),
		.pos = cpu_to_le64(call->pos),
		.flags = cpu_to_le32(call->flags),
		.nr_objects = cpu_to_le16(call->nr_objects),
		.clock_in = cpu_to_le64(call->clock_in),
	};
	struct iovec iov[] = {
		{ .iov_base = &reply, .iov_len = sizeof(reply) },
		{ .iov_base = call->objects, .iov_len = objects_len },
		{ .iov_base = call->data, .iov_len = call->data_len },
	};

	memcpy(&reply.out, &call->out, sizeof(reply.out));
	reply.clock_out = cpu_to_le64(now_ns());
	/* No deadline: a guest that does not read blocks only its own lane. */
	return lane_send(call->lane, iov, ARRAY_SIZE(iov), 0);
}

void call_finish(struct call *call)
{
	if (call->segs && call->segs != call->segs_small)
		memory_put(call->segs, (le16_to_cpu(call->view.call->nr_segs) *
					sizeof(*call->segs) + PAGE_SIZE - 1) & PAGE_MASK);
	call->segs = NULL;
	if (call->data && call->data != call->lane->reply_buf)
		budget_put(call->data, call->data_size);
	call->data = NULL;
	if (call->msg && call->msg != call->lane->buf)
		budget_put(call->msg, call->msg_len);
	call->msg = NULL;
}
