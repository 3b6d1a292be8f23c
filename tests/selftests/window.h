/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests of the window share: a window for this machine's own guest, buffers of
 * the mock, and the device's side of them, which is the real node: whatever is done
 * there, no call is forwarded for it.
 */
#ifndef WINDOW_H
#define WINDOW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tool.h"
#include "vgpu_mock.h"
#include "vgpu_mock_pattern.h"

#define PAGE		4096UL
#define HUGE		(2UL << 20)
#define WINDOW_PATH	"/dev/vgpu-window-1"

struct buffer {
	int real;		/* the device's side */
	int fwd;		/* the guest's */
	__u32 id;
	__u64 offset;
	size_t size;
};

static inline bool window_possible(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && !strcmp(tier, "loopback") && !geteuid();
}

/* In a test or its setup. */
#define NEEDS_WINDOW() do {						\
	if (!window_possible())						\
		SKIP(return, "needs root and the host in the same machine: loopback"); \
} while (0)

/* Whether this kernel maps raw memory by entries of 2 MiB. */
static inline bool window_huge_possible(void)
{
	char line[64];

	tool_read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
	return !tool_kernel_before(6, 12) && strstr(line, "[always]");
}

/* Without it mmap() aligns nothing to 2 MiB, so that pieces are found elsewhere. */
#define NEEDS_THP() do { \
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK)) \
		SKIP(return, "the kernel has no CONFIG_TRANSPARENT_HUGEPAGE"); \
} while (0)

/* A counter of the forwarded device; -1: there is none. */
static inline long long window_counter(int fd, const char *name)
{
	char file[128], line[64];
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	snprintf(file, sizeof(file), "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	tool_read_line(file, line, sizeof(line));
	return line[0] ? atoll(line) : -1;
}

static inline bool buffer_make(struct buffer *buffer, __u32 flavour, size_t size)
{
	struct vgpu_mock_buf_create create = { .size = size, .flavour = flavour };

	buffer->real = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	buffer->fwd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	if (buffer->real < 0 || buffer->fwd < 0 ||
	    ioctl(buffer->real, VGPU_MOCK_IOC_BUF_CREATE, &create))
		return false;
	buffer->id = create.out_id;
	buffer->offset = create.out_offset;
	buffer->size = size;
	return true;
}

static inline void buffer_end(struct buffer *buffer)
{
	close(buffer->fwd);
	close(buffer->real);
}

static inline char *buffer_map(const struct buffer *buffer, int fd, int prot)
{
	char *memory = mmap(NULL, buffer->size, prot, MAP_SHARED, fd, buffer->offset);

	return memory == MAP_FAILED ? NULL : memory;
}

/* The device does something. */
static inline int buffer_do(const struct buffer *buffer, unsigned long cmd, __u32 seed,
			    __u32 delay_ms)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id, .seed = seed, .length = buffer->size, .delay_ms = delay_ms,
	};

	return ioctl(buffer->real, cmd, &range);
}

/* What the program has unmapped before is unmapped at the host: a call comes after it. */
static inline int buffer_settle(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };

	return ioctl(buffer->fwd, VGPU_MOCK_IOC_BUF_SYNC, &range);
}

/* How often the driver was asked for a page. */
static inline unsigned long buffer_faults(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };

	return ioctl(buffer->real, VGPU_MOCK_IOC_BUF_INFO, &info) ? 0 : info.out_faults;
}

/* Until it is asked once more than @before, for as long as ten seconds. */
static inline bool buffer_await_fault(const struct buffer *buffer, unsigned long before)
{
	int tries;

	for (tries = 0; tries < 1000 && buffer_faults(buffer) <= before; tries++)
		usleep(10000);
	return buffer_faults(buffer) > before;
}

static inline __u64 buffer_sum(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id, .length = buffer->size };

	return ioctl(buffer->real, VGPU_MOCK_IOC_BUF_SUM, &range) ? 0 : range.out_sum;
}

static inline __u64 memory_sum(const void *memory, size_t size)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, memory, size);
}

/* @memory holds the pattern of that seed. */
static inline bool memory_is(const char *memory, size_t size, __u32 seed)
{
	char *expected, first[8];
	bool same;

	/* Most memory that is looked at is something else from its beginning on. */
	vgpu_mock_pattern(first, sizeof(first), seed, 0);
	if (memcmp(memory, first, size < sizeof(first) ? size : sizeof(first)))
		return false;
	expected = malloc(size);
	vgpu_mock_pattern(expected, size, seed, 0);
	same = !memcmp(memory, expected, size);
	free(expected);
	return same;
}

