// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processing of a reply: writes results to the caller's memory and objects to its fd table.
 *
 * Only bytes that the driver changed are written to memory that went along with the call. Other
 * threads of the program may write to the other bytes meanwhile, and natively the driver would
 * not write them.
 */
#include "argument/marshal_mem.h"
#include "argument/marshal_stamp.h"

static int copy_changes(u64 addr, const u8 *old, const u8 *new, u32 len)
{
	u32 pos = 0, run;

	while (pos < len) {
		run = vgpu_wire_diff_next(old, new, len, &pos);
		if (!run)
			break;
		if (copy_to_user(u64_to_user_ptr(addr + pos), new + pos, run))
			return -EFAULT;
		pos += run;
		cond_resched();
	}
	return 0;
}

/* Return: number of bytes of an OUT segment that the driver has filled. */
static u32 out_len(const struct vgpu_marshal *m, const struct vgpu_marshal_seg *info,
		   const u8 *data)
{
	const struct vgpu_marshal_seg *parent = &m->info[info->parent];
	const struct vgpu_schema_ref *ref = &info->field->out_count;
	u32 offset = info->parent_base + ref->offset;
	u64 n, bytes;

	if (ref->kind != VGPU_REF_FIELD || !(parent->dir & VGPU_OUT) ||
	    offset + ref->size > parent->len)
		return info->len;
	n = vgpu_marshal_int(data + parent->out_off + offset, ref->size);
	if (check_mul_overflow(n, (u64)info->unit, &bytes))
		return info->len;
	return min_t(u64, bytes, info->len);
}

static int copy_seg(const struct vgpu_marshal *m, const struct vgpu_marshal_seg *info,
		    const u8 *data, long result)
{
	const u8 *new = data + info->out_off;
	u32 len;

	if (!(info->dir & VGPU_OUT))
		return 0;
	if (info->dir & VGPU_IN)
		return copy_changes(info->addr, m->data + info->in_off, new, info->len);
	if (result < 0)
		return 0;
	len = out_len(m, info, data);
	return copy_to_user(u64_to_user_ptr(info->addr), new, len) ? -EFAULT : 0;
}

/*
 * Prepare the places of fds, device numbers and process ids for the comparison with the reply,
 * by changing the copy of what was sent. A place that gets a value of the guest later is made
 * equal to the reply, so that nothing is copied now. A place with an fd that was not open gets
 * the program's value back if the driver wrote to it.
 */
static void settle(struct vgpu_marshal *m, struct vgpu_marshal_held *held, const u8 *data,
		   long result)
{
	const struct vgpu_marshal_seg *info = &m->info[held->seg];
	const u8 *new = data + info->out_off + held->offset;
	u8 *old = m->data + info->in_off + held->offset;

	if (info->dir != VGPU_INOUT)
		return;
	if (held->kind == VGPU_HELD_OUT && held->filled) {
		memcpy(old, new, sizeof(u32));
	} else if (held->kind == VGPU_HELD_CLOSED &&
		   vgpu_marshal_int(new, sizeof(u32)) != VGPU_MARSHAL_NO_FD) {
		memcpy(old, &held->fd, sizeof(u32));
	} else if (held->kind == VGPU_HELD_RDEV && memcmp(old, new, VGPU_MARSHAL_RDEV)) {
		memcpy(old, new, VGPU_MARSHAL_RDEV);
		held->filled = true;
	} else if (held->kind == VGPU_HELD_PID && result >= 0) {
		held->fd = !held->mask ||
			(vgpu_marshal_int(data + info->out_off + held->fixup, sizeof(u32)) &
			 held->mask);
		held->filled = held->fd || (s32)vgpu_marshal_int(new, sizeof(u32)) > 0;
		if (held->filled)
			memcpy(old, new, held->field->size);
	}
}

/*
 * Note whether the driver has written a time. In memory that was sent (IN) a changed place was
 * written; the copy of what was sent is made equal to the reply then, so that nothing is copied
 * now. Other memory was written if the ioctl succeeded and the driver has filled the place.
 */
static void settle_stamp(struct vgpu_marshal *m, struct vgpu_marshal_held *held, const u8 *data,
			 long result)
{
	const struct vgpu_marshal_seg *info = &m->info[held->seg];
	const struct vgpu_schema_field *field = held->field;
	u32 base = held->offset - field->offset;
	const u8 *new = data + info->out_off + held->offset;
	u8 *old = m->data + info->in_off + held->offset;

	if (!(info->dir & VGPU_IN)) {
		if (result < 0 || held->offset + field->size > out_len(m, info, data))
			return;
	} else if (!memcmp(old, new, field->size)) {
		return;
	}
	if (!vgpu_marshal_stamp_counts(field, data + info->out_off + base, info->len - base))
		return;
	if (info->dir & VGPU_IN)
		memcpy(old, new, field->size);
	held->filled = true;
}

