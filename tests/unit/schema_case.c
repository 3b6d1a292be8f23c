// SPDX-License-Identifier: GPL-2.0-only
#include <sys/ioctl.h>

#include "schema_case.h"

static u32 next_random(struct schema_case *c)
{
	c->seed = c->seed * 1664525 + 1013904223;
	return c->seed >> 8;
}

static u64 get(const u8 *p, u8 size)
{
	u64 v = 0;

	memcpy(&v, p, size);
	return v;
}

static void put(u8 *p, u8 size, u64 v)
{
	memcpy(p, &v, size);
}

/* A struct that is being built or walked. */
struct frame {
	const struct frame *up;
	u8 *p;
	u32 len;
	u32 head;	/* size of the chain's head in bytes */
	const struct vgpu_schema_ref *more;	/* count of elements behind the body */
};

static u8 *frame_ref(const struct frame *f, const struct vgpu_schema_ref *ref)
{
	u8 up;

	for (up = ref->up; up; up--)
		f = f->up;
	if (ref->kind == VGPU_REF_FIELD)
		return f->p + ref->offset;
	return (u8 *)(uintptr_t)get(f->p + ref->via, 8) + ref->offset;
}

/* Marks the bytes that @ref uses for a count or a condition: these are not plain data. */
static void plain_mark(u8 *special, const struct vgpu_schema_ref *ref)
{
	if (ref->kind == VGPU_REF_FIELD && !ref->up)
		memset(special + ref->offset, 1, ref->size);
}

static u32 inside_len(const struct frame *f, const struct vgpu_schema_field *field)
{
	return min(field->elem->size, f->len - field->offset);
}

static struct frame inside(const struct frame *f, const struct vgpu_schema_field *field)
{
	return (struct frame) {
		.up = f, .p = f->p + field->offset, .len = inside_len(f, field),
	};
}

/* Return: the field may share its place with other fields, of which a condition chooses one. */
static bool is_alternative(const struct vgpu_schema_field *field)
{
	return field->type <= VGPU_FIELD_PLAIN;
}

static const u8 *special_bytes(const struct schema_case *c, const struct frame *f,
			       const struct vgpu_schema_struct *body)
{
	static u8 special[1 << 16];
	u32 i, n;

	memset(special, 0, f->len);
	memset(special, 1, f->head);
	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];

		if (field->when.learned)
			continue;
		/* The bytes of an inner struct are checked with that struct. */
		if (field->type == VGPU_FIELD_STRUCT)
			memset(special + field->offset, 1, inside_len(f, field));
		else if (field->type == VGPU_FIELD_PIDS)
			for (n = 0; n < field->max; n++)
				memset(special + field->offset + n * field->unit, 1, field->size);
		else if (field->type != VGPU_FIELD_RESULT_FD)
			memset(special + field->offset, 1, field->size);
		plain_mark(special, &field->count);
		plain_mark(special, &field->times);
		plain_mark(special, &field->stride);
		plain_mark(special, &field->out_count);
		plain_mark(special, &field->when.ref);
	}
	plain_mark(special, &c->ioctl->size_from);
	if (f->more)
		plain_mark(special, f->more);
	return special;
}

/* --- build ---------------------------------------------------------------- */

/* Address and size of each array that build_ptr() has made. */
struct built {
	u64 addr;
	u32 bytes;
};

static struct built built[512];
static u32 nr_built;

static u32 built_bytes(u64 addr)
{
	u32 i;

	for (i = 0; i < nr_built; i++)
		if (built[i].addr == addr)
			return built[i].bytes;
	return 0;
}

/* Returns the number that @ref refers to; a field that is 0 is set to @want first. */
static u64 build_ref(const struct frame *f, const struct vgpu_schema_ref *ref, u64 want)
{
	u64 sum = 0, addr;
	u32 i;

	switch (ref->kind) {
	case VGPU_REF_NONE:
		return 1;
	case VGPU_REF_CONST:
		return ref->value;
	case VGPU_REF_SUM:
		addr = get(f->p + ref->via, 8);
		for (i = 0; i < built_bytes(addr); i += ref->size)
			sum += get((u8 *)(uintptr_t)addr + i, ref->size);
		return sum;
	}
	if (!get(frame_ref(f, ref), ref->size))
		put(frame_ref(f, ref), ref->size, want);
	return get(frame_ref(f, ref), ref->size);
}

