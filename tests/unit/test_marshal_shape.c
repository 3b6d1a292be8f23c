// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the schema language beyond the tables' use: chains, depth, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "marshal_test.h"

/* --- chains, depth -------------------------------------------------------- */

static long chain_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_chain *c = driver_mem(h, arg, sizeof(*c), USER_READ);
	u64 next = c->extensions;

	c->out_count = 0;
	while (next) {
		struct vgpu_mock_ext_base *b = driver_mem(h, next, sizeof(*b), USER_READ);

		if (!b)
			return -EFAULT;
		if (!b->name || b->name > VGPU_MOCK_EXT_ARRAY)
			return -EINVAL;
		if (++c->out_count > VGPU_MOCK_MAX_CHAIN)
			return -E2BIG;
		next = b->next_extension;
	}
	return 0;
}

static void test_chain(void)
{
	struct vgpu_mock_ext_set *e[20];
	struct vgpu_mock_chain *c;
	u32 i;

	start();
	c = user_alloc(sizeof(*c));
	for (i = 0; i < 20; i++) {
		e[i] = user_alloc(sizeof(*e[i]));
		e[i]->base.name = VGPU_MOCK_EXT_SET;
		if (i)
			e[i - 1]->base.next_extension = (uintptr_t)e[i];
	}
	c->extensions = (uintptr_t)e[4];
	tap_expect(!call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) &&
		   c->out_count == 16 && !host.fetches, "the longest");
	c->extensions = (uintptr_t)e[0];
	tap_expect(call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) == -E2BIG,
		   "a longer one is the driver's to refuse");
	e[7]->base.next_extension = (uintptr_t)e[6];
	tap_expect(call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) == -E2BIG, "a ring");
	e[7]->base.next_extension = 0x30;
	tap_expect(call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) == -EFAULT &&
		   e[7]->base.next_extension == 0x30, "a bad link");
	e[7]->base.next_extension = (uintptr_t)e[8];
	e[8]->base.name = 99;
	tap_expect(call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) == -EINVAL &&
		   host.fetches, "an unknown tag");
	e[8]->base.name = VGPU_MOCK_EXT_GET;
	e[8]->base.next_extension = 0;
	e[7]->base.next_extension = (uintptr_t)user_alloc_pages(USER_PAGE) + USER_PAGE - 16;
	((struct vgpu_mock_ext_base *)(uintptr_t)e[7]->base.next_extension)->name =
		VGPU_MOCK_EXT_GET;
	tap_expect(!call(mock, VGPU_MOCK_IOC_CHAIN, c, chain_driver, NULL) && host.fetches,
		   "a head whose body is missing");
	tap_subject("chains");
}

/* A struct that points to another struct of the same kind. */
struct deep {
	u64 down;
};

static const struct vgpu_schema_struct deep_struct;
static const struct vgpu_schema_field deep_fields[] = {
	{ VGPU_PTR(struct deep, down), .dir = VGPU_INOUT, .elem = &deep_struct },
};

static const struct vgpu_schema_struct deep_struct = VGPU_STRUCT(struct deep, deep_fields);

/* A struct with memory that the device would keep, if a flag says so. */
struct keep {
	u64 addr;
	u32 flags;
	u32 handle;
};

static const struct vgpu_schema_field keep_fields[] = {
	{ VGPU_USERPTR(struct keep, addr), .error = EOPNOTSUPP,
	  .when = VGPU_WHEN_FLAG(struct keep, flags, 2) },
};

/* A struct that counts its inner structs, and the elements of each inner struct's array. */
struct outer {
	u64 inner;
	u16 each;
	u8 nr;
	u8 pad[5];
};

struct inner {
	u64 p;
};

static const struct vgpu_schema_field inner_fields[] = {
	{ VGPU_PTR(struct inner, p), .dir = VGPU_IN, .unit = 2,
	  .count = VGPU_FIELD_UP(1, struct outer, each) },
};

static const struct vgpu_schema_struct inner_struct = VGPU_STRUCT(struct inner, inner_fields);

static const struct vgpu_schema_field outer_fields[] = {
	{ VGPU_PTR(struct outer, inner), .dir = VGPU_IN, .count = VGPU_FIELD(struct outer, nr),
	  .elem = &inner_struct },
};

/* An element of 10 bytes: the pointer of every second element is not aligned to 4. */
struct packed {
	u16 nr;
	u64 p;
} __attribute__((packed));

static const struct vgpu_schema_field packed_fields[] = {
	{ VGPU_PTR(struct packed, p), .dir = VGPU_IN, .count = VGPU_FIELD(struct packed, nr) },
};

