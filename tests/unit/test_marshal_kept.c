// SPDX-License-Identifier: GPL-2.0-only
/* Tests of memory that the device keeps: the pages in the call, and cases without pages. */
#include "marshal_test.h"

struct two {
	u64 first;
	u64 second;
	u32 pages;
	u32 error;
};

static const struct vgpu_schema_field two_fields[] = {
	{ VGPU_KEPT(struct two, first), .dir = VGPU_INOUT, .unit = USER_PAGE, .error = EOPNOTSUPP,
	  .count = VGPU_FIELD(struct two, pages) },
	{ VGPU_KEPT(struct two, second), .dir = VGPU_IN, .unit = USER_PAGE,
	  .count = VGPU_FIELD(struct two, pages) },
};

#define TWO	_IOWR('x', 1, struct two)

static const struct vgpu_schema_ioctl two_ioctls[] = {
	{ VGPU_IOCTL_WITH_OF(TWO, struct two, two_fields) },
};

static const struct vgpu_schema two_schema = {
	.name = "two",
	.ioctls = two_ioctls,
	.nr_ioctls = ARRAY_SIZE(two_ioctls),
};

static struct vgpu_marshal m;
static u64 seen;

/* A driver that stores the pointer in its argument in seen. */
static long keep_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	seen = *(u64 *)driver_mem(h, arg, sizeof(u64), USER_READ);
	return 0;
}

static const struct vgpu_kept *kept_of(u32 seg)
{
	if (seg >= m.nr_segs || !(le32_to_cpu(m.segs[seg].flags) & VGPU_SEG_KEPT))
		return NULL;
	return (const void *)(m.data + m.info[seg].in_off);
}

/* Return: segment @seg stands for @pages at @addr, in @runs runs. */
static bool kept_is(u32 seg, u64 addr, u64 pages, u32 runs, bool write)
{
	const struct vgpu_kept *kept = kept_of(seg);

	return kept && le64_to_cpu(m.segs[seg].addr) == addr &&
		le64_to_cpu(kept->len) == pages * USER_PAGE &&
		le32_to_cpu(m.segs[seg].len) == sizeof(*kept) + runs * sizeof(struct vgpu_run) &&
		le32_to_cpu(kept->flags) == (write ? VGPU_KEPT_WRITE : 0);
}

static long keep(void *ptr, u64 last, u32 what)
{
	struct vgpu_mock_keep *arg = user_alloc(sizeof(*arg));

	*arg = (struct vgpu_mock_keep) { .ptr = (uintptr_t)ptr, .last = last, .what = what };
	seen = 0;
	return host_ioctl_keep(&host, &m, mock, VGPU_MOCK_IOC_KEEP, (uintptr_t)arg, false,
			       keep_driver, NULL);
}

static void test_pages(void)
{
	u8 *p;

	start();
	p = user_alloc_pages(5 * USER_PAGE);
	tap_expect(!keep(p, 4 * USER_PAGE - 1, VGPU_MOCK_KEEP_PIN) && seen == (uintptr_t)p &&
		   m.nr_segs == 2 && kept_is(1, (uintptr_t)p, 4, 3, true), "four pages");
	tap_expect(!m.nr_fixups && m.scratch_bytes == sizeof(struct vgpu_mock_keep),
		   "nothing is translated, and nothing copied");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(p + 8, 4 * USER_PAGE - 1, VGPU_MOCK_KEEP_PIN) &&
		   seen == (uintptr_t)p + 8 && kept_is(1, (uintptr_t)p, 5, 4, true),
		   "all that they touch");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(p + 8, 0, VGPU_MOCK_KEEP_PIN) && kept_is(1, (uintptr_t)p, 1, 1, true),
		   "a byte");
	vgpu_marshal_fini(&m);
	tap_expect(kept_of(1) && le64_to_cpu(((struct vgpu_run *)(kept_of(1) + 1))->addr) ==
		   USER_PHYS + (uintptr_t)p, "the page's place");
	tap_subject("pages");
}

