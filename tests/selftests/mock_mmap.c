// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test device memory that programs map.
 */
#include <sched.h>
#include <setjmp.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vgpu_diff.h"

#define PAGE	4096UL
#define MIB	(1UL << 20)

static __u64 buf_offset;	/* offset of the buffer made last */

static __u32 create(int fd, __u32 flavour, __u64 size)
{
	struct vgpu_mock_buf_create argument = { .size = size, .flavour = flavour };

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &argument));
	buf_offset = argument.out_offset;
	return argument.out_id;
}

static char *map(int fd, __u64 size, __u64 offset)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	MUST(memory != MAP_FAILED);
	return memory;
}

static int range(int fd, unsigned long cmd, __u32 id, __u64 offset, __u64 length, __u32 seed,
		 __u32 delay_ms)
{
	struct vgpu_mock_buf_range argument = {
		.id = id, .offset = offset, .length = length, .seed = seed, .delay_ms = delay_ms,
	};

	return ioctl(fd, cmd, &argument);
}

static void fill(int fd, __u32 id, __u64 offset, __u64 length, __u32 seed)
{
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_FILL, id, offset, length, seed, 0));
}

static __u64 sum(int fd, __u32 id, __u64 offset, __u64 length)
{
	struct vgpu_mock_buf_range argument = { .id = id, .offset = offset, .length = length };

	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_SUM, &argument));
	return argument.out_sum;
}

static __u64 local_sum(const void *data, size_t length)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, length);
}

static sigjmp_buf fault_jump;
static volatile sig_atomic_t fault_signal;

static void on_fault(int signal)
{
	fault_signal = signal;
	siglongjmp(fault_jump, 1);
}

/* Returns the signal that an access gets, or 0. */
static int touch(volatile char *at, bool write)
{
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	fault_signal = 0;
	if (!sigsetjmp(fault_jump, 1)) {
		if (write)
			*at = 1;
		else
			(void)*at;
	}
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return fault_signal;
}

/*
 * Returns the signal that accesses get in the end. A hypervisor shows the window's own page
 * until the guest is notified that there is no memory.
 */
static int touch_lost(volatile char *at, bool write)
{
	int tries, signal = 0;

	for (tries = 0; !signal && tries < 200; tries++) {
		if (tries)
			usleep(20000);
		signal = touch(at, write);
	}
	return signal;
}

/*
 * Both program and device write, and each sees what the other has written. @in_window: number of
 * mappings in the window, if there is a window; -1: depends on the kernel.
 */
static void both_sides_in(__u32 flavour, int in_window)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, flavour, 16 * PAGE);
	char *memory = map(fd, 16 * PAGE, buf_offset);
	char *expected = alloc_bytes(16 * PAGE, 0);
	unsigned int i;

	if (in_window >= 0 && forwarded && getenv("VGPU_WINDOW"))
		CHECK(forward_counter(fd, "window_mappings") == in_window);
	memset(expected, 0, 16 * PAGE);
	log_bytes("fresh", memory, 16 * PAGE);
	CHECK(!memcmp(memory, expected, 16 * PAGE));

	vgpu_mock_pattern(memory, 16 * PAGE, 1, 0);
	vgpu_mock_pattern(expected, 16 * PAGE, 1, 0);
	CHECK(sum(fd, id, 0, 16 * PAGE) == local_sum(expected, 16 * PAGE));

	fill(fd, id, PAGE - 8, 2 * PAGE, 2);
	vgpu_mock_pattern(expected + PAGE - 8, 2 * PAGE, 2, PAGE - 8);
	CHECK(!memcmp(memory, expected, 16 * PAGE));
	log_bytes("memory", memory, 16 * PAGE);

	/* Program and device write to one page in turns. */
	for (i = 0; i < 20; i++) {
		memory[5 * PAGE + i] = expected[5 * PAGE + i] = i;
		fill(fd, id, 5 * PAGE + 2048 + 8 * i, 8, i);
		vgpu_mock_pattern(expected + 5 * PAGE + 2048 + 8 * i, 8, i,
				  5 * PAGE + 2048 + 8 * i);
		CHECK(!memcmp(memory + 5 * PAGE, expected + 5 * PAGE, PAGE));
		CHECK(sum(fd, id, 5 * PAGE, PAGE) == local_sum(expected + 5 * PAGE, PAGE));
	}
	log_bytes("memory", memory, 16 * PAGE);
}