static void build_struct(struct schema_case *c, const struct frame *f,
			 const struct vgpu_schema_struct *body);

static void build_fill(struct schema_case *c, u8 *p, u32 len)
{
	/* The bytes are small, as another field may use them as a count. */
	while (len--)
		*p++ = 1 + next_random(c) % 3;
}

static u32 field_unit(const struct vgpu_schema_field *field)
{
	return field->unit ? field->unit : field->elem ? field->elem->size : 1;
}

/* Fills the ids with those of the program, of another process, and 0. */
static void build_pids(const struct frame *f, const struct vgpu_schema_field *field)
{
	static const u32 named[] = { USER_PROCESS, 1, 0, USER_PID, 0 };
	u32 i;

	for (i = 0; i < field->max; i++)
		put(f->p + field->offset + i * field->unit, 4, named[i % 5]);
}

static void build_ptr(struct schema_case *c, const struct frame *f,
		      const struct vgpu_schema_field *field)
{
	u32 unit = field_unit(field), want = c->elems, step, bytes, at, i;
	u8 *p;

	/* A count in units other than elements must still give whole elements. */
	if (field->elem && field->unit)
		want *= field->elem->size / field->unit;
	if (field->stride.kind != VGPU_REF_NONE)
		unit = build_ref(f, &field->stride, field->elem ? field->elem->size + 8 : 24);
	bytes = build_ref(f, &field->count, want) * build_ref(f, &field->times, 2) * unit;
	p = user_alloc(bytes);
	/* Words of 4 bytes may be counts, and counts have to be small. */
	if (!(unit & 3) && !field->elem)
		for (i = 0; i < bytes / 4; i++)
			put(p + i * 4, 4, 1 + next_random(c) % 3);
	else if (!field->elem)
		build_fill(c, p, bytes);
	put(f->p + field->offset, field->size, (uintptr_t)p);
	built[nr_built++] = (struct built){ (uintptr_t)p, bytes };
	if (!field->elem)
		return;
	step = field->stride.kind != VGPU_REF_NONE ? unit : field->elem->size;
	for (at = 0; at < bytes; at += step) {
		const struct frame in = {
			.up = f, .p = p + at, .len = min(step, bytes - at),
		};

		build_struct(c, &in, field->elem);
	}
}

static void build_chain(struct schema_case *c, const struct frame *f,
			const struct vgpu_schema_field *field)
{
	const struct vgpu_schema_chain *chain = field->chain;
	u8 *place = f->p + field->offset;
	u32 i;

	for (i = 0; i < c->elems && i < chain->max; i++) {
		const struct vgpu_schema_node *node = &chain->nodes[i % chain->nr_nodes];
		const u32 more = node->more_unit * (c->elems + 1);
		const struct frame in = {
			f, user_alloc(node->body.size + more), node->body.size, chain->head,
			node->more_unit ? &node->more : NULL,
		};

		if (more) {
			put(in.p + node->more.offset, node->more.size, c->elems + 1);
			build_fill(c, in.p + node->body.size, more);
		}
		put(place, 8, (uintptr_t)in.p);
		put(in.p + chain->tag, chain->tag_size, node->tag);
		build_struct(c, &in, &node->body);
		place = in.p + chain->next;
	}
	put(place, 8, 0);
}

/* Return: the field is used. @variant chooses one of the alternatives for one place. */
static bool build_when(struct schema_case *c, const struct frame *f,
		       const struct vgpu_schema_struct *body, u32 nr)
{
	const struct vgpu_schema_field *field = &body->fields[nr];
	const struct vgpu_schema_when *when = &field->when;
	u32 i, alternatives = 0, mine = 0;
	u8 *p;

	/* test_schema_refuse and test_marshal_kept cover fields that are refused or kept. */
	if (field->type == VGPU_FIELD_USERPTR || field->type == VGPU_FIELD_LIVE ||
	    field->type == VGPU_FIELD_KEPT)
		return false;
	if (when->ref.kind == VGPU_REF_NONE)
		return true;
	/* No property was learned here: test_marshal_fd covers such fields. */
	if (when->learned)
		return false;
	for (i = 0; i < body->nr_fields; i++) {
		if (body->fields[i].offset != field->offset)
			continue;
		if (i == nr)
			mine = alternatives;
		alternatives++;
	}
	/* Two more variants: first no condition is met, then those of all flags are. */
	if (c->variant <= alternatives)
		c->has_variant = true;
	p = frame_ref(f, &when->ref);
	if (c->variant == mine || (c->variant > alternatives && when->mask != ~0ULL)) {
		put(p, when->ref.size, (get(p, when->ref.size) & ~when->mask) | when->value);
		return true;
	}
	return false;
}

