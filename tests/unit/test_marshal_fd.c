// SPDX-License-Identifier: GPL-2.0-only
/* Tests of fds that ioctls take and return. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "marshal_test.h"

/* --- fds ------------------------------------------------------------------ */

static long fd_in_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_fd_in *f = driver_mem(h, arg, sizeof(*f), USER_READ);

	*(int *)data = f->fd;
	if (!driver_fd_object(h, f->fd))
		return -EBADF;
	f->out_cookie = driver_fd_object(h, f->fd);
	return 0;
}

static long merge_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_fd_merge *f = driver_mem(h, arg, sizeof(*f), USER_READ);
	u32 a = driver_fd_object(h, f->fd), b = driver_fd_object(h, f->fd2);

	if (!a || !b)
		return -EBADF;
	f->out_fd = driver_fd_new(h, a + b);
	return 0;
}

static long scribble_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_fd_in *f = driver_mem(h, arg, sizeof(*f), USER_READ);

	f->fd = *(int *)data;
	return -EINVAL;
}

static void test_fd_in(void)
{
	struct vgpu_mock_fd_in *f;
	int fd = 0;

	start();
	f = user_alloc(sizeof(*f));
	f->fd = 12;
	tap_expect(!call(mock, VGPU_MOCK_IOC_FD_IN, f, fd_in_driver, &fd) &&
		   f->out_cookie == 12 + USER_OBJECT && f->fd == 12 && fd != 12, "an open fd");
	f->fd = 500;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_IN, f, fd_in_driver, &fd) == -EBADF &&
		   fd == 0x7fffffff && f->fd == 500, "one that is not open is none over there");
	f->fd = 3;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_IN, f, fd_in_driver, &fd) == -EBADF && f->fd == 3,
		   "though its number is open over there");
	fd = -1;
	call(mock, VGPU_MOCK_IOC_FD_IN, f, scribble_driver, &fd);
	tap_expect(f->fd == -1, "the driver writes where it was");
	f->fd = 0x12345678;
	fd = 0x12ff5678;
	call(mock, VGPU_MOCK_IOC_FD_IN, f, scribble_driver, &fd);
	tap_expect(f->fd == 0x12ff5678, "the driver writes nearly the same");
	f->fd = -7;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_IN, f, fd_in_driver, &fd) == -EBADF &&
		   fd == -7 && f->fd == -7, "a negative one");
	f->fd = USER_FD_LOCAL;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_IN, f, fd_in_driver, &fd) == -EINVAL &&
		   fd == 0x7fffffff && f->fd == USER_FD_LOCAL, "a file that the host does not have");
	fd = 9;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_IN, f, wants_driver, &(u64){ 0 }) == 7,
		   "which a driver need not look at");
	tap_subject("fds that go in");
}

static long fd_value_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	*(u64 *)data = arg;
	if (!driver_fd_object(h, (int)arg))
		return -EBADF;
	return driver_fd_object(h, (int)arg);
}

static long fd_value(u64 fd, u64 *seen)
{
	return host_ioctl(&host, mock, VGPU_MOCK_IOC_FD_VALUE, fd, false, fd_value_driver, seen);
}

static void test_fd_value(void)
{
	u64 seen;

	start();
	tap_expect(fd_value(12, &seen) == 12 + USER_OBJECT && seen != 12, "an open fd");
	tap_expect(fd_value(12 | 1ULL << 32, &seen) == 12 + USER_OBJECT,
		   "of which 32 bits count");
	tap_expect(fd_value(500, &seen) == -EBADF && seen == 0x7fffffff,
		   "one that is not open is none over there");
	tap_expect(fd_value(3, &seen) == -EBADF && seen == 0x7fffffff,
		   "though its number is open over there");
	tap_expect(fd_value(-1ULL, &seen) == -EBADF && seen == -1ULL, "a negative one");
	tap_expect(fd_value((u32)-7, &seen) == -EBADF && seen == (u32)-7,
		   "a negative one of 32 bits");
	tap_expect(fd_value(USER_FD_LOCAL, &seen) == -EINVAL && seen == 0x7fffffff,
		   "a file that the host does not have");
	tap_subject("an fd that is the argument");
}

