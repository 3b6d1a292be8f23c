// SPDX-License-Identifier: GPL-2.0-only
/* Fields with values that differ on the two machines: fds, ids and times. */
#include "argument/marshal_mem.h"
#include "argument/marshal_value.h"

/* Return: a state of @kind for the place of a field. */
static struct vgpu_marshal_held held_of(const struct vgpu_walk_level *level,
					const struct vgpu_schema_field *field,
					enum vgpu_marshal_held_kind kind)
{
	return (struct vgpu_marshal_held) {
		.kind = kind,
		.field = field,
		.seg = level->seg,
		.offset = level->base + field->offset,
	};
}

/* Note the place of a value that the driver writes; vgpu_marshal_finish() replaces the value. */
int vgpu_walk_result(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field, enum vgpu_marshal_held_kind kind)
{
	const struct vgpu_marshal_held held = held_of(level, field, kind);

	return m->info[level->seg].dir & VGPU_OUT ? vgpu_marshal_held_add(m, &held) : 0;
}

/* Replace an fd of the caller by its object, or by an fd that is never open. */
int vgpu_walk_fd_in(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_field *field, int fd)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];
	bool event = field->type == VGPU_FIELD_EVENT_IN;
	struct vgpu_marshal_held held = held_of(level, field, event ? VGPU_HELD_EVENT :
						VGPU_HELD_OBJECT);
	const u32 no_fd = VGPU_MARSHAL_NO_FD;
	u32 object = 0;
	int error;

	if (fd < 0)
		return 0;
	held.fd = fd;
	if (event)
		error = m->caller.ops->event_get(m->caller.data, fd, &object);
	else
		error = m->caller.ops->get(m->caller.data, fd, &object, &held.handle);
	held.fixup = object;
	if (error == -ENOMEM)
		return error;
	if (error) {
		/* The shadow may have an fd of this number: send a number that is never open. */
		held.kind = VGPU_HELD_CLOSED;
		held.handle = NULL;
		memcpy(m->data + info->in_off + held.offset, &no_fd, sizeof(no_fd));
		if (error != -EBADF)
			m->fd_error = error;
	}
	error = vgpu_marshal_held_add(m, &held);
	if (error) {
		if (held.kind == VGPU_HELD_OBJECT)
			m->caller.ops->put(m->caller.data, held.handle);
		else if (held.kind == VGPU_HELD_EVENT)
			m->caller.ops->event_cancel(m->caller.data, object);
		return error;
	}
	if (held.kind == VGPU_HELD_CLOSED)
		return 0;
	return min(vgpu_marshal_fixup_add(m, event ? VGPU_FIXUP_EVENT : VGPU_FIXUP_FD_IN,
					  level->seg, held.offset, object, 0), 0);
}

/* Send a value that the driver would not write, to find out if the driver wrote the field. */
int vgpu_walk_rdev(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];
	const struct vgpu_marshal_held held = held_of(level, field, VGPU_HELD_RDEV);
	int error;

	if (info->dir != VGPU_INOUT)
		return 0;
	error = vgpu_marshal_held_add(m, &held);
	if (error)
		return error;
	memset(m->data + info->in_off + held.offset, 0xff, VGPU_MARSHAL_RDEV);
	return 0;
}

/* Send the program's own value: the result of the ioctl says if the driver wrote the field. */
int vgpu_walk_pid(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		  const struct vgpu_schema_field *field)
{
	const struct vgpu_schema_ref *ref = &field->out_count;
	struct vgpu_marshal_held held = held_of(level, field, VGPU_HELD_PID);

	if (m->info[level->seg].dir != VGPU_INOUT || ref->offset + sizeof(u32) > level->len)
		return 0;
	held.mask = ref->kind == VGPU_REF_FIELD ? field->mask : 0;
	held.fixup = level->base + ref->offset;
	return vgpu_marshal_held_add(m, &held);
}