static void build_struct(struct schema_case *c, const struct frame *f,
			 const struct vgpu_schema_struct *body)
{
	u32 i, settled = ~0U;
	const u8 *special;

	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];
		struct frame in;

		if (field->offset + field->size > f->len || !build_when(c, f, body, i) ||
		    (is_alternative(field) && field->offset == settled))
			continue;
		if (is_alternative(field))
			settled = field->offset;
		switch (field->type) {
		case VGPU_FIELD_STRUCT:
			in = inside(f, field);
			build_struct(c, &in, field->elem);
			break;
		case VGPU_FIELD_PTR:
			build_ptr(c, f, field);
			break;
		case VGPU_FIELD_CHAIN:
			build_chain(c, f, field);
			break;
		case VGPU_FIELD_FD_IN:
		case VGPU_FIELD_EVENT_IN:
			put(f->p + field->offset, 4, USER_FD_FIRST + next_random(c) % 50);
			break;
		case VGPU_FIELD_PIDS:
			build_pids(f, field);
			break;
		case VGPU_FIELD_TIME:
			put(f->p + field->offset, 8, USER_NOW + next_random(c));
			break;
		case VGPU_FIELD_RDEV:
		case VGPU_FIELD_STAMP:
			put(f->p + field->offset, 8, next_random(c));
			break;
		case VGPU_FIELD_CLOCK:
			put(f->p + field->offset, 4, next_random(c) % 4);
			break;
		}
	}
	special = special_bytes(c, f, body);
	for (i = 0; i < f->len; i++)
		if (!special[i])
			f->p[i] = next_random(c);
}

/* Bytes behind a struct that holds their number. */
#define BEHIND	24

static u32 arg_size(const struct schema_case *c)
{
	const struct vgpu_schema_ioctl *ioctl = c->ioctl;

	if (ioctl->flags & VGPU_IOCTL_SIZE_BEHIND)
		return ioctl->size + BEHIND;
	if (ioctl->size_from.kind != VGPU_REF_NONE)
		return ioctl->body.size;
	return ioctl->size ? ioctl->size : _IOC_SIZE(ioctl->cmd);
}

void schema_case_build(struct schema_case *c)
{
	const u32 size = arg_size(c);
	const struct frame f = { .p = user_alloc(size ? size : 8), .len = size };

	nr_built = 0;
	c->has_variant = false;
	c->arg = (uintptr_t)f.p;
	switch (c->ioctl->arg) {
	case VGPU_ARG_VALUE:
		c->arg = 0x1234567890;
		return;
	case VGPU_ARG_FD:
		c->arg = USER_FD_FIRST + next_random(c) % 20;
		return;
	case VGPU_ARG_STRING:
		build_fill(c, f.p, size / 2);
		return;
	}
	if (c->ioctl->size_from.kind != VGPU_REF_NONE)
		put(f.p + c->ioctl->size_from.offset, c->ioctl->size_from.size,
		    c->ioctl->flags & VGPU_IOCTL_SIZE_BEHIND ? BEHIND : size);
	build_struct(c, &f, &c->ioctl->body);
}

/* --- the driver ----------------------------------------------------------- */

static void meet(struct schema_case *c, u64 v)
{
	c->sum = (c->sum ^ v) * 0x100000001b3ULL;
}

static bool drive_struct(struct host *host, struct schema_case *c, const struct frame *f,
			 const struct vgpu_schema_struct *body, u8 dir);