static void both_sides(__u32 flavour)
{
	both_sides_in(flavour, 1);
}

DIFF_TEST(both_sides_pfn)
{
	both_sides(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(both_sides_remap)
{
	both_sides(VGPU_MOCK_BUF_REMAP);
}

DIFF_TEST(both_sides_mixed)
{
	both_sides(VGPU_MOCK_BUF_MIXED);
}

DIFF_TEST(both_sides_page)
{
	both_sides(VGPU_MOCK_BUF_PAGE);
}

DIFF_TEST(both_sides_vmalloc)
{
	both_sides(VGPU_MOCK_BUF_VMALLOC);
}

DIFF_TEST(both_sides_write_combining)
{
	both_sides(VGPU_MOCK_BUF_WC);
}

/* Some windows can show memory of UNCOUNTED, and no window can show memory of RAW. */
DIFF_TEST(both_sides_uncounted)
{
	both_sides_in(VGPU_MOCK_BUF_UNCOUNTED, -1);
}

DIFF_TEST(both_sides_raw_mixed)
{
	both_sides_in(VGPU_MOCK_BUF_RAW, 0);
}

/* Two mappings of one buffer, in one process and in two, are one memory. */
DIFF_TEST(shared_mappings)
{
	int fd = open_device(O_RDWR);
	int fd2 = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 8 * PAGE);
	char *one = map(fd, 8 * PAGE, buf_offset);
	char *two = map(fd, 4 * PAGE, buf_offset + 4 * PAGE);
	char *three = map(fd2, 8 * PAGE, buf_offset);
	char *child;
	int status;

	strcpy(one + 5 * PAGE, "through one");
	log_line("two: %s, three: %s", two + PAGE, three + 5 * PAGE);
	strcpy(three + 6 * PAGE, "through three");
	log_line("one: %s, two: %s", one + 6 * PAGE, two + 2 * PAGE);
	fflush(NULL);
	if (!fork()) {
		/* The child uses the inherited mapping, and makes one of its own. */
		child = map(fd, 8 * PAGE, buf_offset);
		strcpy(one + 7 * PAGE, "through the child");
		_exit(strcmp(one + 5 * PAGE, "through one") ||
		      strcmp(child + 6 * PAGE, "through three") ||
		      strcmp(child + 7 * PAGE, "through the child"));
	}
	LOG_CALL(wait(&status) > 0 && !status);
	log_line("two: %s", two + 3 * PAGE);
	log_line("sum %llx", sum(fd2, id, 0, 8 * PAGE));
}

/* Mappings outlive the file and the buffer's name. */
DIFF_TEST(mapping_outlives_file)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);

	fill(fd, id, 0, 4 * PAGE, 9);
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_DESTROY, id, 0, 0, 0, 0));
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_SUM, id, 0, 0, 0, 0));
	log_bytes("memory", memory, 4 * PAGE);
	LOG_CALL(close(fd));
	memory[100] = 1;
	log_bytes("memory", memory, 4 * PAGE);
	LOG_CALL(munmap(memory, 4 * PAGE));
}

