// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases that test_schema_run does not reach: bad pointers, wrong counts, limits,
 * arguments that point into themselves, and the bytes written to the program's
 * memory at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "marshal_test.h"

/* Data that array_driver() has read. The driver inverts the elements of ARRAY_INOUT. */
struct seen {
	u64 arg;
	u64 ptr;
	u64 sum;
	u32 count;
	bool fault;
};

static long array_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	bool inout = (cmd & 0xff) == (VGPU_MOCK_IOC_ARRAY_INOUT & 0xff);
	struct vgpu_mock_array *a;
	struct seen *seen = data;
	u32 *p, i;

	memset(seen, 0, sizeof(*seen));
	seen->arg = arg;
	a = driver_mem(h, arg, sizeof(*a), USER_READ);
	if (!a)
		return -EFAULT;
	seen->ptr = a->ptr;
	seen->count = a->count;
	if (a->count > VGPU_MOCK_MAX_ELEMS)
		return -E2BIG;
	if (!a->count)
		return 0;
	p = driver_mem(h, a->ptr, a->count * 4, USER_READ);
	seen->fault = !p;
	if (!p)
		return -EFAULT;
	for (i = 0; i < a->count; i++) {
		seen->sum += p[i];
		if (inout)
			p[i] = ~p[i];
	}
	a->out_count = a->count;
	return 0;
}

static struct vgpu_mock_array *array_new(u32 count)
{
	struct vgpu_mock_array *a = user_alloc(sizeof(*a));
	u32 i, *p = user_alloc(count * 4);

	for (i = 0; i < count; i++)
		p[i] = i + 1;
	a->ptr = (uintptr_t)p;
	a->count = count;
	return a;
}

/* --- pointers ------------------------------------------------------------- */

static void test_bad_pointers(void)
{
	struct vgpu_mock_array *a;
	struct seen seen;
	u32 *pages;

	start();
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, (void *)16, array_driver, &seen) == -EFAULT &&
		   seen.arg == 16 && host.calls == 1, "the driver gets a bad argument itself");
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, NULL, array_driver, &seen) == -EFAULT,
		   "and a null one");

	a = array_new(4);
	a->ptr = 0x40;
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) == -EFAULT &&
		   seen.ptr == 0x40 && seen.fault, "and a bad pointer inside");
	a->ptr = ~0ULL - 3;
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) == -EFAULT &&
		   seen.ptr == ~0ULL - 3, "and one that wraps around");
	a->count = VGPU_MOCK_MAX_ELEMS + 1;
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) == -E2BIG,
		   "the driver's verdict on the count comes first");
	a->ptr = 0;
	a->count = 0;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) && !seen.ptr,
		   "null and nothing");
	a->ptr = 0x40;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) &&
		   seen.ptr == 0x40 && a->ptr == 0x40, "nothing at a bad pointer");

	/* The second half of the array is missing. */
	pages = user_alloc_pages(USER_PAGE);
	a->ptr = (uintptr_t)pages + USER_PAGE - 8;
	a->count = 4;
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) == -EFAULT &&
		   seen.ptr == a->ptr, "an array that ends in missing memory");
	/* The second half of the struct is missing. */
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_IN, (u8 *)pages + USER_PAGE - 8, array_driver,
			&seen) == -EFAULT && host.calls == 1,
		   "an argument that ends in missing memory");
	tap_subject("bad pointers are the driver's to judge");
}

static void test_readonly(void)
{
	struct vgpu_mock_array *a;
	struct seen seen;
	u32 *pages;

	start();
	a = array_new(0);
	pages = user_alloc_pages(USER_PAGE);
	user_protect(pages, USER_PAGE, USER_READ);
	a->ptr = (uintptr_t)pages;
	a->count = 4;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) &&
		   !host.fetches, "reading read-only memory");
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_INOUT, a, array_driver, &seen) == -EFAULT,
		   "writing it");
	tap_subject("read-only memory");
}

/* A driver that only fails; drm_ioctl() copies the argument out nevertheless. */
static long nothing_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	return -EINVAL;
}