static void test_none(void)
{
	u8 *p;

	start();
	p = user_alloc_pages(USER_PAGE);
	tap_expect(!keep(p, 99, VGPU_MOCK_KEEP_PLAIN) && m.nr_segs == 1 && !user.kept,
		   "an integer");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(NULL, 99, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1 && !user.kept, "null");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(p, ~0ULL, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1 && !user.kept,
		   "a length that wraps");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(p, -(u64)(uintptr_t)p - 2, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1 &&
		   !user.kept, "memory that ends with the last address");
	vgpu_marshal_fini(&m);
	tap_expect(!keep(p, 2 * USER_PAGE, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1 &&
		   seen == (uintptr_t)p, "no such memory: the driver finds that");
	vgpu_marshal_fini(&m);
	user_protect(p, USER_PAGE, USER_READ);
	tap_expect(!keep(p, 99, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1, "not to be written to");
	vgpu_marshal_fini(&m);
	user.fail_keep = ENOMEM;
	seen = 0;
	tap_expect(keep(p, 99, VGPU_MOCK_KEEP_PIN) == -ENOMEM && !seen, "no memory");
	vgpu_marshal_fini(&m);
	user.fail_keep = 0;
	host.limits.features &= ~VGPU_FEATURE_KEEP;
	tap_expect(!keep(p, 99, VGPU_MOCK_KEEP_PIN) && m.nr_segs == 1 && !user.kept,
		   "a host that knows no such memory");
	vgpu_marshal_fini(&m);
	tap_subject("no pages");
}

/* A struct with four ranges of any length, which may overlap. */
struct many {
	u64 addr[4];
	u32 bytes[4];
};

#define MANY(n) \
	{ VGPU_KEPT(struct many, addr[n]), .dir = VGPU_IN, \
	  .count = VGPU_FIELD(struct many, bytes[n]) }

static const struct vgpu_schema_field many_fields[] = { MANY(0), MANY(1), MANY(2), MANY(3) };

#define KEEP_MANY	_IOWR('x', 2, struct many)

static const struct vgpu_schema_ioctl many_ioctls[] = {
	{ VGPU_IOCTL_WITH_OF(KEEP_MANY, struct many, many_fields) },
};

static const struct vgpu_schema many_schema = {
	.name = "many",
	.ioctls = many_ioctls,
	.nr_ioctls = ARRAY_SIZE(many_ioctls),
};

static long keep_many(const struct many *many)
{
	struct many *arg = user_alloc(sizeof(*arg));

	*arg = *many;
	return host_ioctl_keep(&host, &m, &many_schema, KEEP_MANY, (uintptr_t)arg, false,
			       keep_driver, NULL);
}

static void test_overlap(void)
{
	struct many many = { };
	u64 p;

	start();
	p = (uintptr_t)user_alloc_pages(9 * USER_PAGE);
	/* The ranges are the planes of one picture, with shared pages. */
	many = (struct many) {
		.addr = { p + 64, p + 64 + 6000, p + 64 + 7500, p + 64 + 9000 },
		.bytes = { 6000, 1500, 1500, 3 * USER_PAGE },
	};
	tap_expect(!keep_many(&many) && m.nr_segs == 4 && kept_is(1, p, 2, 1, true) &&
		   kept_is(2, p + 2 * USER_PAGE, 1, 1, true) &&
		   kept_is(3, p + 3 * USER_PAGE, 3, 2, true), "one behind the other");
	vgpu_marshal_fini(&m);
	many = (struct many) {
		.addr = { p + 6 * USER_PAGE, p + 2 * USER_PAGE, p, p },
		.bytes = { 1, 2 * USER_PAGE, 9 * USER_PAGE, 9 * USER_PAGE },
	};
	tap_expect(!keep_many(&many) && m.nr_segs == 6 &&
		   kept_is(1, p + 6 * USER_PAGE, 1, 1, true) &&
		   kept_is(2, p + 2 * USER_PAGE, 2, 1, true) && kept_is(3, p, 2, 1, true) &&
		   kept_is(4, p + 4 * USER_PAGE, 2, 1, true) &&
		   kept_is(5, p + 7 * USER_PAGE, 2, 1, true), "around others");
	vgpu_marshal_fini(&m);
	user_protect((void *)(p + USER_PAGE), USER_PAGE, USER_READ);
	tap_expect(!keep_many(&many) && kept_is(2, p + 2 * USER_PAGE, 2, 1, true) &&
		   kept_is(3, p, 2, 1, false), "what the program only reads");
	vgpu_marshal_fini(&m);
	user_protect((void *)(p + USER_PAGE), USER_PAGE, 0);
	tap_expect(!keep_many(&many) && m.nr_segs == 3, "what is not there");
	vgpu_marshal_fini(&m);
	tap_subject("memory that overlaps");
}

static long keep_two(void *first, void *second, u32 pages)
{
	struct two *two = user_alloc(sizeof(*two));

	*two = (struct two) {
		.first = (uintptr_t)first, .second = (uintptr_t)second, .pages = pages,
	};
	return host_ioctl_keep(&host, &m, &two_schema, TWO, (uintptr_t)two, false, keep_driver,
			       NULL);
}

static void test_two(void)
{
	u8 *p;

	start();
	p = user_alloc_pages(64 * USER_PAGE);
	tap_expect(!keep_two(p, p + 2 * USER_PAGE, 2) && m.nr_segs == 3 &&
		   kept_is(1, (uintptr_t)p, 2, 1, true) &&
		   kept_is(2, (uintptr_t)p + 2 * USER_PAGE, 2, 1, true), "side by side");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(p + 2 * USER_PAGE, p, 2), "in the other order");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(p, p + USER_PAGE, 2) && m.nr_segs == 3 &&
		   kept_is(1, (uintptr_t)p, 2, 1, true) &&
		   kept_is(2, (uintptr_t)p + 2 * USER_PAGE, 1, 1, true), "one page of both");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(p + USER_PAGE, p, 2) && m.nr_segs == 3 &&
		   kept_is(2, (uintptr_t)p, 1, 1, true), "the same in the other order");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(p, p, 1) && m.nr_segs == 2, "the same page");
	vgpu_marshal_fini(&m);
	/* There is room for the runs of the first memory, but not for those of both. */
	host.limits.call_bytes = 1024;
	tap_expect(keep_two(p, p + 32 * USER_PAGE, 32) == -ENOSPC, "more runs than there is room");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(p, NULL, 32), "those of one fit");
	vgpu_marshal_fini(&m);
	host.limits.features &= ~VGPU_FEATURE_KEEP;
	tap_expect(keep_two(p, NULL, 1) == -EOPNOTSUPP, "refused where it cannot be");
	vgpu_marshal_fini(&m);
	tap_expect(!keep_two(NULL, p, 1), "or left to the driver");
	vgpu_marshal_fini(&m);
	tap_subject("memory in two places");
}

