// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls that take file descriptors and hand them out.
 */
#include <linux/file.h>
#include <linux/kernel.h>

#include "mock.h"

static int vgpu_mock_fd_make(struct vgpu_mock_call *call, u64 cookie, u32 flags)
{
	return vgpu_mock_call_add_fd(call, vgpu_mock_object_file(cookie, flags), flags);
}

long vgpu_mock_fd_out(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_out *out = call->data;
	int fd = vgpu_mock_fd_make(call, out->cookie, out->flags);

	if (fd < 0)
		return fd;
	out->out_fd = fd;
	return 0;
}

long vgpu_mock_fd_in(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_in *in = call->data;

	if (in->reserved)
		return -EINVAL;
	return vgpu_mock_object_cookie(in->fd, &in->out_cookie);
}

long vgpu_mock_fds_in(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fds *fds = call->data;
	u64 cookie;
	u64 sum = 0;
	s32 fd;
	u32 i;
	int ret;

	if (fds->flags)
		return -EINVAL;
	if (fds->count > VGPU_MOCK_MAX_FDS)
		return -E2BIG;
	for (i = 0; i < fds->count; i++) {
		ret = vgpu_mock_user_read(fds->ptr + i * sizeof(fd), &fd, sizeof(fd));
		if (ret)
			return ret;
		ret = vgpu_mock_object_cookie(fd, &cookie);
		if (ret)
			return ret;
		sum += cookie;
	}
	fds->cookie = sum;
	return 0;
}

long vgpu_mock_fds_out(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fds *fds = call->data;
	s32 fd;
	u32 i;
	int ret;

	if (fds->count > VGPU_MOCK_MAX_FDS)
		return -E2BIG;
	for (i = 0; i < fds->count; i++) {
		fd = vgpu_mock_fd_make(call, fds->cookie + i, fds->flags);
		if (fd < 0)
			return fd;
		ret = vgpu_mock_user_write(fds->ptr + i * sizeof(fd), &fd, sizeof(fd));
		if (ret)
			return ret;
	}
	return 0;
}

long vgpu_mock_fd_merge(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_merge *merge = call->data;
	u64 cookie2;
	u64 cookie;
	int fd;
	int ret;

	ret = vgpu_mock_object_cookie(merge->fd, &cookie);
	if (ret)
		return ret;
	ret = vgpu_mock_object_cookie(merge->fd2, &cookie2);
	if (ret)
		return ret;
	fd = vgpu_mock_fd_make(call, cookie + cookie2, merge->flags);
	if (fd < 0)
		return fd;
	merge->out_fd = fd;
	return 0;
}

long vgpu_mock_fd_return(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_return *ret = call->data;

	return vgpu_mock_fd_make(call, ret->cookie, O_CLOEXEC);
}

long vgpu_mock_fd_maybe(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_maybe *maybe = call->data;

	if (maybe->want > 1 || maybe->number > INT_MAX)
		return -EINVAL;
	return maybe->want ? vgpu_mock_fd_make(call, maybe->number, O_CLOEXEC) : maybe->number;
}

/* Takes an object in and makes the next one, each only if @flags say so. */
static int vgpu_mock_fd_step(struct vgpu_mock_call *call, u32 flags, int fd_in, s32 *fd_out)
{
	u64 cookie = 0;
	int ret;

	if (flags & ~(VGPU_MOCK_FD_HAS_IN | VGPU_MOCK_FD_WANT_OUT))
		return -EINVAL;
	if (flags & VGPU_MOCK_FD_HAS_IN) {
		ret = vgpu_mock_object_cookie(fd_in, &cookie);
		if (ret)
			return ret;
	}
	if (flags & VGPU_MOCK_FD_WANT_OUT) {
		ret = vgpu_mock_fd_make(call, cookie + 1, 0);
		if (ret < 0)
			return ret;
		*fd_out = ret;
	}
	return 0;
}

long vgpu_mock_fd_optional(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_optional *optional = call->data;

	if (optional->reserved)
		return -EINVAL;
	return vgpu_mock_fd_step(call, optional->flags, optional->fd_in, &optional->fd_out);
}

long vgpu_mock_fd_swap(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_swap *swap = call->data;

	return vgpu_mock_fd_step(call, swap->flags, swap->fd, &swap->fd);
}

void vgpu_mock_fd_fini(struct vgpu_mock_file *file)
{
	if (file->held)
		fput(file->held);
}

static long vgpu_mock_fd_hold_in(struct vgpu_mock_call *call, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	if (file == call->filp) {
		fput(file);
		return -EINVAL;
	}
	file = xchg(&call->file->held, file);
	if (file)
		fput(file);
	return 0;
}

long vgpu_mock_fd_hold(struct vgpu_mock_call *call)
{
	struct vgpu_mock_fd_swap *hold = call->data;
	struct file *file;
	int fd;

	if (hold->flags == VGPU_MOCK_FD_HAS_IN)
		return vgpu_mock_fd_hold_in(call, hold->fd);
	if (hold->flags != VGPU_MOCK_FD_WANT_OUT)
		return -EINVAL;
	file = xchg(&call->file->held, NULL);
	if (!file)
		return -ENOENT;
	fd = vgpu_mock_call_add_fd(call, file, O_CLOEXEC);
	if (fd < 0)
		return fd;
	hold->fd = fd;
	return 0;
}

long vgpu_mock_fd_value(struct vgpu_mock_call *call)
{
	u64 cookie;
	int ret;

	ret = vgpu_mock_object_cookie((int)call->arg, &cookie);
	return ret ? ret : cookie & INT_MAX;
}