DIFF_TEST(refused)
{
	int fd = open_device(O_RDWR);
	int reader = open_device(O_RDONLY);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	int writer = open_device(O_WRONLY);
	int rw = PROT_READ | PROT_WRITE;

	(void)id;
#define TRY(length, prot, flags, f, offset) \
	LOG_CALL(mmap(NULL, length, prot, flags, f, offset) == MAP_FAILED ? -1 : 0)
	TRY(4 * PAGE, rw, MAP_PRIVATE, fd, buf_offset);
	TRY(5 * PAGE, rw, MAP_SHARED, fd, buf_offset);
	TRY(4 * PAGE, rw, MAP_SHARED, fd, buf_offset + PAGE);
	TRY(PAGE, rw, MAP_SHARED, fd, buf_offset + 4 * PAGE);
	TRY(PAGE, rw, MAP_SHARED, fd, 4095UL << 26);
	TRY(PAGE, rw, MAP_SHARED, fd, 0);
	TRY(0, rw, MAP_SHARED, fd, buf_offset);
	TRY(PAGE, rw, MAP_SHARED, fd, 100);
	TRY(PAGE, rw, MAP_SHARED, reader, buf_offset);
	TRY(PAGE, PROT_READ, MAP_SHARED, reader, buf_offset);
	TRY(PAGE, PROT_READ, MAP_SHARED, writer, buf_offset);
#undef TRY
}

DIFF_TEST(protection)
{
	int fd = open_device(O_RDWR);
	int reader = open_device(O_RDONLY);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);
	char *constant = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, reader, buf_offset);

	MUST(constant != MAP_FAILED);
	fill(fd, id, 0, 4 * PAGE, 1);
	LOG_CALL(touch(constant, false));
	LOG_CALL(touch(constant, true));
	LOG_CALL(mprotect(constant, PAGE, PROT_READ | PROT_WRITE));
	LOG_CALL(mprotect(memory, PAGE, PROT_READ));
	LOG_CALL(touch(memory, true));
	LOG_CALL(touch(memory + PAGE, true));
	LOG_CALL(mprotect(memory, PAGE, PROT_NONE));
	LOG_CALL(touch(memory, false));
	LOG_CALL(mprotect(memory, PAGE, PROT_READ | PROT_WRITE));
	LOG_CALL(touch(memory, true));
	log_bytes("memory", memory, 4 * PAGE);
	log_line("sum %llx", sum(fd, id, 0, 4 * PAGE));
	CHECK(sum(fd, id, 0, 4 * PAGE) == local_sum(memory, 4 * PAGE));
}

/* Parts are unmapped, and other memory is mapped in their places. */
DIFF_TEST(partial_unmap)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 8 * PAGE);
	char *memory = map(fd, 8 * PAGE, buf_offset);
	struct vgpu_mock_buf_info info = { .id = id };
	void *other;

	fill(fd, id, 0, 8 * PAGE, 3);
	LOG_CALL(munmap(memory + 2 * PAGE, 3 * PAGE));
	LOG_CALL(touch(memory + 2 * PAGE, false));
	LOG_CALL(touch(memory + 4 * PAGE, true));
	log_bytes("left", memory, 2 * PAGE);
	log_bytes("right", memory + 5 * PAGE, 3 * PAGE);
	other = mmap(memory + 2 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MUST(other != MAP_FAILED);
	memset(other, 1, 3 * PAGE);
	log_line("sum %llx", sum(fd, id, 0, 8 * PAGE));
	/* Another part of the buffer takes the place now. */
	other = mmap(memory + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		     buf_offset + 7 * PAGE);
	MUST(other != MAP_FAILED);
	strcpy(memory + 2 * PAGE, "seventh");
	log_line("%s", memory + 7 * PAGE);
	LOG_CALL(munmap(memory, 8 * PAGE));
	/* A call that may look at the memory comes after the end of its mappings. */
	log_line("sum %llx", sum(fd, id, 0, 8 * PAGE));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	log_line("pages %llu, maps %llu", info.out_pages, info.out_maps);
}