static const struct vgpu_schema_struct packed_struct =
	VGPU_STRUCT(struct packed, packed_fields);

/* The fields of an element whose count is in other memory. */
static const struct vgpu_schema_field counted_fields[] = {
	{ VGPU_PTR(struct vgpu_mock_counted, head), .dir = VGPU_IN, .unit = 8 },
	{ VGPU_PTR(struct vgpu_mock_counted, data), .dir = VGPU_IN,
	  .count = VGPU_TARGET(struct vgpu_mock_counted, head,
			       struct vgpu_mock_counted_head, count) },
};

static const struct vgpu_schema_struct counted_struct =
	VGPU_STRUCT(struct vgpu_mock_counted, counted_fields);

/* An fd in memory that is OUT only. */
static const struct vgpu_schema_field an_fd[] = {
	{ .type = VGPU_FIELD_FD_OUT, .size = 4 },
};

static const struct vgpu_schema_struct fd_struct = VGPU_STRUCT(s32, an_fd);

#define ARRAY_OF(d, s) { \
	{ VGPU_PTR(struct vgpu_mock_array, ptr), .dir = (d), \
	  .count = VGPU_FIELD(struct vgpu_mock_array, count), .elem = &(s) }, \
}

static const struct vgpu_schema_field packed_array[] = ARRAY_OF(VGPU_IN, packed_struct);
static const struct vgpu_schema_field counted_array[] = ARRAY_OF(VGPU_IN, counted_struct);
static const struct vgpu_schema_field fd_array[] = ARRAY_OF(VGPU_OUT, fd_struct);

#define SYNTH_PACKED	_IOWR('x', 4, struct vgpu_mock_array)
#define SYNTH_COUNTED	_IOWR('x', 5, struct vgpu_mock_array)
#define SYNTH_FDS	_IOWR('x', 6, struct vgpu_mock_array)
#define SYNTH_DEEP	_IOWR('x', 0, struct deep)
#define SYNTH_KEEP	_IOWR('x', 1, struct keep)
#define SYNTH_OUTER	_IOWR('x', 2, struct outer)
#define SYNTH_REFUSED	_IO('x', 3)

static const struct vgpu_schema_ioctl synth_ioctls[] = {
	{ VGPU_IOCTL_WITH_OF(SYNTH_DEEP, struct deep, deep_fields) },
	{ VGPU_IOCTL_WITH_OF(SYNTH_KEEP, struct keep, keep_fields) },
	{ VGPU_IOCTL_WITH_OF(SYNTH_OUTER, struct outer, outer_fields) },
	{ VGPU_IOCTL_REFUSE(SYNTH_REFUSED, ENOTTY) },
	{ VGPU_IOCTL_WITH_OF(SYNTH_PACKED, struct vgpu_mock_array, packed_array) },
	{ VGPU_IOCTL_WITH_OF(SYNTH_COUNTED, struct vgpu_mock_array, counted_array) },
	{ VGPU_IOCTL_WITH_OF(SYNTH_FDS, struct vgpu_mock_array, fd_array) },
};

static const struct vgpu_schema synth = {
	.name = "synth",
	.ioctls = synth_ioctls,
	.nr_ioctls = ARRAY_SIZE(synth_ioctls),
};

static long deep_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	u32 *depth = data;

	for (*depth = 0; arg; (*depth)++) {
		struct deep *d = driver_mem(h, arg, sizeof(*d), USER_READ);

		if (!d)
			return -EFAULT;
		arg = d->down;
	}
	return 0;
}