static struct vgpu_marshal_held *out_find(struct vgpu_marshal *m, u32 fixup)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++)
		if (m->held[i].kind == VGPU_HELD_OUT && m->held[i].fixup == fixup)
			return &m->held[i];
	return NULL;
}

/* Take over each object of the reply, even if others fail. */
static int fds_reserve(struct vgpu_marshal *m, const struct vgpu_reply_view *reply)
{
	u32 nr = le16_to_cpu(reply->reply->nr_objects);
	int error = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct vgpu_object_desc *desc = &reply->objects[i];
		struct vgpu_marshal_held *held = out_find(m, le32_to_cpu(desc->fixup));
		void *handle = NULL;
		int fd = m->caller.ops->reserve(m->caller.data, desc, &handle);

		if (fd < 0) {
			error = error ? error : fd;
			continue;
		}
		/* The check of the reply has ensured that each place has one object. */
		if (!held || held->filled) {
			m->caller.ops->abort(m->caller.data, fd, handle);
			error = error ? error : -EIO;
			continue;
		}
		held->handle = handle;
		held->fd = fd;
		held->filled = true;
	}
	return error;
}

static bool held_is_ret(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held)
{
	return le16_to_cpu(m->fixups[held->fixup].type) == VGPU_FIXUP_FD_RET;
}

/* Return: what the driver has left in the place of @held. */
static const u8 *held_told(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
			   const u8 *data)
{
	return data + m->info[held->seg].out_off + held->offset;
}

/* Write to the program's memory, @ahead bytes behind the place of @held. */
static int held_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held, u32 ahead,
		    const void *bytes, u32 len)
{
	u64 addr = m->info[held->seg].addr + held->offset + ahead;

	return copy_to_user(u64_to_user_ptr(addr), bytes, len) ? -EFAULT : 0;
}

/* Write an integer whose bits are partly hidden from the program. */
static int hidden_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
		      const u8 *told)
{
	u32 seen = vgpu_marshal_int(told, sizeof(seen)), mask = held->field->mask;
	u32 value = mask == U32_MAX ? U32_MAX : seen & ~mask;

	return value == seen ? 0 : held_put(m, held, 0, &value, sizeof(value));
}

static int rdev_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
		    const u8 *told)
{
	u32 rdev[VGPU_MARSHAL_RDEV / sizeof(u32)];

	memcpy(rdev, told, sizeof(rdev));
	m->caller.ops->rdev(m->caller.data, &rdev[0], &rdev[1]);
	return held_put(m, held, 0, rdev, sizeof(rdev));
}

static int pid_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held)
{
	u32 pid = held->fd ? m->caller.ops->pid(m->caller.data, held->mask ? VGPU_MARSHAL_OPENER :
						VGPU_MARSHAL_THREAD) : 0;
	u64 wide = pid;
	u8 size = held->field->size;

	return held_put(m, held, 0, size == sizeof(pid) ? (void *)&pid : (void *)&wide, size);
}

/*
 * Write the ids of a list that the driver has changed, all bytes of each. vgpu_walk_pids() may
 * have sent another id than the program's, so a byte that came back unchanged may differ from the
 * program's byte. The id of the shadow becomes the program's own.
 */
static int list_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
		    const u8 *told)
{
	const u8 *sent = m->data + m->info[held->seg].in_off + held->offset;
	u32 ahead = 0, pid;
	int n, error;

	for (n = 0; n < held->fd; n++, ahead += held->field->unit) {
		pid = vgpu_marshal_int(told + ahead, sizeof(pid));
		if (pid == vgpu_marshal_int(sent + ahead, sizeof(pid)))
			continue;
		if (pid == VGPU_MARSHAL_SHADOW)
			pid = m->caller.ops->pid(m->caller.data, VGPU_MARSHAL_PROCESS);
		error = held_put(m, held, ahead, &pid, sizeof(pid));
		if (error)
			return error;
	}
	return 0;
}

static int stamp_put(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
		     const u8 *told)
{
	u8 stamp[VGPU_MARSHAL_STAMP];

	memcpy(stamp, told, held->field->size);
	vgpu_marshal_stamp(held->field, stamp, m->caller.ops, m->caller.data);
	return held_put(m, held, 0, stamp, held->field->size);
}

/* Write a result whose value differs on the two machines, except fds. */
static int value_copy(const struct vgpu_marshal *m, const struct vgpu_marshal_held *held,
		      const u8 *data, long result)
{
	switch (held->kind) {
	case VGPU_HELD_HIDDEN:
		return result < 0 ? 0 : hidden_put(m, held, held_told(m, held, data));
	case VGPU_HELD_RDEV:
		return held->filled ? rdev_put(m, held, held_told(m, held, data)) : 0;
	case VGPU_HELD_PID:
		return held->filled ? pid_put(m, held) : 0;
	case VGPU_HELD_PIDS:
		return result < 0 ? 0 : list_put(m, held, held_told(m, held, data));
	case VGPU_HELD_STAMP:
		return held->filled ? stamp_put(m, held, held_told(m, held, data)) : 0;
	default:
		return 0;
	}
}