/* Read-ahead does not go beyond the end of the mapping. */
DIFF_TEST(read_ahead_of_the_rest)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 16 * PAGE);
	char *memory = map(fd, 16 * PAGE, buf_offset);
	char *all = map(fd, 16 * PAGE, buf_offset);
	__u32 other_id = create(fd, VGPU_MOCK_BUF_PFN, 11 * PAGE);
	void *other;
	int i;

	fill(fd, id, 0, 16 * PAGE, 5);
	fill(fd, other_id, 0, 11 * PAGE, 6);
	other = mmap(memory + 5 * PAGE, 11 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     fd, buf_offset);
	MUST(other != MAP_FAILED);
	for (i = 0; i < 5; i++)
		log_bytes("rest", memory + i * PAGE, PAGE);
	log_bytes("all", all, 16 * PAGE);
	log_bytes("other", other, 11 * PAGE);
	log_line("sum %llx", sum(fd, id, 0, 16 * PAGE));
}

/*
 * A driver that maps one page at a time is asked for each page, however many pages are read at
 * once.
 */
DIFF_TEST_LIMIT(one_page_at_a_time, 60)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ONE, 80 * PAGE);
	char *memory = map(fd, 80 * PAGE, buf_offset);
	int i;

	fill(fd, id, 0, 80 * PAGE, 7);
	for (i = 0; i < 80; i++)
		log_bytes("page", memory + i * PAGE, PAGE);
	memory[40 * PAGE] = 1;
	log_line("sum %llx", sum(fd, id, 0, 80 * PAGE));
}

/* A page that the driver refuses leaves the pages before and behind it as they are. */
DIFF_TEST_LIMIT(refused_in_between, 60)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 80 * PAGE);
	int at, i, tries;

	fill(fd, id, 0, 80 * PAGE, 8);
	for (at = 0; at < 80; at += 9) {
		char *memory = map(fd, 80 * PAGE, buf_offset);

		MUST(!range(fd, VGPU_MOCK_IOC_BUF_SLOW, id, at, 0, VGPU_MOCK_SLOW_ERROR, 0));
		/* A page that was refused before the program accessed it is asked for again. */
		for (i = 0; i < 80; i++)
			if (touch(memory + i * PAGE, false))
				CHECK(!touch(memory + i * PAGE, false));
		/*
		 * A hypervisor shows the window's own page until the guest is notified of the
		 * failure.
		 */
		for (tries = 0; tries < 200; tries++) {
			if (local_sum(memory, 80 * PAGE) == sum(fd, id, 0, 80 * PAGE))
				break;
			usleep(20000);
		}
		log_bytes("memory", memory, 80 * PAGE);
		MUST(!munmap(memory, 80 * PAGE));
	}
}