static void test_readonly_drm(void)
{
	struct drm_get_cap *cap;
	u8 *pages;

	start();
	pages = user_alloc_pages(2 * USER_PAGE);
	cap = (void *)pages;
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_GET_CAP, cap, nothing_driver, NULL) == -EINVAL,
		   "the driver's error");
	user_protect(pages, USER_PAGE, USER_READ);
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_GET_CAP, cap, nothing_driver, NULL) == -EFAULT,
		   "the argument cannot be written");
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_GEM_CLOSE, cap, nothing_driver, NULL) == -EINVAL,
		   "an argument that is only read");
	tap_expect(!user.bytes_written, "nothing is written");
	cap = (void *)(pages + 2 * USER_PAGE - 8);
	user_protect(pages, 3 * USER_PAGE, USER_READ | USER_WRITE);
	user_protect(pages + 2 * USER_PAGE, USER_PAGE, USER_READ);
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_GET_CAP, cap, nothing_driver, NULL) == -EFAULT,
		   "nor its second page");
	tap_subject("read-only arguments of DRM");
}

static void test_limits(void)
{
	struct vgpu_mock_structs *s;
	struct vgpu_mock_struct *elem;
	struct vgpu_mock_array *a;
	struct vgpu_marshal m;
	struct seen seen;
	u32 i;

	start();
	a = array_new(3000);
	host.limits.call_bytes = 8192;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) &&
		   seen.ptr == a->ptr && host.fetches == 1 && seen.sum == 3000 * 3001 / 2,
		   "an array that is too long for a message");
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_INOUT, a, array_driver, &seen) &&
		   host.fetches == 1 && *(u32 *)(uintptr_t)a->ptr == ~1u,
		   "likewise in both directions");
	/* The limit leaves no segment for the array, which is fetched then. */
	host.limits.call_bytes = VGPU_CALL_BYTES_MAX;
	host.limits.segs = 1;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) &&
		   host.fetches == 1, "segments");
	host.limits.segs = VGPU_SEGS_MAX;
	host.limits.fixups = 0;
	tap_expect(!call(mock, VGPU_MOCK_IOC_ARRAY_IN, a, array_driver, &seen) &&
		   seen.ptr == a->ptr && host.fetches, "fixups");

	start();
	s = user_alloc(sizeof(*s));
	elem = user_alloc(64 * sizeof(*elem));
	s->ptr = (uintptr_t)elem;
	s->count = 64;
	for (i = 0; i < 64; i++) {
		elem[i].ptr = (uintptr_t)user_alloc(100);
		elem[i].length = 100;
	}
	host.limits.segs = 40;
	host_ioctl_keep(&host, &m, mock, VGPU_MOCK_IOC_STRUCTS, (uintptr_t)s, false,
			wants_driver, &(u64){ 0 });
	tap_expect(m.nr_segs == 40, "as many as allowed: %u", m.nr_segs);
	vgpu_marshal_fini(&m);
	host.limits.segs = VGPU_SEGS_MAX;
	host_ioctl_keep(&host, &m, mock, VGPU_MOCK_IOC_STRUCTS, (uintptr_t)s, false,
			wants_driver, &(u64){ 0 });
	tap_expect(m.nr_segs == 66 && m.nr_fixups == 65, "all: %u, %u", m.nr_segs, m.nr_fixups);
	vgpu_marshal_fini(&m);
	tap_subject("what exceeds a limit is left to demand paging");
}

/* Calls with arrays of all lengths near the limit are well-formed. */
static void test_limit_edges(void)
{
	struct vgpu_mock_array *a;
	struct seen seen;
	u32 i;

	for (i = 0; i < 200; i++) {
		start();
		host.limits.call_bytes = 16384;
		a = array_new(4030 + i);
		tap_expect(!call(mock, i & 1 ? VGPU_MOCK_IOC_ARRAY_IN : VGPU_MOCK_IOC_ARRAY_INOUT,
				 a, array_driver, &seen), "%u elements", a->count);
	}
	tap_expect(host.fetches, "the longest is too long");
	tap_subject("lengths about the limit of a message");
}

