// SPDX-License-Identifier: MIT
/* Properties of files, as far as the kernel tells them to the process that has the file open. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/object/file.h"
#include "shared/proto.h"

/* Older versions of linux/magic.h lack this number. */
#define DMABUF_FS	0x444d4142

bool file_is_named(int fd, const char *name)
{
	char path[32], its[64] = "";

	snprintf(path, sizeof(path), "self/fd/%d", fd);
	return readlinkat(ENGINE_FD_PROC, path, its, sizeof(its) - 1) > 0 && !strcmp(its, name);
}

bool file_has_lock(int fd, const struct stat *st)
{
	struct statfs fs;

	if (S_ISDIR(st->st_mode))
		return true;
	/* Anonymous inodes are regular files on some kernels, but have no f_pos_lock. */
	return S_ISREG(st->st_mode) &&
	       (fstatfs(fd, &fs) ||
		(fs.f_type != ANON_INODE_FS_MAGIC && fs.f_type != DMABUF_FS));
}

uint32_t file_kind(int fd, const struct stat *st)
{
	struct statfs fs;

	if (S_ISCHR(st->st_mode))
		return VGPU_OBJECT_DEVICE;
	if (!fstatfs(fd, &fs) && fs.f_type == DMABUF_FS)
		return VGPU_OBJECT_DMABUF;
	if (file_is_named(fd, "anon_inode:sync_file"))
		return VGPU_OBJECT_SYNC_FILE;
	return VGPU_OBJECT_OTHER;
}

/*
 * An address that no program has. The kernel rejects it before it calls the driver, and the errno
 * tells whether the driver has the operation.
 */
static void *const nowhere = (void *)-4096L;

uint32_t file_operations(int fd)
{
	uint32_t mask = VGPU_FOP_IOCTL | VGPU_FOP_COMPAT_IOCTL | VGPU_FOP_MMAP | VGPU_FOP_FDINFO;
	struct epoll_event event = {};

	if (read(fd, nowhere, 1) < 0 && errno == EFAULT)
		mask |= VGPU_FOP_READ;
	if (write(fd, nowhere, 1) < 0 && errno == EFAULT)
		mask |= VGPU_FOP_WRITE;
	if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE)
		mask |= VGPU_FOP_LLSEEK;
	if (pread(fd, nowhere, 1, 0) < 0 && errno == ESPIPE)
		mask |= VGPU_FOP_NO_PREAD;
	if (pwrite(fd, nowhere, 1, 0) < 0 && errno == ESPIPE)
		mask |= VGPU_FOP_NO_PWRITE;
	if ((mask & VGPU_FOP_NO_PREAD) && (mask & VGPU_FOP_NO_PWRITE) &&
	    !(mask & VGPU_FOP_LLSEEK))
		mask |= VGPU_FOP_STREAM;
	/*
	 * Add the file to the control connection, which is no epoll file: EINVAL says so, but the
	 * kernel checks first whether the added file can be polled (EPERM).
	 */
	if (epoll_ctl(ENGINE_FD_CONTROL, EPOLL_CTL_ADD, fd, &event) < 0 && errno == EINVAL)
		mask |= VGPU_FOP_POLL;
	return mask;
}

bool file_signals(int fd)
{
	int flags = fcntl(fd, F_GETFL), now;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_ASYNC))
		return false;
	now = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags & ~O_ASYNC);
	return now >= 0 && (now & O_ASYNC);
}

int file_reopen(int file, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "self/fd/%d", file);
	fd = openat(ENGINE_FD_PROC, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
