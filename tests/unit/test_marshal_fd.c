// SPDX-License-Identifier: GPL-2.0-only
/* fds that go in and come back. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "fake_host.h"
#include "marshal_user.h"
#include "schema_uapi.h"
#include "tap.h"
#include "tests/mock/vgpu_mock.h"

static const struct vgpu_schema *const mock = &vgpu_schema_mock;
static struct host host;

static void start(void)
{
	user_reset();
	host_init(&host);
}

static long call(const struct vgpu_schema *schema, u32 cmd, const void *arg, driver_fn driver,
		 void *data)
{
	return host_ioctl(&host, schema, cmd, (uintptr_t)arg, false, driver, data);
}

static long wants_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	*(u64 *)data = arg;
	return 7;
}

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

int main(void)
{
	test_fd_in();
	test_fd_out();
	test_fds();
	return tap_done();
}