static long large_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_large *l = driver_mem(h, arg, sizeof(*l), USER_READ);
	u8 *p = l ? driver_mem(h, l->ptr, l->length, USER_READ) : NULL;
	u64 i;

	if (!p)
		return -EFAULT;
	for (i = 0; i < l->length; i++)
		p[i] = ~p[i];
	return 0;
}

static void test_large(void)
{
	const u32 len = 48 << 20;
	struct vgpu_mock_large *l;
	u8 *p;

	start();
	l = user_alloc(sizeof(*l));
	p = user_alloc(len);
	p[0] = 1;
	p[len - 1] = 2;
	l->ptr = (uintptr_t)p;
	l->length = len;
	tap_expect(!call(mock, VGPU_MOCK_IOC_LARGE_INOUT, l, large_driver, NULL) &&
		   !host.fetches && p[0] == 0xfe && p[len - 1] == 0xfd && p[77] == 0xff,
		   "48 MiB in and out");
	/* An OUT array is not sent, but the reply would be too long. */
	host.limits.call_bytes = len;
	p[0] = 1;
	tap_expect(!call(mock, VGPU_MOCK_IOC_LARGE_OUT, l, large_driver, NULL) &&
		   host.fetches == 1 && p[0] == 0xfe, "more out than a message holds");
	host.limits.call_bytes = VGPU_CALL_BYTES_MAX;
	l->length = 1ULL << 40;
	tap_expect(call(mock, VGPU_MOCK_IOC_LARGE_INOUT, l, large_driver, NULL) == -EFAULT,
		   "a length beyond all memory");
	l->length = ~0ULL;
	tap_expect(call(mock, VGPU_MOCK_IOC_LARGE_INOUT, l, large_driver, NULL) == -EFAULT,
		   "the longest length");
	tap_subject("large arrays");
}

/* --- results --------------------------------------------------------------- */

/* Writes one byte of an array, while another thread writes bytes beside it. */
static long race_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_array *a = driver_mem(h, arg, sizeof(*a), USER_READ);
	u8 *p = driver_mem(h, a->ptr, a->count * 4, USER_READ);
	u8 *theirs = data;

	p[8] = 0xaa;
	theirs[9] = 0xbb;
	theirs[40] = 0xcc;
	return -EIO;
}

static void test_changes_only(void)
{
	struct vgpu_mock_array *a;
	u8 *p;

	start();
	a = array_new(20);
	p = (u8 *)(uintptr_t)a->ptr;
	tap_expect(call(mock, VGPU_MOCK_IOC_ARRAY_INOUT, a, race_driver, p) == -EIO,
		   "the driver's error");
	tap_expect(p[8] == 0xaa, "what the driver wrote, though it failed");
	tap_expect(p[9] == 0xbb && p[40] == 0xcc, "what another thread wrote meanwhile");
	tap_expect(user.bytes_written == 1, "%llu bytes written",
		   (unsigned long long)user.bytes_written);
	tap_subject("only changed bytes are written");
}

static long moved_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_moved *v = driver_mem(h, arg, sizeof(*v), USER_READ);

	if (v->mode == VGPU_MOCK_MOVED_ADVANCE)
		v->ptr += v->step;
	else if (v->mode == VGPU_MOCK_MOVED_REPLACE)
		v->ptr = VGPU_MOCK_MOVED_VALUE;
	return 0;
}