/* Pointers refused where memory cannot be kept (any), or cannot be kept exclusively (alone). */
struct unkept {
	u64 any;
	u64 alone;
};

static const struct vgpu_schema_field unkept_fields[] = {
	{ VGPU_USERPTR(struct unkept, any), .error = ENXIO, .unkept = true },
	{ VGPU_USERPTR(struct unkept, alone), .error = ENODEV, .unkept = true, .alone = true },
};

#define UNKEPT	_IOWR('x', 3, struct unkept)

static const struct vgpu_schema_ioctl unkept_ioctls[] = {
	{ VGPU_IOCTL_WITH_OF(UNKEPT, struct unkept, unkept_fields) },
};

static const struct vgpu_schema unkept_schema = {
	.name = "unkept",
	.ioctls = unkept_ioctls,
	.nr_ioctls = ARRAY_SIZE(unkept_ioctls),
};

static long unkept(u64 any, u64 alone)
{
	struct unkept *arg = user_alloc(sizeof(*arg));
	long result;

	*arg = (struct unkept) { .any = any, .alone = alone };
	result = host_ioctl_keep(&host, &m, &unkept_schema, UNKEPT, (uintptr_t)arg, false,
				 keep_driver, NULL);
	vgpu_marshal_fini(&m);
	return result;
}

static void test_unkept(void)
{
	start();
	tap_expect(!unkept(1, 1), "where both can be");
	host.limits.features &= ~VGPU_FEATURE_KEEP_ALONE;
	tap_expect(!unkept(1, 0), "other calls find it");
	tap_expect(unkept(1, 1) == -ENODEV, "and none may");
	host.limits.features &= ~VGPU_FEATURE_KEEP;
	tap_expect(unkept(1, 0) == -ENXIO && unkept(0, 1) == -ENODEV, "where neither can be");
	tap_expect(!unkept(0, 0), "null");
	tap_subject("what is refused elsewhere");
}

/* Each allocation fails once, and the ioctl then fails with -ENOMEM. */
static void test_no_memory(void)
{
	long i, result = -ENOMEM;
	u8 *p;

	start();
	p = user_alloc_pages(64 * USER_PAGE);
	for (i = 1; result; i++) {
		vgpu_user_alloc_fail = i;
		result = keep_two(p, p + 32 * USER_PAGE, 32);
		vgpu_marshal_fini(&m);
		tap_expect(!result || result == -ENOMEM, "allocation %ld: %ld", i, result);
	}
	vgpu_user_alloc_fail = 0;
	tap_expect(i > 2, "some are made");
	tap_subject("no memory");
}

int main(void)
{
	test_pages();
	test_none();
	test_two();
	test_overlap();
	test_unkept();
	test_no_memory();
	return tap_done();
}
