// SPDX-License-Identifier: GPL-2.0-only
/*
 * raw_each.so, preloaded into a program that draws on a real device: a raw 64-byte
 * ping-pong before each system call that would be forwarded, at the place where it
 * would be. What the program's processors and the device's renderer do to each other
 * is in its time then as it is in that of a forwarded call.
 *
 * Says at the end how many there were: "raw ping-pongs N".
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "raw.h"

#define DRM_MAJOR	226
#define FDS		1024

static __thread bool inside;
static bool fences[FDS];
static int raw = -1;
static int pings;

static void ping(void)
{
	if (inside)
		return;
	inside = true;
	if (raw < 0)
		raw = raw_connect();
	raw_ping(raw, 1);
	pings++;
	inside = false;
}

static bool is_drm(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && S_ISCHR(stat.st_mode) && major(stat.st_rdev) == DRM_MAJOR;
}

#define REAL(name) ({						\
	static __typeof__(name) *real;				\
	if (!real)						\
		real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);	\
	real;							\
})

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (!inside && is_drm(fd))
		ping();
	return REAL(ioctl)(fd, cmd, arg);
}

ssize_t read(int fd, void *buf, size_t len)
{
	if (!inside && is_drm(fd))
		ping();
	return REAL(read)(fd, buf, len);
}

/*
 * Who waits for one file that is no device waits for a fence, and closes it. By a name
 * of ours, as the library's declaration says that nothing reads @fds.
 */
int each_poll(struct pollfd *fds, nfds_t nr, int timeout) __asm__("poll");
int each_poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	if (nr == 1 && !inside) {
		if (fds->fd >= 0 && fds->fd < FDS && !is_drm(fds->fd))
			fences[fds->fd] = true;
		ping();
	}
	return REAL(poll)(fds, nr, timeout);
}

int close(int fd)
{
	if (!inside && fd >= 0 && fd < FDS && fences[fd]) {
		fences[fd] = false;
		ping();
	}
	return REAL(close)(fd);
}

int select(int nr, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout)
{
	int fd;

	for (fd = 0; fd < nr; fd++)
		if (in && FD_ISSET(fd, in) && is_drm(fd))
			ping();
	return REAL(select)(nr, in, out, other, timeout);
}

static void __attribute__((destructor)) say(void)
{
	fprintf(stderr, "raw ping-pongs %d\n", pings);
}
