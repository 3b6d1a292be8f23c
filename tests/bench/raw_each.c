// SPDX-License-Identifier: GPL-2.0-only
/*
 * raw_each.so, preloaded into a program that draws on a real device: has another thread of the
 * program make each system call that would be forwarded. A raw 64-byte ping asks the thread to
 * make the call, and a raw 64-byte pong says that it has. Nothing is marshalled or checked, so
 * this is the least cost of any forwarder in that program on that machine.
 *
 * Prints the number of calls at the end: "raw ping-pongs N".
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "raw.h"

#define DRM_MAJOR	226
#define FDS		1024

/* struct message: the call in a ping, and its result in a pong. */
struct message {
	long nr;
	long args[5];
	long result;
	long error;
};

_Static_assert(sizeof(struct message) == RAW_LEN, "as long as a raw ping");

/* Each thread has its own connection, to a thread of its own. */
static __thread int raw = -1;
static bool fences[FDS];
static int pings;

static void *serve(void *end)
{
	int fd = (intptr_t)end;
	struct message msg;
	cpu_set_t first;

	/*
	 * The thread runs on the first processor. So does the host's half in the forwarded run
	 * with which this run is compared.
	 */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	errno = pthread_setaffinity_np(pthread_self(), sizeof(first), &first);
	if (errno)
		err(1, "processor 0");
	while (!raw_read(fd, &msg, sizeof(msg))) {
		msg.result = syscall(msg.nr, msg.args[0], msg.args[1], msg.args[2], msg.args[3],
				     msg.args[4]);
		msg.error = errno;
		raw_write(fd, &msg, sizeof(msg));
	}
	return NULL;
}

static long elsewhere(long nr, long a, long b, long c, long d, long e)
{
	struct message msg = { .nr = nr, .args = { a, b, c, d, e } };

	if (raw < 0) {
		pthread_t thread;
		int ends[2];

		raw_pair(ends);
		errno = pthread_create(&thread, NULL, serve, (void *)(intptr_t)ends[1]);
		if (errno)
			err(1, "thread");
		pthread_detach(thread);
		raw = ends[0];
	}
	__atomic_add_fetch(&pings, 1, __ATOMIC_RELAXED);
	raw_write(raw, &msg, sizeof(msg));
	if (raw_read(raw, &msg, sizeof(msg)))
		err(1, "pong");
	errno = msg.error;
	return msg.result;
}

static bool is_drm(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && S_ISCHR(stat.st_mode) && major(stat.st_rdev) == DRM_MAJOR;
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (is_drm(fd))
		return elsewhere(SYS_ioctl, fd, cmd, (long)arg, 0, 0);
	return syscall(SYS_ioctl, fd, cmd, arg);
}

ssize_t read(int fd, void *buf, size_t len)
{
	if (is_drm(fd))
		return elsewhere(SYS_read, fd, (long)buf, len, 0, 0);
	return syscall(SYS_read, fd, buf, len);
}

/*
 * Replaces poll(). If a program polls one file that is no device, the file is taken for a fence:
 * forwarding a fence costs a call in poll(), and one in close(). The function has another name in
 * C, as the library's declaration of poll() says that @fds is not read.
 */
int each_poll(struct pollfd *fds, nfds_t nr, int timeout) __asm__("poll");
int each_poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	if (nr != 1)
		return syscall(SYS_poll, fds, nr, timeout);
	if (fds->fd >= 0 && fds->fd < FDS && !is_drm(fds->fd))
		fences[fds->fd] = true;
	return elsewhere(SYS_poll, (long)fds, nr, timeout, 0, 0);
}

int close(int fd)
{
	if (fd < 0 || fd >= FDS || !fences[fd])
		return syscall(SYS_close, fd);
	fences[fd] = false;
	return elsewhere(SYS_close, fd, 0, 0, 0, 0);
}

int select(int nr, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout)
{
	int fd;

	for (fd = 0; fd < nr; fd++)
		if (in && FD_ISSET(fd, in) && is_drm(fd))
			return elsewhere(SYS_select, nr, (long)in, (long)out, (long)other,
					 (long)timeout);
	return syscall(SYS_select, nr, in, out, other, timeout);
}

static void __attribute__((destructor)) say(void)
{
	fprintf(stderr, "raw ping-pongs %d\n", pings);
}