/* Reads bytes into the sum, and changes them if the direction says so. */
static bool drive_bytes(struct schema_case *c, u8 *p, u32 bytes, u8 dir)
{
	u32 i;

	if (dir & VGPU_IN)
		for (i = 0; i < bytes; i++)
			meet(c, p[i]);
	if (dir == VGPU_INOUT)
		for (i = 0; i < bytes; i += 2)
			p[i] ^= 0x5a;
	if (dir == VGPU_OUT && c->result >= 0)
		for (i = 0; i < bytes; i++)
			p[i] = 0xa0 + i % 7;
	return true;
}

static bool drive_ptr(struct host *host, struct schema_case *c, const struct frame *f,
		      const struct vgpu_schema_field *field)
{
	int rights = (field->dir & VGPU_IN ? USER_READ : 0) |
		     (field->dir & VGPU_OUT ? USER_WRITE : 0);
	u64 addr = get(f->p + field->offset, field->size), n = 1, unit = field_unit(field);
	u32 bytes, step, at;
	u8 *p;

	if (field->stride.kind != VGPU_REF_NONE)
		unit = get(frame_ref(f, &field->stride), field->stride.size);
	if (field->times.kind != VGPU_REF_NONE)
		unit *= get(frame_ref(f, &field->times), field->times.size);
	if (field->count.kind == VGPU_REF_CONST)
		n = field->count.value;
	else if (field->count.kind == VGPU_REF_SUM)
		n = 0;
	else if (field->count.kind != VGPU_REF_NONE)
		n = get(frame_ref(f, &field->count), field->count.size);
	if (field->count.kind == VGPU_REF_SUM) {
		/* Each object of the first array has a count, as in DRM_IOCTL_MODE_ATOMIC. */
		const struct vgpu_schema_ref *ref = &field->count;
		const struct vgpu_schema_field *counts = c->ioctl->body.fields;
		u32 i, nr;

		while (counts->offset != ref->via)
			counts++;
		nr = get(frame_ref(f, &counts->count), counts->count.size);
		for (i = 0; i < nr; i++)
			n += get(frame_ref(f, ref) + i * ref->size, ref->size);
	}
	bytes = n * unit;
	if (!addr || !bytes)
		return true;
	p = driver_mem(host, addr, bytes, rights);
	if (!p)
		return false;
	c->pointers++;
	if (!field->elem) {
		if (field->out_count.kind != VGPU_REF_NONE && c->result >= 0) {
			n = (n + 1) / 2;
			bytes = n * unit;
			put(frame_ref(f, &field->out_count), field->out_count.size, n);
		}
		return drive_bytes(c, p, bytes, field->dir);
	}
	if (field->out_count.kind != VGPU_REF_NONE && c->result >= 0) {
		n = (n + 1) / 2;
		bytes = n * unit;
		put(frame_ref(f, &field->out_count), field->out_count.size, n);
	}
	step = field->stride.kind != VGPU_REF_NONE ? unit : field->elem->size;
	for (at = 0; at + step <= bytes; at += step) {
		const struct frame in = { .up = f, .p = p + at, .len = step };

		if (!drive_struct(host, c, &in, field->elem, field->dir))
			return false;
	}
	return true;
}

static bool drive_chain(struct host *host, struct schema_case *c, const struct frame *f,
			const struct vgpu_schema_field *field)
{
	const struct vgpu_schema_chain *chain = field->chain;
	u64 addr = get(f->p + field->offset, 8);
	const struct vgpu_schema_node *node;
	u32 i;

	for (i = 0; addr && i < chain->max; i++) {
		u8 *head = driver_mem(host, addr, chain->head, USER_READ);
		u64 tag;
		u32 more;

		if (!head)
			return false;
		tag = get(head + chain->tag, chain->tag_size);
		for (node = chain->nodes; node->tag != tag; node++)
			;
		more = node->more_unit *
			get(head + node->more.offset, node->more_unit ? node->more.size : 0);
		const struct frame in = {
			f, driver_mem(host, addr, node->body.size + more, USER_READ),
			node->body.size, chain->head, node->more_unit ? &node->more : NULL,
		};

		if (!in.p || !drive_struct(host, c, &in, &node->body, node->dir) ||
		    !drive_bytes(c, in.p + node->body.size, more, node->dir))
			return false;
		c->pointers++;
		addr = get(in.p + chain->next, 8);
	}
	return true;
}