static void test_language(void)
{
	struct vgpu_marshal m;
	struct deep *d[40];
	struct outer *o;
	struct inner *in;
	struct keep *k;
	u64 value = 0;
	u32 i, depth;

	start();
	for (i = 0; i < 40; i++) {
		d[i] = user_alloc(sizeof(*d[i]));
		if (i)
			d[i - 1]->down = (uintptr_t)d[i];
	}
	tap_expect(!call(&synth, SYNTH_DEEP, d[0], deep_driver, &depth) && depth == 40 &&
		   host.fetches == 40 - VGPU_SCHEMA_DEPTH - 1,
		   "what is nested deeper is left to demand paging: %u of %u", host.fetches, depth);
	d[39]->down = (uintptr_t)d[39];
	host_ioctl_keep(&host, &m, &synth, SYNTH_DEEP, (uintptr_t)d[39], false, wants_driver,
			&value);
	tap_expect(m.nr_segs <= VGPU_SCHEMA_DEPTH + 1, "a struct that points to itself");
	vgpu_marshal_fini(&m);
	tap_subject("depth");

	k = user_alloc(sizeof(*k));
	k->addr = (uintptr_t)k;
	tap_expect(call(&synth, SYNTH_KEEP, k, wants_driver, &value) == 7, "not kept");
	k->flags = 3;
	tap_expect(call(&synth, SYNTH_KEEP, k, wants_driver, &value) == -EOPNOTSUPP &&
		   !host.calls, "kept: refused");
	k->addr = 0;
	tap_expect(call(&synth, SYNTH_KEEP, k, wants_driver, &value) == 7, "kept, but null");
	tap_expect(call(&synth, SYNTH_REFUSED, NULL, wants_driver, &value) == -ENOTTY &&
		   !host.calls, "refused altogether");
	tap_subject("refusals");

	o = user_alloc(sizeof(*o));
	in = user_alloc(3 * sizeof(*in));
	o->inner = (uintptr_t)in;
	o->nr = 3;
	o->each = 300;
	for (i = 0; i < 3; i++)
		in[i].p = (uintptr_t)user_alloc(600);
	host_ioctl_keep(&host, &m, &synth, SYNTH_OUTER, (uintptr_t)o, false, wants_driver, &value);
	tap_expect(m.nr_segs == 5 && le32_to_cpu(m.segs[4].len) == 600 &&
		   le32_to_cpu(m.segs[1].len) == 24, "a count of the struct around");
	vgpu_marshal_fini(&m);
	tap_subject("counts of other widths and places");
}

/* Adds up the bytes at the pointers of an array of packed structs. */
static long packed_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_array *a = driver_mem(h, arg, sizeof(*a), USER_READ);
	struct packed *p = driver_mem(h, a->ptr, a->count * sizeof(*p), USER_READ);
	u32 i;

	for (i = 0; i < a->count; i++)
		*(u32 *)data += *(u8 *)driver_mem(h, p[i].p, p[i].nr, USER_READ);
	return 0;
}

static long fds_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_array *a = driver_mem(h, arg, sizeof(*a), USER_READ);
	s32 *fds = driver_mem(h, a->ptr, a->count * sizeof(*fds), USER_WRITE);
	u32 i;

	for (i = 0; i < a->count; i++)
		fds[i] = i & 1 ? -1 : driver_fd_new(h, 50 + i);
	return 0;
}

static void test_arrays(void)
{
	struct vgpu_mock_counted *counted;
	struct vgpu_mock_array *a;
	struct vgpu_marshal m;
	struct packed *packed;
	u32 i, sum = 0;
	u64 value = 0;
	s32 *fds;

	start();
	a = user_alloc(sizeof(*a));
	packed = user_alloc(4 * sizeof(*packed));
	a->ptr = (uintptr_t)packed;
	a->count = 4;
	for (i = 0; i < 4; i++) {
		u8 *p = user_alloc(3);

		*p = 1 << i;
		packed[i].nr = 3;
		packed[i].p = (uintptr_t)p;
	}
	tap_expect(!call(&synth, SYNTH_PACKED, a, packed_driver, &sum) && sum == 15 &&
		   host.fetches == 2, "unaligned pointers are left to demand paging");

	counted = user_alloc(3 * sizeof(*counted));
	a->ptr = (uintptr_t)counted;
	a->count = 3;
	for (i = 0; i < 3; i++) {
		struct vgpu_mock_counted_head *head = user_alloc(sizeof(*head));

		head->count = 100 + i;
		counted[i].head = (uintptr_t)head;
		counted[i].data = (uintptr_t)user_alloc(200);
	}
	/* The last element has no readable head, so the length of its data is unknown. */
	counted[2].head = 0x30;
	host_ioctl_keep(&host, &m, &synth, SYNTH_COUNTED, (uintptr_t)a, false, wants_driver,
			&value);
	tap_expect(m.nr_segs == 6 && le32_to_cpu(m.segs[3].len) == 100 &&
		   le32_to_cpu(m.segs[5].len) == 101, "each its own count");
	vgpu_marshal_fini(&m);

	fds = user_alloc(60 * sizeof(*fds));
	a->ptr = (uintptr_t)fds;
	a->count = 60;
	tap_expect(!call(&synth, SYNTH_FDS, a, fds_driver, NULL) && user.installed == 30,
		   "fds in memory that only comes back");
	for (sum = 0, i = 0; i < 60; i++)
		sum += fds[i] != (i & 1 ? -1 : (s32)(USER_FD_NEW + i / 2));
	tap_expect(!sum, "each in its place");
	tap_subject("arrays of structs");
}

/* --- memory --------------------------------------------------------------- */

