// SPDX-License-Identifier: GPL-2.0-only
/*
 * An object to be linked with --wrap for each function below, which lets a chosen allocation of a
 * program, and of the static libraries in it, fail. Functions of libc that allocate count as one
 * allocation, as do system calls for which the kernel may have no memory. The file that
 * VGPU_FAIL_ALLOC names begins with a struct fail_alloc, which a test shares with the program and
 * may change at any time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fail_alloc.h"

static struct fail_alloc *shared;
static pid_t self;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

/* Function of ASan. */
void __attribute__((weak)) __sanitizer_print_stack_trace(void);

static void __attribute__((constructor)) fail_alloc_begin(void)
{
	const char *path = getenv("VGPU_FAIL_ALLOC");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *memory;

	if (fd < 0)
		return;
	memory = __real_mmap( NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	self = getpid();
	if (memory != MAP_FAILED)
		shared = memory;
}

/* Counts an allocation. Return: it is to fail. */
static bool fails(void)
{
	uint32_t nth;

	if (!shared)
		return false;
	nth = __atomic_load_n(&shared->nth, __ATOMIC_RELAXED);
	do {
		if (!nth || (!shared->children && getpid() != self))
			return false;
	} while (!__atomic_compare_exchange_n(&shared->nth, &nth, nth - 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	if (nth > 1)
		return false;
	if (shared->say && __sanitizer_print_stack_trace)
		__sanitizer_print_stack_trace();
	errno = ENOMEM;
	return true;
}

/* Defines a function that fails with @error, or does what the function that it stands for does. */
#define FAILS(type, error, name, parameters, arguments)		\
type __real_ ## name parameters;				\
type __wrap_ ## name parameters;				\
type __wrap_ ## name parameters					\
{								\
	return fails() ? (error) : __real_ ## name arguments;	\
}

FAILS(void *, NULL, malloc, (size_t size), (size))
FAILS(void *, NULL, calloc, (size_t nr, size_t size), (nr, size))
FAILS(void *, NULL, realloc, (void *old, size_t size), (old, size))
FAILS(void *, NULL, reallocarray, (void *old, size_t nr, size_t size), (old, nr, size))
FAILS(char *, NULL, strdup, (const char *text), (text))
FAILS(int, -1, vasprintf, (char **text, const char *fmt, va_list args), (text, fmt, args))
FAILS(int, -1, __vasprintf_chk, (char **text, int flag, const char *fmt, va_list args),
      (text, flag, fmt, args))
FAILS(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
FAILS(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
FAILS(FILE *, NULL, open_memstream, (char **text, size_t *size), (text, size))
FAILS(ssize_t, -1, getline, (char **line, size_t *size, FILE *file), (line, size, file))
FAILS(DIR *, NULL, opendir, (const char *path), (path))
FAILS(int, -1, scandir,
      (const char *path, struct dirent ***list, int (*filter)(const struct dirent *entry),
       int (*compare)(const struct dirent **a, const struct dirent **b)),
      (path, list, filter, compare))
FAILS(void *, MAP_FAILED, mmap,
      (void *at, size_t size, int prot, int flags, int fd, off_t offset),
      (at, size, prot, flags, fd, offset))
FAILS(int, -1, memfd_create, (const char *name, unsigned int flags), (name, flags))
FAILS(int, -1, epoll_create1, (int flags), (flags))
FAILS(int, -1, eventfd, (unsigned int count, int flags), (count, flags))
FAILS(int, -1, socketpair, (int domain, int type, int protocol, int pair[2]),
      (domain, type, protocol, pair))
FAILS(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILS(int, -1, pipe2, (int pipes[2], int flags), (pipes, flags))
FAILS(int, -1, timerfd_create, (int clock, int flags), (clock, flags))
FAILS(int, EAGAIN, pthread_create,
      (pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *data), void *data),
      (thread, attributes, run, data))

/* Only an addition needs memory. */
int __real_epoll_ctl(int fd, int op, int file, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int op, int file, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int op, int file, struct epoll_event *event)
{
	return op == EPOLL_CTL_ADD && fails() ? -1 : __real_epoll_ctl(fd, op, file, event);
}

/*
 * json-c's parser loses an object, array or string for which its parent has no memory. So LSan is to
 * ignore what the parser allocates while an allocation may fail.
 */
struct json_object;
struct json_tokener;

void __attribute__((weak)) __lsan_disable(void);
void __attribute__((weak)) __lsan_enable(void);
struct json_object *__attribute__((weak))
__real_json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int len);
struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener, const char *text,
						 int len);

struct json_object *__wrap_json_tokener_parse_ex(struct json_tokener *tokener, const char *text,
						 int len)
{
	bool may_fail = shared && __lsan_disable &&
			__atomic_load_n(&shared->nth, __ATOMIC_RELAXED);
	struct json_object *value;

	if (may_fail)
		__lsan_disable();
	value = __real_json_tokener_parse_ex(tokener, text, len);
	if (may_fail)
		__lsan_enable();
	return value;
}

/* Functions with any number of arguments. */
int __wrap_asprintf(char **text, const char *fmt, ...);
int __wrap_asprintf(char **text, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = __wrap_vasprintf(text, fmt, args);
	va_end(args);
	return ret;
}

int __wrap___asprintf_chk(char **text, int flag, const char *fmt, ...);
int __wrap___asprintf_chk(char **text, int flag, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = __wrap___vasprintf_chk(text, flag, fmt, args);
	va_end(args);
	return ret;
}