static bool when_met(const struct frame *f, const struct vgpu_schema_when *when)
{
	if (when->learned)
		return false;
	return when->ref.kind == VGPU_REF_NONE ||
		(when->least ?
		 (get(frame_ref(f, &when->ref), when->ref.size) & when->mask) >= when->value :
		 (get(frame_ref(f, &when->ref), when->ref.size) & when->mask) == when->value);
}

static void drive_plain(struct schema_case *c, const struct frame *f,
			const struct vgpu_schema_struct *body, u8 dir)
{
	const u8 *special = special_bytes(c, f, body);
	u32 i;

	for (i = 0; i < f->len; i++) {
		if (special[i])
			continue;
		if (dir & VGPU_IN)
			meet(c, f->p[i]);
		/* The marshaller sends old bytes of the argument, but none of an OUT array. */
		if (dir == VGPU_OUT && f->up) {
			if (c->result >= 0)
				f->p[i] = 0xa0 + i % 7;
		} else if (dir & VGPU_OUT) {
			f->p[i] ^= 0x40 + i % 9;
		}
	}
}

/* Writes some device numbers, even before a failure, as media devices do; some have no node. */
static void drive_rdev(struct host *host, struct schema_case *c, u8 *p)
{
	u32 nr = c->rdevs++;

	switch (nr % 3) {
	case 0:
		put(p, 4, host ? 300 : USER_MAJOR);
		put(p + 4, 4, host ? nr : nr + USER_MINOR);
		break;
	case 1:
		put(p, 4, 0);
		put(p + 4, 4, host ? nr : 0);
		break;
	default:	/* left alone */
		break;
	}
}

/* Writes a process id; with a field for its kind, every second case names the opener. */
static void drive_pid(struct host *host, struct schema_case *c, const struct frame *f,
		      const struct vgpu_schema_field *field)
{
	const struct vgpu_schema_ref *ref = &field->out_count;
	u32 pid = host ? HOST_PID : USER_PID;

	c->pids++;
	if (ref->kind != VGPU_REF_NONE) {
		const bool opener = c->elems & 1;

		if (!host)
			pid = opener ? USER_OPENER : 0;
		put(f->p + ref->offset, ref->size, opener ? field->mask : ~field->mask);
	}
	put(f->p + field->offset, field->size, pid);
}

/*
 * The host's driver knows the program by id 1, and no other process. Of each three places the
 * driver writes the program's id to the first and 0 to the second, and leaves the third alone.
 */
static void drive_pids(struct host *host, struct schema_case *c, const struct frame *f,
		       const struct vgpu_schema_field *field)
{
	u32 i;

	for (i = 0; i < field->max; i++) {
		u8 *p = f->p + field->offset + i * field->unit;
		u32 pid = get(p, 4);

		if (host)
			pid = pid == 1 ? USER_PROCESS : pid == 0x7fffffff ? 1 : pid;
		meet(c, pid);
		if (i % 3 == 0)
			put(p, 4, host ? 1 : USER_PROCESS);
		else if (i % 3 == 1)
			put(p, 4, 0);
	}
	c->pids++;
}

/* Writes a time; some times are 0, and some fields that are IN and OUT keep the program's time. */
static void drive_stamp(struct host *host, struct schema_case *c, u8 *p,
			const struct vgpu_schema_field *field, u8 dir)
{
	u32 nr = c->stamps++, half = field->size / 2;
	u64 unit = field->unit ? 1000000000 / field->unit : field->max ? field->max : 1;
	u64 time = nr % 4 == 1 ? 0 : (77777777777ULL + nr * 1234567891ULL) / unit * unit;

	if (!(dir & VGPU_OUT) || (dir == VGPU_OUT && c->result < 0) ||
	    (dir == VGPU_INOUT && nr % 4 == 2))
		return;
	if (!host && time)
		time = USER_STAMP(time, field->clock);
	if (!field->unit) {
		put(p, 8, time / unit);
		return;
	}
	put(p, half, time / 1000000000);
	put(p + half, half, time % 1000000000 / unit);
}