/* A child keeps a mapping that its parent has unmapped, and the parent's address is free. */
DIFF_TEST(shown_by_a_child)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 2 * PAGE);
	char *memory = map(fd, 2 * PAGE, buf_offset);
	struct vgpu_mock_large large = { .ptr = (uintptr_t)memory, .length = 2 * PAGE };
	int ends[2], status;
	pid_t child;
	char *all = map(fd, 2 * PAGE, buf_offset);
	void *other;
	char byte;

	fill(fd, id, 0, 2 * PAGE, 7);
	log_bytes("memory", memory, 2 * PAGE);
	MUST(!pipe(ends));
	fflush(NULL);
	child = fork();
	if (!child) {
		close(ends[1]);
		if (read(ends[0], &byte, 1))
			_exit(1);
		/*
		 * A forwarded mapping is lost with the parent's, and the child never sees other
		 * memory.
		 */
		_exit(forwarded != !!touch(memory, false));
	}
	close(ends[0]);
	LOG_CALL(munmap(memory, 2 * PAGE));
	other = mmap(memory, 2 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	MUST(other == memory);
	memset(memory, 3, 2 * PAGE);
	LOG_CALL(ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	log_line("sum of ordinary memory %llx", large.out_sum);
	id = create(fd, VGPU_MOCK_BUF_PFN, 2 * PAGE);
	other = mmap(memory, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		     buf_offset);
	MUST(other == memory);
	/* Pages that are cached for another mapping of the buffer do not show the new memory. */
	log_bytes("all", all, 2 * PAGE);
	close(ends[1]);
	LOG_CALL(waitpid(child, &status, 0) == child && !status);
	/* The end of the child's mapping leaves the memory mapped now as it is. */
	fill(fd, id, 0, 2 * PAGE, 8);
	log_bytes("memory", memory, 2 * PAGE);
	strcpy(memory, "parent");
	log_line("sum %llx", sum(fd, id, 0, 2 * PAGE));
}

/* A buffer mapped at an address never shows the memory of an earlier one. */
DIFF_TEST(reused_address)
{
	int fd = open_device(O_RDWR);
	char *memory = NULL;
	__u32 id;
	int i, times = diff_times(50);

	for (i = 0; i < times; i++) {
		id = create(fd, VGPU_MOCK_BUF_PFN, 2 * PAGE);
		MUST(!range(fd, VGPU_MOCK_IOC_BUF_FILL, id, 0, 2 * PAGE, i, 0));
		memory = mmap(memory, 2 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | (memory ? MAP_FIXED : 0), fd, buf_offset);
		MUST(memory != MAP_FAILED);
		CHECK(sum(fd, id, 0, 2 * PAGE) == local_sum(memory, 2 * PAGE));
		memory[PAGE + i] = i;
		CHECK(sum(fd, id, 0, 2 * PAGE) == local_sum(memory, 2 * PAGE));
		if (i % 3)
			MUST(!munmap(memory, 2 * PAGE));
		MUST(!range(fd, VGPU_MOCK_IOC_BUF_DESTROY, id, 0, 0, 0, 0));
	}
}

/* The driver moves the buffer while it is mapped. */
static void moved(__u32 flavour)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, flavour, 8 * PAGE);
	char *memory = map(fd, 8 * PAGE, buf_offset);
	int i;

	fill(fd, id, 0, 8 * PAGE, 4);
	for (i = 0; i < 10; i++) {
		memory[i * 100] = i;
		LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_INVALIDATE, id, 0, 0, 0, 0));
		log_bytes("memory", memory, 8 * PAGE);
		memory[4 * PAGE + i * 100] = i;
		CHECK(sum(fd, id, 0, 8 * PAGE) == local_sum(memory, 8 * PAGE));
	}
}

DIFF_TEST(moved_pfn)
{
	moved(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(moved_mixed)
{
	moved(VGPU_MOCK_BUF_MIXED);
}

DIFF_TEST(moved_page)
{
	moved(VGPU_MOCK_BUF_PAGE);
}

DIFF_TEST(revoked)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);

	LOG_CALL(touch(memory, true));
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_REVOKE, id, 0, 0, 0, 0));
	LOG_CALL(touch_lost(memory, false));
	LOG_CALL(touch_lost(memory + PAGE, true));
	LOG_CALL(munmap(memory, 4 * PAGE));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
}

/*
 * The device writes by itself. The program sees the bytes after a call that waits for the
 * device.
 */
DIFF_TEST(changed_later)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);
	char *expected = alloc_bytes(4 * PAGE, 0);

	memset(memory, 7, 4 * PAGE);
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_FILL, id, PAGE, 2 * PAGE, 5, 300));
	CHECK(memory[PAGE] == 7);
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_SYNC, id, 0, 0, 0, 0));
	memset(expected, 7, 4 * PAGE);
	vgpu_mock_pattern(expected + PAGE, 2 * PAGE, 5, PAGE);
	CHECK(!memcmp(memory, expected, 4 * PAGE));
	log_bytes("memory", memory, 4 * PAGE);
}

/*
 * A program that makes no call sees the bytes as well. Bytes that it has written meanwhile stay.
 */