static void test_fd_out(void)
{
	struct vgpu_mock_fd_merge *f;
	u8 *page;

	start();
	f = user_alloc(sizeof(*f));
	f->fd = 12;
	f->fd2 = 13;
	f->out_fd = 77;
	tap_expect(!call(mock, VGPU_MOCK_IOC_FD_MERGE, f, merge_driver, NULL) &&
		   f->out_fd == USER_FD_NEW && user.installed == 1 &&
		   user.new_objects[0] == 25 + 2 * USER_OBJECT && f->fd == 12 && f->fd2 == 13,
		   "an fd comes back");
	f->fd2 = 300;
	f->out_fd = 77;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_MERGE, f, merge_driver, NULL) == -EBADF &&
		   f->out_fd == 77 && user.installed == 1, "none does");
	f->fd2 = 13;
	user.fail_reserve = 1;
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_MERGE, f, merge_driver, NULL) == -EMFILE &&
		   f->out_fd == 77 && user.installed == 1, "no room for it");
	page = user_alloc_pages(USER_PAGE);
	memcpy(page, f, sizeof(*f));
	user_protect(page, USER_PAGE, USER_READ);
	tap_expect(call(mock, VGPU_MOCK_IOC_FD_MERGE, page, merge_driver, NULL) == -EFAULT &&
		   user.installed == 1 && user.aborted == 1, "nowhere to tell it");
	tap_subject("fds that come back");
}

static long fds_out_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct vgpu_mock_fds *f = driver_mem(h, arg, sizeof(*f), USER_READ);
	s32 *p = driver_mem(h, f->ptr, f->count * 4, USER_READ);
	u32 i;

	if (!p)
		return -EFAULT;
	for (i = 0; i < f->count; i++)
		p[i] = driver_fd_new(h, f->cookie + i);
	return 0;
}

static void test_fds(void)
{
	struct vgpu_mock_fds *f;
	u32 i, wrong = 0;
	s32 *p;

	start();
	f = user_alloc(sizeof(*f));
	p = user_alloc(100 * 4);
	f->ptr = (uintptr_t)p;
	f->count = VGPU_FDS_MAX;
	f->cookie = 40;
	tap_expect(!call(mock, VGPU_MOCK_IOC_FDS_OUT, f, fds_out_driver, NULL), "64 fds");
	for (i = 0; i < VGPU_FDS_MAX; i++)
		wrong += p[i] != (s32)(USER_FD_NEW + i) || user.new_objects[i] != 40 + i;
	tap_expect(!wrong && user.installed == VGPU_FDS_MAX, "each its own object");
	user.fail_reserve = 20;
	tap_expect(call(mock, VGPU_MOCK_IOC_FDS_OUT, f, fds_out_driver, NULL) == -EMFILE &&
		   user.installed == VGPU_FDS_MAX && user.aborted == VGPU_FDS_MAX - 1,
		   "all or none");
	f->count = VGPU_FDS_MAX + 1;
	tap_expect(call(mock, VGPU_MOCK_IOC_FDS_OUT, f, wants_driver, &(u64){ 0 }) == 7,
		   "more is the driver's to refuse");
	tap_subject("arrays of fds");
}

/* --- eventfds ------------------------------------------------------------- */

static long event_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct drm_syncobj_eventfd *e = driver_mem(h, arg, sizeof(*e), USER_READ);

	*(u32 *)data = driver_fd_object(h, e->fd);
	if (!e->handle)
		return -ENOENT;
	return *(u32 *)data ? 0 : -EBADF;
}

static void test_event(void)
{
	struct drm_syncobj_eventfd *e;
	u32 number = 0;

	start();
	e = user_alloc(sizeof(*e));
	e->handle = 1;
	e->fd = 12;
	tap_expect(!call(&vgpu_schema_drm, DRM_IOCTL_SYNCOBJ_EVENTFD, e, event_driver, &number) &&
		   number == 12 + USER_OBJECT && user.events == 1 && e->fd == 12, "the driver has it");
	e->handle = 0;
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_SYNCOBJ_EVENTFD, e, event_driver, &number) ==
		   -ENOENT && user.events == 1, "the driver refused it");
	e->handle = 1;
	e->fd = 500;
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_SYNCOBJ_EVENTFD, e, event_driver, &number) ==
		   -EBADF && !number && user.events == 1, "not open");
	e->fd = USER_FD_LOCAL;
	tap_expect(call(&vgpu_schema_drm, DRM_IOCTL_SYNCOBJ_EVENTFD, e, event_driver, &number) ==
		   -EINVAL && !number && e->fd == USER_FD_LOCAL, "not an eventfd");
	tap_subject("eventfds");
}

/* --- fds known by the name of a property ---------------------------------- */

#define IN_FENCE	31	/* property numbers of the device */
#define OUT_FENCE	32
#define OTHER		33