static bool drive_struct(struct host *host, struct schema_case *c, const struct frame *f,
			 const struct vgpu_schema_struct *body, u8 dir)
{
	u32 i, fd, settled = ~0U;

	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];
		struct frame in;

		if (field->offset + field->size > f->len || !when_met(f, &field->when) ||
		    (is_alternative(field) && field->offset == settled))
			continue;
		if (is_alternative(field))
			settled = field->offset;
		fd = get(f->p + field->offset, min(field->size, 4));
		switch (field->type) {
		case VGPU_FIELD_STRUCT:
			in = inside(f, field);
			if (!drive_struct(host, c, &in, field->elem, dir))
				return false;
			break;
		case VGPU_FIELD_RESULT_FD:
			c->result_fd = true;
			break;
		case VGPU_FIELD_HIDE:
			/* A native run clears the hidden bits itself, as the expected result. */
			if (!(dir & VGPU_OUT) || c->result < 0)
				break;
			fd |= field->mask & 0x55555555;
			if (!host)
				fd = field->mask == ~0U ? ~0U : fd & ~field->mask;
			put(f->p + field->offset, 4, fd);
			break;
		case VGPU_FIELD_RDEV:
			if (dir == VGPU_INOUT)
				drive_rdev(host, c, f->p + field->offset);
			break;
		case VGPU_FIELD_PID:
			if (dir == VGPU_INOUT && c->result >= 0)
				drive_pid(host, c, f, field);
			break;
		case VGPU_FIELD_PIDS:
			if (dir == VGPU_INOUT && c->result >= 0)
				drive_pids(host, c, f, field);
			break;
		case VGPU_FIELD_PTR:
			if (!drive_ptr(host, c, f, field))
				return false;
			break;
		case VGPU_FIELD_CHAIN:
			if (!drive_chain(host, c, f, field))
				return false;
			break;
		case VGPU_FIELD_FD_IN:
		case VGPU_FIELD_EVENT_IN:
			c->fds_in++;
			meet(c, driver_fd_object(host, fd));
			break;
		case VGPU_FIELD_FD_OUT:
			if (c->result < 0)
				break;
			c->fds_out++;
			put(f->p + field->offset, 4, driver_fd_new(host, 7000 + c->fds_out));
			break;
		case VGPU_FIELD_STAMP:
			drive_stamp(host, c, f->p + field->offset, field, dir);
			break;
		case VGPU_FIELD_CLOCK:
			meet(c, fd);
			break;
		case VGPU_FIELD_TIME:
			meet(c, get(f->p + field->offset, 8) - (host ? HOST_NOW : USER_NOW));
			break;
		}
	}
	drive_plain(c, f, body, dir);
	return true;
}

long schema_case_driver(struct host *host, u32 cmd, u64 arg, void *data)
{
	struct schema_case *c = data;
	u32 size = arg_size(c);
	u8 dir = c->ioctl->dir;
	struct frame f = { .len = size };

	c->sum = 0;
	c->pointers = 0;
	c->fds_in = 0;
	c->fds_out = 0;
	c->rdevs = 0;
	c->pids = 0;
	c->stamps = 0;
	c->result_fd = c->ioctl->flags & VGPU_IOCTL_RESULT_FD;
	if (!dir && (_IOC_DIR(cmd) & _IOC_WRITE))
		dir |= VGPU_IN;
	if (!c->ioctl->dir && (_IOC_DIR(cmd) & _IOC_READ))
		dir |= VGPU_OUT;
	if (c->ioctl->arg == VGPU_ARG_STRING) {
		dir = VGPU_IN;
		/* The string is shorter than its limit. */
		f.len = size /= 2;
	}
	if (c->ioctl->arg == VGPU_ARG_VALUE) {
		meet(c, arg);
		return c->result;
	}
	if (c->ioctl->arg == VGPU_ARG_FD) {
		c->fds_in++;
		meet(c, driver_fd_object(host, arg));
		return c->result;
	}
	if (!size || !dir)
		return c->result;
	f.p = driver_mem(host, arg, size, USER_READ);
	if (!f.p || !drive_struct(host, c, &f, &c->ioctl->body, dir))
		return -EFAULT;
	if (c->result_fd && c->result >= 0) {
		c->fds_out++;
		return driver_fd_new(host, 7000);
	}
	return c->result;
}