DIFF_TEST(changed_while_read)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	volatile char *memory = map(fd, 4 * PAGE, buf_offset);
	__u64 deadline = now_ms() + 20000 * KSELFTEST_PATIENCE;
	char expected[64];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		memory[PAGE] = 7;
		memory[2 * PAGE] = 7;
		LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_FILL, id, PAGE, sizeof(expected), 5 + i, 300));
		memory[2 * PAGE - 1] = i;
		vgpu_mock_pattern(expected, sizeof(expected), 5 + i, PAGE);
		/* The device writes one word after the other. */
		while (memcmp((char *)memory + PAGE, expected, sizeof(expected)) &&
		       now_ms() < deadline)
			;
		CHECK(!memcmp((char *)memory + PAGE, expected, sizeof(expected)));
		CHECK(memory[2 * PAGE - 1] == (char)i);
		CHECK(memory[2 * PAGE] == 7);
	}
}

/* Neither program nor device makes a call: each waits for bytes that the other writes. */
DIFF_TEST(answered_while_read)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, PAGE);
	volatile __u64 *words = (__u64 *)map(fd, PAGE, buf_offset);
	const unsigned int limit_ms = 30000 * KSELFTEST_PATIENCE;
	__u64 deadline = now_ms() + limit_ms;
	__u64 number;

	words[0] = 0;
	LOG_CALL(range(fd, VGPU_MOCK_IOC_BUF_ECHO, id, 0, 0, 0, limit_ms));
	for (number = 1; number <= 6; number++) {
		words[0] = number;
		while (words[1] != vgpu_mock_mix64(number) && now_ms() < deadline)
			sched_yield();
		CHECK(words[1] == vgpu_mock_mix64(number));
	}
	words[0] = ~0ULL;
}

/*
 * The kernel writes to pages of which it holds references. Each further page that it accesses
 * makes the guest send the pages before. A mapping in a window has no pages to refer to, so the
 * write fails.
 */
DIFF_TEST(written_by_another_page)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PAGE, 8 * PAGE);
	char *memory = map(fd, 8 * PAGE, buf_offset);
	char *bytes = alloc_bytes(8 * PAGE, 3);
	struct iovec from = { bytes, 8 * PAGE }, to = { memory, 8 * PAGE };
	bool refused = forwarded && forward_counter(fd, "window_mappings") > 0;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) == 8 * PAGE ? 0 : errno);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (refused ? EFAULT : 0));
	if (refused)
		memset(bytes, 0, 8 * PAGE);
	CHECK(sum(fd, id, 0, 8 * PAGE) == local_sum(bytes, 8 * PAGE));
	CHECK(!memcmp(memory, bytes, 8 * PAGE));
}

/* A pointer into mapped device memory can be an argument like any other pointer. */
DIFF_TEST_TWINS(mapping_as_argument)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 8 * PAGE);
	char *memory = map(fd, 8 * PAGE, buf_offset);
	struct vgpu_mock_array array = {
		.ptr = (uintptr_t)memory + PAGE - 40, .count = 1000, .total = 1000, .seed = 3,
	};

	fill(fd, id, 0, 8 * PAGE, 6);
	LOG_CALL(ioctl(fd, CMD(ARRAY_IN), &array));
	log_line("sum %llx", array.out_sum);
	LOG_CALL(ioctl(fd, CMD(ARRAY_OUT), &array));
	log_bytes("memory", memory, 8 * PAGE);
	LOG_CALL(ioctl(fd, CMD(ARRAY_INOUT), &array));
	log_bytes("memory", memory, 8 * PAGE);
	CHECK(sum(fd, id, 0, 8 * PAGE) == local_sum(memory, 8 * PAGE));
	LOG_CALL(pwrite(fd, memory, 2 * PAGE, 0));
	LOG_CALL(pread(fd, memory + 4 * PAGE, 2 * PAGE, 0));
	CHECK(sum(fd, id, 0, 8 * PAGE) == local_sum(memory, 8 * PAGE));
}