static void test_moved(void)
{
	struct vgpu_mock_moved *v;
	u64 p;

	start();
	v = user_alloc(sizeof(*v));
	p = (uintptr_t)user_alloc(64);
	v->ptr = p;
	v->length = 64;
	v->step = 64;
	call(mock, VGPU_MOCK_IOC_MOVED, v, moved_driver, NULL);
	tap_expect(v->ptr == p && !user.bytes_written, "a pointer that was kept");
	v->mode = VGPU_MOCK_MOVED_ADVANCE;
	call(mock, VGPU_MOCK_IOC_MOVED, v, moved_driver, NULL);
	tap_expect(v->ptr == p + 64, "a pointer that moved");
	v->ptr = p;
	v->mode = VGPU_MOCK_MOVED_REPLACE;
	call(mock, VGPU_MOCK_IOC_MOVED, v, moved_driver, NULL);
	tap_expect(v->ptr == VGPU_MOCK_MOVED_VALUE, "a pointer that was replaced");
	tap_subject("pointers in the struct afterwards");
}

static long self_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_self *s = driver_mem(h, arg, sizeof(*s), USER_READ);
	u8 *p = s ? driver_mem(h, s->ptr, s->length, USER_READ) : NULL;
	u32 i;

	if (!p)
		return -EFAULT;
	*(bool *)data = p >= (u8 *)s && p < (u8 *)(s + 1);
	for (i = 0; i < s->length; i++)
		p[i] = ~p[i];
	s->out_sum = 5;
	return 0;
}

/* A struct with a pointer to eight bytes, and an fd. */
struct two {
	u64 ptr;
	u32 data[2];
	s32 fd;
	u32 tail[3];
};

static const struct vgpu_schema_field two_fields[] = {
	{ VGPU_PTR(struct two, ptr), .dir = VGPU_IN, .unit = 8 },
	{ VGPU_FD_IN(struct two, fd) },
};

#define TWO_IOCTL	_IOWR('x', 0, struct two)

static const struct vgpu_schema_ioctl two_ioctl = {
	VGPU_IOCTL_WITH_OF(TWO_IOCTL, struct two, two_fields)
};

static const struct vgpu_schema two = { .name = "two", .nr_ioctls = 1, .ioctls = &two_ioctl };

static long two_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct two *t = driver_mem(h, arg, sizeof(*t), USER_READ);

	if (!driver_mem(h, t->ptr, 8, USER_READ) || h->fetches)
		return -EFAULT;
	*(bool *)data = t->ptr >= arg && t->ptr < arg + sizeof(*t);
	return 0;
}

static void test_self(void)
{
	struct two *k;
	struct vgpu_mock_self *s;
	bool inside;
	u8 *other;

	start();
	s = user_alloc(sizeof(*s));
	s->ptr = (uintptr_t)s->data;
	s->length = sizeof(s->data);
	tap_expect(!call(mock, VGPU_MOCK_IOC_SELF, s, self_driver, &inside) && inside &&
		   s->data[0] == 0xff && s->data[47] == 0xff && s->out_sum == 5 &&
		   s->ptr == (uintptr_t)s->data && !host.fetches, "into its own struct");
	other = user_alloc(16);
	s->ptr = (uintptr_t)other;
	s->length = 16;
	tap_expect(!call(mock, VGPU_MOCK_IOC_SELF, s, self_driver, &inside) && !inside &&
		   other[15] == 0xff, "elsewhere");
	/* The pointer leads to itself, where the host puts its own address. */
	s->ptr = (uintptr_t)s;
	s->length = 16;
	call(mock, VGPU_MOCK_IOC_SELF, s, self_driver, &inside);
	tap_expect(!inside, "over the pointer");
	/* The pointer leads beside another field's place, and then to that place. */
	k = user_alloc(sizeof(*k));
	k->fd = -1;
	k->ptr = (uintptr_t)&k->data[0];
	tap_expect(!call(&two, TWO_IOCTL, k, two_driver, &inside) && inside, "beside an fd");
	k->ptr = (uintptr_t)&k->fd;
	tap_expect(!call(&two, TWO_IOCTL, k, two_driver, &inside) && !inside, "over an fd");
	tap_subject("an argument that points into itself");
}

int main(void)
{
	test_bad_pointers();
	test_readonly();
	test_readonly_drm();
	test_limits();
	test_limit_edges();
	test_large();
	test_changes_only();
	test_moved();
	test_self();
	return tap_done();
}
