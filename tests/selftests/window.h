/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of tests of the window: a window for the guest in this machine, and buffers of
 * the mock. The tests act as the device on the buffers by the real node, without a
 * forwarded call.
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
	int real;		/* fd of the real node, for the device's side */
	int fwd;		/* fd of the guest's node */
	__u32 id;
	__u64 offset;
	size_t size;
};

static inline bool window_possible(void)
{
	const char *tier = getenv("VGPU_TIER");

	return tier && !strcmp(tier, "loopback") && !geteuid();
}

/* Skips a test; to be used in a test or its setup. */
#define NEEDS_WINDOW() do {						\
	if (!window_possible())						\
		SKIP(return, "needs root and the host in the same machine: loopback"); \
} while (0)

/* Return: this kernel makes PMD mappings of PFNs without struct page. */
static inline bool window_huge_possible(void)
{
	char line[64];

	tool_read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
	return !tool_kernel_before(6, 12) && strstr(line, "[always]");
}

/* Skips a test without THP: mmap() then does not align to 2 MiB, as PMD mappings need. */
#define NEEDS_THP() do { \
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK)) \
		SKIP(return, "the kernel has no CONFIG_TRANSPARENT_HUGEPAGE"); \
} while (0)

/* Reads a counter of the forwarded device; -1: there is none. */
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

/* Runs a BUF_* command on the whole buffer by the real node, as the device. */
static inline int buffer_do(const struct buffer *buffer, unsigned long cmd, __u32 seed,
			    __u32 delay_ms)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id, .seed = seed, .length = buffer->size, .delay_ms = delay_ms,
	};

	return ioctl(buffer->real, cmd, &range);
}

/* Makes a forwarded call; the host applies all earlier unmaps of the program before it. */
static inline int buffer_settle(const struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };

	return ioctl(buffer->fwd, VGPU_MOCK_IOC_BUF_SYNC, &range);
}

/* Returns the number of the buffer's page faults that have reached the driver. */
static inline unsigned long buffer_faults(const struct buffer *buffer)
{
	struct vgpu_mock_buf_info info = { .id = buffer->id };

	return ioctl(buffer->real, VGPU_MOCK_IOC_BUF_INFO, &info) ? 0 : info.out_faults;
}

/* Waits up to ten seconds for more than @before page faults. */
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

/* Return: @memory holds the pattern of @seed. */
static inline bool memory_is(const char *memory, size_t size, __u32 seed)
{
	char *expected, first[8];
	bool same;

	/* Most mismatches show in the first bytes, so compare these first. */
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

/* Accesses a byte. Return: the signal that the access got, or 0. */
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
 * A thread that lets the driver move a buffer again and again. A hypervisor gives a page fault up
 * after two seconds if the page has moved at each try, and maps nothing. That may happen on a slow
 * machine, so a @patient mover pauses when there was no access to the buffer for a while, until
 * the next access.
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

/* Reads each page, and returns the number of page faults that this thread took. */
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

/* Returns the counter of the only window with this name in vgpuctl's JSON; -1: there is none. */
static inline long window_status(const char *name)
{
	const char *at = strstr(tool_status(), "\"windows\":");
	char key[40];

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	return at ? atol(at + strlen(key)) : -1;
}

/* Waits up to @seconds until @nr mappings of the device are in the window. */
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

/*
 * Waits as await_mappings_for() does, up to a minute: a slow machine takes long to move a mapping,
 * even if the guest never backs off between attempts.
 */
static inline bool await_mappings(const struct buffer *buffer, long long nr)
{
	return await_mappings_for(buffer, nr, 60);
}

/* Polls up to a minute until the counter of the window is @value. */
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

/* Returns the offset of the pattern of @seed in the window; 0: it is not there. */
static inline unsigned long window_find(const char *window, size_t size, size_t len, __u32 seed)
{
	unsigned long at;

	for (at = PAGE; at + len <= size; at += PAGE)
		if (memory_is(window + at, len, seed))
			return at;
	return 0;
}

/* Polls until the guest uses its window. */
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

/* Makes a window of @size, and waits until the guest uses it. */
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