DIFF_TEST_LIMIT(whole_and_in_order, 60)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * MIB);
	char *memory = map(fd, 4 * MIB, buf_offset);

	fill(fd, id, 0, 4 * MIB, 8);
	log_bytes("memory", memory, 4 * MIB);
	vgpu_mock_pattern(memory, 4 * MIB, 9, 0);
	CHECK(sum(fd, id, 0, 4 * MIB) == local_sum(memory, 4 * MIB));
}

DIFF_TEST(advice)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);

	memset(memory, 3, 4 * PAGE);
	LOG_CALL(msync(memory, 4 * PAGE, MS_SYNC));
	LOG_CALL(madvise(memory, 4 * PAGE, MADV_DONTFORK));
	LOG_CALL(madvise(memory, 4 * PAGE, MADV_DONTNEED));
	log_line("sum %llx", sum(fd, id, 0, 4 * PAGE));
	log_bytes("memory", memory, 4 * PAGE);
}

static void all_advice(__u32 flavour)
{
	static const int advices[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED,
		MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_DODUMP, MADV_DONTDUMP, MADV_DONTFORK,
		MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_REMOVE, 22 /* POPULATE_READ */,
		23 /* POPULATE_WRITE */,
	};
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, flavour, 4 * PAGE);
	char *memory = map(fd, 4 * PAGE, buf_offset);
	unsigned char in_core[4];
	unsigned int i;

	memset(memory, 3, 4 * PAGE);
	for (i = 0; i < ARRAY_SIZE(advices); i++) {
		log_line("advice %d", advices[i]);
		LOG_CALL(madvise(memory + PAGE, 2 * PAGE, advices[i]));
		CHECK(memory[2 * PAGE] == 3);
	}
	LOG_CALL(mlock(memory, 4 * PAGE));
	LOG_CALL(munlock(memory, 4 * PAGE));
	LOG_CALL(mincore(memory, 4 * PAGE, in_core));
	LOG_CALL(mprotect(memory, 2 * PAGE, PROT_READ));
	LOG_CALL(mprotect(memory, 2 * PAGE, PROT_READ | PROT_WRITE));
	/* A mapping of a device can shrink, but cannot grow again. */
	LOG_CALL(mremap(memory, 4 * PAGE, 2 * PAGE, 0) == memory ? 0 : -1);
	LOG_CALL(mremap(memory, 2 * PAGE, 4 * PAGE, 0) == memory ? 0 : -1);
	log_line("sum %llx", sum(fd, id, 0, 4 * PAGE));
	log_bytes("memory", memory, 2 * PAGE);
}

DIFF_TEST(all_advice_pfn)
{
	all_advice(VGPU_MOCK_BUF_PFN);
}

DIFF_TEST(all_advice_page)
{
	all_advice(VGPU_MOCK_BUF_PAGE);
}

static char *try_move(char *memory, size_t size)
{
	char *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *moved;

	MUST(place != MAP_FAILED);
	moved = mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (!forwarded) {
		CHECK(moved == place);
		return moved;
	}
	CHECK(moved == MAP_FAILED && errno == EINVAL);
	return memory;
}

/* A forwarded mapping cannot move, and a failed attempt does not change it. */
DIFF_TEST(move)
{
	int fd = open_device(O_RDWR);
	__u32 id = create(fd, VGPU_MOCK_BUF_PFN, 2 * PAGE);
	struct vgpu_mock_buf_info info = { .id = id };
	char *memory = map(fd, 2 * PAGE, buf_offset);
	int status;
	pid_t pid;

	memory[0] = 1;
	memory = try_move(memory, 2 * PAGE);
	pid = fork();
	if (!pid) {
		memory = try_move(memory, 2 * PAGE);
		memory[PAGE] = 2;
		_exit(memory[0]);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	log_line("child %x", status);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	log_line("%d %d", memory[0], memory[PAGE]);
	LOG_CALL(munmap(memory, 2 * PAGE));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_BUF_INFO, &info));
	log_line("maps %llu", (unsigned long long)info.out_maps);
}

TEST_HARNESS_MAIN