static void test_allocations(void)
{
	struct vgpu_mock_structs *s;
	struct vgpu_mock_struct *elem;
	struct vgpu_mock_fds *f;
	u32 i, failures = 0;
	long result = -ENOMEM;
	s32 *fds;

	start();
	s = user_alloc(sizeof(*s));
	elem = user_alloc(64 * sizeof(*elem));
	s->ptr = (uintptr_t)elem;
	s->count = 64;
	for (i = 0; i < 64; i++) {
		elem[i].ptr = (uintptr_t)user_alloc(300);
		elem[i].length = 300;
	}
	for (i = 1; result == -ENOMEM && i < 100; i++) {
		vgpu_user_alloc_fail = i;
		result = call(mock, VGPU_MOCK_IOC_STRUCTS, s, wants_driver, &(u64){ 0 });
		failures += result == -ENOMEM;
	}
	vgpu_user_alloc_fail = 0;
	tap_expect(result == 7 && failures > 8, "%u places to fail", failures);

	f = user_alloc(sizeof(*f));
	fds = user_alloc(64 * 4);
	f->ptr = (uintptr_t)fds;
	f->count = 64;
	for (i = 0; i < 64; i++)
		fds[i] = USER_FD_FIRST + i;
	result = -ENOMEM;
	for (failures = 0, i = 1; result == -ENOMEM && i < 100; i++) {
		vgpu_user_alloc_fail = i;
		result = call(mock, VGPU_MOCK_IOC_FDS_IN, f, wants_driver, &(u64){ 0 });
		failures += result == -ENOMEM;
	}
	vgpu_user_alloc_fail = 0;
	tap_expect(result == 7 && failures > 3, "%u places to fail with fds held", failures);
	tap_subject("every allocation fails in turn");
}

/* --- times ---------------------------------------------------------------- */

/* Replaces the offset in @data by the 8 bytes at that offset of the argument. */
static long time_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	u64 *offset = data;

	*offset = *(u64 *)driver_mem(h, arg + *offset, sizeof(u64), USER_READ);
	return 0;
}

static u64 time_seen(const struct vgpu_schema *schema, u32 cmd, const void *arg, u32 offset)
{
	u64 seen = offset;

	return call(schema, cmd, arg, time_driver, &seen) ? 0 : seen;
}

static void test_times(void)
{
	const u32 wait_cmd = _IOWR('d', 0xC3, struct vgpu_syncobj_wait);
	const u32 timeline_cmd = _IOWR('d', 0xCA, struct vgpu_syncobj_timeline_wait);
	struct vgpu_syncobj_timeline_wait *t;
	struct vgpu_syncobj_wait *w;
	struct sync_set_deadline *d;

	start();
	w = user_alloc(sizeof(*w));
	w->timeout_nsec = USER_NOW + 5;
	w->deadline_nsec = USER_NOW + 9;
	tap_expect(time_seen(&vgpu_schema_drm, wait_cmd, w, 8) == HOST_NOW + 5,
		   "the end of a wait");
	tap_expect(time_seen(&vgpu_schema_drm, wait_cmd, w, offsetof(typeof(*w), deadline_nsec)) ==
		   USER_NOW + 9, "a deadline that is none");
	w->flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;
	tap_expect(time_seen(&vgpu_schema_drm, wait_cmd, w, offsetof(typeof(*w), deadline_nsec)) ==
		   HOST_NOW + 9 && w->deadline_nsec == USER_NOW + 9, "a wait's deadline");
	/* An older program's struct has no deadline. */
	tap_expect(time_seen(&vgpu_schema_drm, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0xC3, 32), w, 8) ==
		   HOST_NOW + 5, "a wait without a deadline");

	t = user_alloc(sizeof(*t));
	t->flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;
	t->deadline_nsec = USER_NOW + 9;
	tap_expect(time_seen(&vgpu_schema_drm, timeline_cmd, t,
			     offsetof(typeof(*t), deadline_nsec)) == HOST_NOW + 9,
		   "the deadline of a wait for points");

	d = user_alloc(sizeof(*d));
	d->deadline_ns = USER_NOW + 9;
	tap_expect(time_seen(&vgpu_schema_sync_file, SYNC_IOC_SET_DEADLINE, d, 0) == HOST_NOW + 9,
		   "a fence's deadline");
	d->deadline_ns = S64_MAX;
	tap_expect(time_seen(&vgpu_schema_sync_file, SYNC_IOC_SET_DEADLINE, d, 0) == S64_MAX,
		   "never");
	tap_subject("points in time");
}

int main(void)
{
	test_times();
	test_chain();
	test_language();
	test_arrays();
	test_allocations();
	return tap_done();
}
