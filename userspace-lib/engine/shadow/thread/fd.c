// SPDX-License-Identifier: MIT
/* Numbers of files. */
#include <linux/fcntl.h>

#include "engine/shadow/thread/fd.h"
#include "engine/shadow/thread/syscall.h"
#include "shadow/sys.h"

int fd_devices, fd_maps, fd_mem;

void fd_close(int fd)
{
	sys3_apart(__NR_close, fd, 0, 0);
}

int fd_up(int fd, int base)
{
	int up = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, base);

	fd_close(fd);
	return up;
}