/*
 * Replace the ids of the list for the host: the program's own id becomes the id of its shadow,
 * and an id of another process that equals the shadow's becomes one that no process has, as a
 * shadow is alone in its namespace.
 */
int vgpu_walk_pids(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];
	struct vgpu_marshal_held held = held_of(level, field, VGPU_HELD_PIDS);
	u32 own, pid, to;
	int i, error;
	u8 *place;

	if (info->dir != VGPU_INOUT)
		return 0;
	held.fd = min(field->max, (level->len - field->offset - field->size) / field->unit + 1);
	error = vgpu_marshal_held_add(m, &held);
	if (error)
		return error;
	own = m->caller.ops->pid(m->caller.data, VGPU_MARSHAL_PROCESS);
	place = m->data + info->in_off + held.offset;
	for (i = 0; i < held.fd; i++, place += field->unit) {
		pid = vgpu_marshal_int(place, sizeof(pid));
		if (pid != own && pid != VGPU_MARSHAL_SHADOW)
			continue;
		to = pid == own ? VGPU_MARSHAL_SHADOW : VGPU_MARSHAL_NOBODY;
		memcpy(place, &to, sizeof(to));
	}
	return 0;
}

static int object_add(struct vgpu_marshal *m, u16 type, struct vgpu_marshal_held *held)
{
	int fixup;

	if (!vgpu_marshal_object_fits(m))
		return -E2BIG;
	fixup = vgpu_marshal_fixup_add(m, type, held->seg, held->offset, 0, 0);
	if (fixup < 0)
		return fixup;
	m->nr_fd_out++;
	held->fixup = fixup;
	return vgpu_marshal_held_add(m, held);
}

/* Note the place of an fd that the driver returns. */
int vgpu_walk_fd_out(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field)
{
	struct vgpu_marshal_held held = held_of(level, field, VGPU_HELD_OUT);

	if (!(m->info[level->seg].dir & VGPU_OUT))
		return 0;
	return object_add(m, VGPU_FIXUP_FD_OUT, &held);
}

int vgpu_marshal_fd_ret(struct vgpu_marshal *m)
{
	struct vgpu_marshal_held held = { .kind = VGPU_HELD_OUT };

	return object_add(m, VGPU_FIXUP_FD_RET, &held);
}

/*
 * Convert an absolute time to a time from now, as each machine has its own CLOCK_MONOTONIC.
 * Times in the past and the time that never comes are the same on both machines.
 */
int vgpu_walk_time(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field, s64 time)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];
	u32 place = level->base + field->offset;
	s64 now = ktime_get_ns();
	u64 delay = time > now ? time - now : 0;
	int error;

	if (time <= 0 || time == S64_MAX || !(info->dir & VGPU_IN))
		return 0;
	error = vgpu_marshal_fixup_add(m, VGPU_FIXUP_TIME, level->seg, place, 0, 0);
	if (error < 0)
		return error;
	memcpy(m->data + info->in_off + place, &delay, sizeof(delay));
	return 0;
}

/* Note the place of a time that the driver writes. */
int vgpu_walk_stamp(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_field *field)
{
	if ((m->info[level->seg].dir & VGPU_OUT) && field->clock != VGPU_CLOCK_MONOTONIC)
		m->found.wants_clocks = true;
	return vgpu_walk_result(m, level, field, VGPU_HELD_STAMP);
}

/* Note the choice of a clock, SNDRV_PCM_TSTAMP_TYPE_* of ALSA; the driver rejects other values. */
int vgpu_walk_clock(struct vgpu_marshal *m, u64 type)
{
	static const u8 clocks[] = {
		VGPU_CLOCK_REALTIME, VGPU_CLOCK_MONOTONIC, VGPU_CLOCK_RAW,
	};
	struct vgpu_marshal_held held = { .kind = VGPU_HELD_CLOCK };

	if (type >= ARRAY_SIZE(clocks))
		return 0;
	held.mask = clocks[type];
	return vgpu_marshal_held_add(m, &held);
}