static sigjmp_buf window_jump;
static volatile sig_atomic_t window_signal;

static inline void window_on_fault(int signal)
{
	window_signal = signal;
	siglongjmp(window_jump, 1);
}

/* The signal that an access gets, or 0. */
static inline int touch(volatile char *at, bool write)
{
	struct sigaction action = { .sa_handler = window_on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	window_signal = 0;
	if (!sigsetjmp(window_jump, 1)) {
		if (write)
			*at = 1;
		else
			(void)*at;
	}
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return window_signal;
}

/*
 * A thread that has the driver move a buffer, again and again. A hypervisor's fault that finds its
 * page moved each time is given up after two seconds, and shows nothing: on a slow machine that may
 * come, so one that is @patient stops when nobody got at the buffer for a while, until somebody does.
 */
struct mover {
	const struct buffer *buffer;
	bool patient;
	volatile unsigned long accesses;
	volatile bool stop;
	unsigned int moves;
};

#define MOVER_WHILE_MS	300

static inline void *mover_run(void *data)
{
	struct mover *mover = data;
	unsigned long accesses = 0;
	uint64_t since = tool_now_ms();

	while (!mover->stop && !buffer_do(mover->buffer, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0)) {
		mover->moves++;
		while (mover->patient && !mover->stop && mover->accesses == accesses &&
		       tool_now_ms() - since > MOVER_WHILE_MS)
			usleep(1000);
		if (mover->accesses != accesses) {
			accesses = mover->accesses;
			since = tool_now_ms();
		}
	}
	return NULL;
}

/* Counts the faults that this thread has for looking at each page. */
static inline long looked_faults(const char *memory, size_t size)
{
	struct rusage before, after;
	size_t at;

	getrusage(RUSAGE_THREAD, &before);
	for (at = 0; at < size; at += PAGE)
		(void)*(const volatile char *)(memory + at);
	getrusage(RUSAGE_THREAD, &after);
	return after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
}

/* A counter of the window (the only one), as vgpuctl names it; -1: there is none. */
static inline long window_status(const char *name)
{
	const char *at = strstr(tool_status(), "\"windows\":");
	char key[40];

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	return at ? atol(at + strlen(key)) : -1;
}

/* Until so many of the device's mappings are in the window, for as long as that takes at most. */
static inline bool await_mappings_for(const struct buffer *buffer, long long nr,
				      unsigned int seconds)
{
	uint64_t end = tool_now_ms() + seconds * 1000ULL;

	while (window_counter(buffer->fwd, "window_mappings") != nr) {
		if (tool_now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

/* What the guest does not put off takes a minute on a slow machine. */
static inline bool await_mappings(const struct buffer *buffer, long long nr)
{
	return await_mappings_for(buffer, nr, 60);
}

/* Polls until the counter is @value, for as long as a minute. */
static inline bool window_await(const char *name, long value)
{
	int tries;

	for (tries = 0; tries < 1200; tries++) {
		if (window_status(name) == value)
			return true;
		usleep(50000);
	}
	return false;
}

/* Where the pattern of that seed is in the window; 0: nowhere. */
static inline unsigned long window_find(const char *window, size_t size, size_t len, __u32 seed)
{
	unsigned long at;

	for (at = PAGE; at + len <= size; at += PAGE)
		if (memory_is(window + at, len, seed))
			return at;
	return 0;
}

/* Polls until the guest has heard of its window. */
static inline bool window_heard(void)
{
	struct buffer buffer;
	int tries, found = 0;
	char *memory;

	if (!buffer_make(&buffer, VGPU_MOCK_BUF_PFN, PAGE))
		return false;
	for (tries = 0; !found && tries < 1000; tries++) {
		memory = buffer_map(&buffer, buffer.fwd, PROT_READ);
		if (!memory)
			break;
		found = window_counter(buffer.fwd, "window_mappings") > 0;
		munmap(memory, PAGE);
		if (!found)
			usleep(20000);
	}
	buffer_end(&buffer);
	return found && window_await("bindings", 0);
}

/* A window of that size, which the guest has heard of. */
static inline bool window_begin(const char *size)
{
	tool_run("vgpuctl window destroy --to 1 --force");
	return !tool_run("vgpuctl window create --to 1 --size %s", size)->status &&
	       window_heard();
}

static inline void window_end(void)
{
	tool_run("vgpuctl window destroy --to 1 --force");
}

#endif /* WINDOW_H */