static long property_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct drm_mode_get_property *p = driver_mem(h, arg, sizeof(*p), USER_READ);

	if (p->prop_id < IN_FENCE || p->prop_id > OTHER)
		return -ENOENT;
	snprintf(p->name, sizeof(p->name), "%s", p->prop_id == IN_FENCE ? "IN_FENCE_FD" :
		 p->prop_id == OUT_FENCE ? "OUT_FENCE_PTR" : "FB_ID");
	return 0;
}

/* Handles six values, and stores the object of the fd that goes in to @data. */
static long atomic_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct drm_mode_atomic *a = driver_mem(h, arg, sizeof(*a), USER_READ);
	u32 *props = driver_mem(h, a->props_ptr, 24, USER_READ);
	u64 *values = driver_mem(h, a->prop_values_ptr, 48, USER_READ);
	u32 i, *in = data;
	s32 *out;

	for (i = 0; i < 6; i++) {
		if (props[i] == IN_FENCE && values[i] != ~0ULL) {
			*in = values[i] > 0xffff ? 0 : driver_fd_object(h, values[i]);
		} else if (props[i] == OUT_FENCE) {
			out = driver_mem(h, values[i], 4, USER_WRITE);
			*out = driver_fd_new(h, 600 + i);
		}
	}
	return 0;
}

static long learned_ioctl(struct vgpu_schema_learned *learned, u32 cmd, void *arg,
			  driver_fn driver, void *data)
{
	struct vgpu_marshal m;
	long result = host_ioctl_learned(&host, &m, learned, &vgpu_schema_vgem, cmd,
					 (uintptr_t)arg, driver, data);

	vgpu_marshal_fini(&m);
	tap_expect(!user.held && !user.reserved, "all fds are given back");
	return result;
}

static void test_learned(void)
{
	struct vgpu_schema_learned learned = { { 0 } };
	struct drm_mode_get_property *p;
	struct drm_mode_atomic *a;
	u32 i, in = 0, *props;
	u64 *values;
	s32 *fence;

	start();
	p = user_alloc(sizeof(*p));
	p->prop_id = 9;
	memcpy(p->name, "IN_FENCE_FD", 12);
	tap_expect(learned_ioctl(&learned, DRM_IOCTL_MODE_GETPROPERTY, p, property_driver, NULL) ==
		   -ENOENT && !learned.number[0], "nothing from a failure");
	for (p->prop_id = IN_FENCE; p->prop_id <= OTHER; p->prop_id++)
		tap_expect(!learned_ioctl(&learned, DRM_IOCTL_MODE_GETPROPERTY, p, property_driver,
					  NULL), "a property");
	tap_expect(learned.number[0] == IN_FENCE && learned.number[1] == OUT_FENCE &&
		   !learned.number[2], "two have names that matter");

	a = user_alloc(sizeof(*a));
	props = user_alloc(24);
	values = user_alloc(48);
	fence = user_alloc(8);
	a->count_objs = 2;
	a->objs_ptr = (uintptr_t)user_alloc(8);
	a->count_props_ptr = (uintptr_t)user_alloc(8);
	((u32 *)(uintptr_t)a->count_props_ptr)[0] = 2;
	((u32 *)(uintptr_t)a->count_props_ptr)[1] = 4;
	a->props_ptr = (uintptr_t)props;
	a->prop_values_ptr = (uintptr_t)values;
	for (i = 0; i < 6; i++) {
		props[i] = OTHER;
		values[i] = 12;
	}
	props[1] = IN_FENCE;
	props[2] = IN_FENCE;
	values[2] = ~0ULL;
	props[4] = OUT_FENCE;
	values[4] = (uintptr_t)&fence[1];
	fence[0] = 77;
	tap_expect(!learned_ioctl(&learned, DRM_IOCTL_MODE_ATOMIC, a, atomic_driver, &in) &&
		   !host.fetches, "a commit with fences");
	tap_expect(in == 12 + USER_OBJECT, "one goes in");
	tap_expect(fence[1] == USER_FD_NEW && fence[0] == 77 && user.new_objects[0] == 604,
		   "one comes back");
	tap_expect(values[1] == 12 && values[2] == ~0ULL && values[4] == (uintptr_t)&fence[1],
		   "the values stay");
	memset(&learned, 0, sizeof(learned));
	learned_ioctl(&learned, DRM_IOCTL_MODE_ATOMIC, a, atomic_driver, &in);
	tap_expect(!in, "none without its name");
	tap_subject("fds by the name of a property");
}

int main(void)
{
	test_fd_in();
	test_fd_value();
	test_fd_out();
	test_fds();
	test_event();
	test_learned();
	return tap_done();
}