static int fds_copy(const struct vgpu_marshal *m)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++) {
		const struct vgpu_marshal_held *held = &m->held[i];

		if (held->kind == VGPU_HELD_OUT && held->filled && !held_is_ret(m, held) &&
		    held_put(m, held, 0, &held->fd, sizeof(held->fd)))
			return -EFAULT;
	}
	return 0;
}

static int results_copy(struct vgpu_marshal *m, const u8 *data, long result)
{
	u32 i;
	int error;

	for (i = 0; i < m->nr_held; i++) {
		struct vgpu_marshal_held *held = &m->held[i];

		if (held->kind == VGPU_HELD_CLOSED || held->kind == VGPU_HELD_RDEV ||
		    held->kind == VGPU_HELD_PID ||
		    (held->kind == VGPU_HELD_OUT && !held_is_ret(m, held)))
			settle(m, held, data, result);
		else if (held->kind == VGPU_HELD_STAMP)
			settle_stamp(m, held, data, result);
	}
	for (i = 0; i < m->nr_segs; i++) {
		error = copy_seg(m, &m->info[i], data, result);
		if (error)
			return error;
	}
	for (i = 0; i < m->nr_held; i++) {
		error = value_copy(m, &m->held[i], data, result);
		if (error)
			return error;
		cond_resched();
	}
	return fds_copy(m);
}

/*
 * Fail with -EFAULT if a page of the argument is not writable: natively the driver writes the
 * argument in any case, even if no byte changes.
 */
static int arg_check(const struct vgpu_marshal *m)
{
	const struct vgpu_marshal_seg *info = &m->info[0];
	u64 pos, end = info->addr + min_t(u32, m->arg_written, info->len);

	for (pos = info->addr; pos < end; pos = (pos | (VGPU_PAGE_SIZE - 1)) + 1)
		if (!vgpu_user_may_write(pos))
			return -EFAULT;
	return 0;
}

static void fds_install(struct vgpu_marshal *m, bool ok, long *result)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++) {
		struct vgpu_marshal_held *held = &m->held[i];

		if (held->kind != VGPU_HELD_OUT || !held->filled)
			continue;
		held->filled = false;
		if (!ok) {
			m->caller.ops->abort(m->caller.data, held->fd, held->handle);
			continue;
		}
		if (held_is_ret(m, held))
			*result = held->fd;
		/* Another thread may close the fd from now on. */
		m->caller.ops->install(m->caller.data, held->fd, held->handle);
	}
}

/*
 * Keep the eventfds: the driver has them after a successful call, whatever happens to the
 * results.
 */
static void events_keep(struct vgpu_marshal *m)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++)
		if (m->held[i].kind == VGPU_HELD_EVENT)
			m->held[i].filled = true;
}

/* Tell the caller the clock that the driver has accepted. */
static void clock_choose(struct vgpu_marshal *m)
{
	u32 i;

	for (i = 0; i < m->nr_held; i++)
		if (m->held[i].kind == VGPU_HELD_CLOCK)
			m->caller.ops->choose_clock(m->caller.data, m->held[i].mask);
}

/*
 * Remember the number in the argument (of a DRM property) if the driver has returned one of the
 * lesson's names for the number.
 */
static void learn(struct vgpu_marshal *m, const u8 *data)
{
	const struct vgpu_schema_lesson *lesson = m->entry.ioctl->lesson;
	const struct vgpu_marshal_seg *info = &m->info[0];
	u32 i, number;

	if (!m->nr_segs || info->dir != VGPU_INOUT || lesson->number + sizeof(u32) > info->len ||
	    lesson->name + lesson->name_len > info->len)
		return;
	number = vgpu_marshal_int(m->data + info->in_off + lesson->number, sizeof(u32));
	for (i = 0; lesson->names[i]; i++)
		if (!strncmp((const char *)data + info->out_off + lesson->name, lesson->names[i],
			     lesson->name_len))
			WRITE_ONCE(m->caller.learned->number[i], number);
}

long vgpu_marshal_finish(struct vgpu_marshal *m, const struct vgpu_reply_view *reply, long result)
{
	int error;

	if (le32_to_cpu(reply->reply->flags) & VGPU_REPLY_REFUSED)
		return result;
	/*
	 * The driver got an fd that is not open in place of a file that the host does not have:
	 * the program gets the error for such a file.
	 */
	if (result == -EBADF && m->fd_error)
		result = m->fd_error;
	if (result >= 0 && m->caller.learned && m->entry.ioctl && m->entry.ioctl->lesson)
		learn(m, reply->data);
	if (result >= 0) {
		events_keep(m);
		clock_choose(m);
	}
	error = fds_reserve(m, reply);
	if (!error)
		error = results_copy(m, reply->data, result);
	/* A device that is gone fails before the argument is written. */
	if (!error && m->arg_written && result != -ENODEV)
		error = arg_check(m);
	fds_install(m, !error, &result);
	return error ? error : result;
}
