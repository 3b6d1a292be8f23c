// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test long messages in the window's arena. Their bytes are right and do not go over the wire,
 * no other lane sees them, and a hypervisor sees them only for as long as the lane exists. The
 * arena consists of slots of 1 MiB; a lane with long messages gets one (Documentation/window.rst).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/wait.h>

#include <endian.h>

#include "arena.h"

#include "kselftest_harness.h"

#define SIZE		"64M"
#define SIZE_BYTES	(64UL << 20)
#define SLOTS		4		/* number of slots of a window of that size */
#define ARENA		(SIZE_BYTES - SLOTS * VGPU_ARENA_SLOT)

FIXTURE(arena)
{
	int fd;
	volatile char *window;	/* the hypervisor's mapping */
};

FIXTURE_SETUP(arena)
{
	memset(self, 0, sizeof(*self));
	self->fd = -1;
	if (!window_possible())
		return;
	ASSERT_TRUE(set_least(128 * KIB));
	ASSERT_TRUE(window_begin(SIZE));
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(arena)
{
	if (!window_possible())
		return;
	close(self->fd);
	set_least(128 * KIB);
	window_end();
}

/* A program with a single long message gets no slot. */
TEST_F(arena, few)
{
	NEEDS_WINDOW();
	EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 400 * KIB, 1));
	EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 100 * KIB, 1));
	EXPECT_EQ(0, window_status("slots"));
	EXPECT_EQ(0, window_status("arena_bytes"));
}

TEST_F(arena, large_arguments)
{
	static const size_t lengths[] = {
		128 * KIB, 128 * KIB + 3, 500 * KIB, 960 * KIB, 1023 * KIB,
	};
	struct vgpu_mock_large large;
	long long before;
	char *data;
	unsigned int i;

	NEEDS_WINDOW();
	data = malloc(2048 * KIB);
	ASSERT_TRUE(warm(self->fd));
	EXPECT_EQ(1, window_status("slots"));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		long moved = window_status("arena_bytes");

		before = wire(self->fd);
		EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, lengths[i], 10 + i))
			TH_LOG("%zu bytes", lengths[i]);
		EXPECT_LT(wire(self->fd) - before, LITTLE) TH_LOG("%zu bytes", lengths[i]);
		EXPECT_LE(moved + 2 * lengths[i], window_status("arena_bytes"));

		/* Each of these calls moves bytes in one direction. */
		before = wire(self->fd);
		large = (struct vgpu_mock_large){ .ptr = (uintptr_t)data, .length = lengths[i],
						  .seed = i };
		vgpu_mock_pattern(data, lengths[i], 100 + i, 0);
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_LARGE_IN, &large));
		EXPECT_EQ(large.out_sum, vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, lengths[i]));
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_LARGE_OUT, &large));
		EXPECT_TRUE(memory_is(data, lengths[i], i));
		EXPECT_LT(wire(self->fd) - before, 2 * LITTLE);
	}
	/* Messages that are short, or longer than a slot, go by the socket. */
	for (i = 0; i < 2; i++) {
		long moved = window_status("arena_bytes");
		size_t length = i ? 1500 * KIB : 120 * KIB;

		before = wire(self->fd);
		EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, length, 5));
		EXPECT_LE(2 * length, wire(self->fd) - before);
		EXPECT_EQ(moved, window_status("arena_bytes"));
	}
	EXPECT_EQ(1, window_status("slots"));
	free(data);
}

/* The driver goes through memory that no schema describes. */
TEST_F(arena, demand_pages)
{
	const size_t length = 1024 * KIB;
	long long first, before;

	NEEDS_WINDOW();
	before = wire(self->fd);
	EXPECT_EQ(0, inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), length, 1));
	first = wire(self->fd) - before;
	EXPECT_EQ(0, window_status("arena_bytes"));
	EXPECT_EQ(0, inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), length, 1));
	before = wire(self->fd);
	EXPECT_EQ(0, inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), length, 2));
	EXPECT_EQ(1, window_status("slots"));
	EXPECT_LE(512 * KIB, window_status("arena_bytes"));
	EXPECT_LT(wire(self->fd) - before + 512 * KIB, first);
	/* Pages that the driver writes to go back in shorter messages. */
	ASSERT_TRUE(set_least(1));
	before = wire(self->fd);
	EXPECT_EQ(0, inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), length, 3));
	EXPECT_LT(wire(self->fd) - before, 20 * KIB);
}

TEST_F(arena, read_and_write)
{
	const size_t length = 64 * KIB;
	long long before;
	char *data;

	NEEDS_WINDOW();
	ASSERT_TRUE(set_least(32 * KIB));
	ASSERT_TRUE(warm(self->fd));
	data = malloc(length);
	vgpu_mock_pattern(data, length, 3, 0);
	before = wire(self->fd);
	ASSERT_EQ(length, pwrite(self->fd, data, length, 0));
	memset(data, 0, length);
	ASSERT_EQ(length, pread(self->fd, data, length, 0));
	EXPECT_LT(wire(self->fd) - before, LITTLE);
	EXPECT_TRUE(memory_is(data, length, 3));
	free(data);
}

/*
 * A thread of a program whose calls use slots. No slot belongs to two lanes, so each thread
 * finds its own bytes.
 */
struct worker {
	pthread_t thread;
	int fd;
	unsigned int seed;
	unsigned int done;
	int line;
};

static uint64_t workers_end;
/* Least number of calls of each thread, however long they take */
#define WORKER_LEAST	4

static void *worker_run(void *data)
{
	struct worker *worker = data;

	while (!worker->line && (tool_now_ms() < workers_end || worker->done < WORKER_LEAST)) {
		worker->line = inverted(worker->fd, VGPU_MOCK_IOC_LARGE_INOUT,
					(200 + worker->done % 7 * 100) * KIB,
					worker->seed + worker->done);
		__atomic_add_fetch(&worker->done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int workers_run(int fd, unsigned int seed, unsigned int nr, unsigned int *done)
{
	struct worker workers[8] = {};
	unsigned int i;
	int line = 0;

	for (i = 0; i < nr; i++) {
		workers[i].fd = fd;
		workers[i].seed = seed + i * 1000000;
		pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
	}
	*done = 0;
	for (i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		line = line ?: workers[i].line;
		*done += workers[i].done;
	}
	return line;
}

TEST_F_TIMEOUT(arena, each_its_own, 120)
{
	unsigned int done, c;
	uint64_t end;
	pid_t children[3];
	int status;

	NEEDS_WINDOW();
	workers_end = tool_now_ms() + (getenv("VGPU_TIMES") ? 2000 : 6000);
	for (c = 0; c < 3; c++) {
		children[c] = fork();
		if (!children[c]) {
			int fd = open(getenv("VGPU_FWD"), O_RDWR);

			_exit(fd < 0 || workers_run(fd, 1000 * c, 2, &done) || !done);
		}
	}
	EXPECT_EQ(0, workers_run(self->fd, 5000, 4, &done));
	TH_LOG("%u calls of ours", done);
	EXPECT_LT(3, done);
	for (c = 0; c < 3; c++) {
		ASSERT_EQ(children[c], waitpid(children[c], &status, 0));
		EXPECT_EQ(0, status);
	}
	/* Calls go by the socket until their lane has a slot. */
	end = tool_now_ms() + 30000;
	while (!window_status("arena_bytes") && tool_now_ms() < end)
		ASSERT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 200 * KIB, 9));
	EXPECT_LT(0, window_status("arena_bytes"));
}

/* All slots of a window are taken, and another program's messages go by the socket. */
TEST_F(arena, exhausted)
{
	pid_t children[SLOTS];
	int ready[2], i, status;
	long long before;
	char byte;

	NEEDS_WINDOW();
	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i < SLOTS; i++) {
		children[i] = fork();
		if (!children[i]) {
			int fd = open(getenv("VGPU_FWD"), O_RDWR);

			if (!warm(fd) || write(ready[1], "", 1) != 1)
				_exit(1);
			pause();
		}
	}
	for (i = 0; i < SLOTS; i++)
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(SLOTS, window_status("slots"));
	ASSERT_TRUE(warm(self->fd));
	before = wire(self->fd);
	EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 200 * KIB, 9));
	EXPECT_LE(400 * KIB, wire(self->fd) - before);
	for (i = 0; i < SLOTS; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], &status, 0);
	}
	/* A lane that was refused a slot gets one when a slot is free. */
	ASSERT_TRUE(window_await("slots", 0));
	for (i = 0; i < 30 && !window_status("slots"); i++) {
		usleep(100000);
		ASSERT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 200 * KIB, 9));
	}
	EXPECT_EQ(1, window_status("slots"));
}

static volatile char *map_window(void)
{
	int fd = open(WINDOW_PATH, O_RDWR | O_CLOEXEC);
	volatile char *window;

	if (fd < 0)
		return NULL;
	window = mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return window == MAP_FAILED ? NULL : window;
}

static unsigned int ids(const volatile char *window)
{
	const volatile struct vgpu_window_header *header = (const volatile void *)window;
	unsigned int i, nr = 0;

	for (i = 0; i < VGPU_ARENA_SLOTS_MAX; i++)
		nr += !!header->slots[i];
	return nr;
}

/* Programs are killed anywhere: nothing of them stays visible. */
TEST_F_TIMEOUT(arena, killed, 90)
{
	unsigned int i, times = getenv("VGPU_TIMES") ? 15 : 60;
	int status;
	pid_t child;

	NEEDS_WINDOW();
	self->window = map_window();
	ASSERT_NE(NULL, self->window);
	for (i = 0; i < times; i++) {
		child = fork();
		if (!child) {
			int fd = open(getenv("VGPU_FWD"), O_RDWR);

			if (!warm(fd))
				_exit(2);
			while (!inverted(fd, i % 3 ? VGPU_MOCK_IOC_LARGE_INOUT :
					 TWIN(VGPU_MOCK_IOC_LARGE_INOUT), 960 * KIB, i))
				;
			_exit(1);
		}
		usleep(20000 + i * 7919 % 150000);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("time %u: status %x", i, status);
		/* Other programs go on at once. */
		EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 300 * KIB, i));
	}
	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(window_await("slots", 1));
	EXPECT_LT(0, window_status("arena_bytes"));
	EXPECT_EQ(1, ids(self->window));
}

TEST_F(arena, seen_by_a_hypervisor)
{
	struct vgpu_mock_large large = { .length = 256 * KIB };
	char *data, *found = NULL;
	int ready[2], go[2], status;
	unsigned long at;
	pid_t child;
	char byte;

	NEEDS_WINDOW();
	self->window = map_window();
	ASSERT_NE(NULL, self->window);
	data = malloc(large.length);
	large.ptr = (uintptr_t)data;
	EXPECT_EQ(0, ids(self->window));
	EXPECT_TRUE(vgpu_mock_is_zero((const char *)self->window + ARENA, SLOTS * VGPU_ARENA_SLOT));
	/*
	 * The window shows one page wherever no memory is bound, and another page in all slots
	 * without a lane. A byte written to either page is not seen in the other.
	 */
	memset((char *)self->window + PAGE, 0x77, PAGE);
	EXPECT_EQ(0x77, self->window[2 * PAGE]);
	EXPECT_TRUE(vgpu_mock_is_zero((const char *)self->window + ARENA, SLOTS * VGPU_ARENA_SLOT));
	self->window[ARENA + 5] = 0x55;
	EXPECT_EQ(0x55, self->window[ARENA + VGPU_ARENA_SLOT + 5]);
	EXPECT_EQ(0x77, self->window[PAGE + 5]);

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	child = fork();
	if (!child) {
		int fd = open(getenv("VGPU_FWD"), O_RDWR);

		vgpu_mock_pattern(data, large.length, 4711, 0);
		_exit(!warm(fd) || ioctl(fd, VGPU_MOCK_IOC_LARGE_IN, &large) || write(ready[1], "", 1) != 1 ||
		      read(go[0], &byte, 1) != 1);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(1, ids(self->window));
	vgpu_mock_pattern(data, large.length, 4711, 0);
	for (at = ARENA; !found && at < SIZE_BYTES; at += VGPU_ARENA_SLOT)
		found = memmem((char *)self->window + at, VGPU_ARENA_SLOT, data, large.length);
	ASSERT_NE(NULL, found);
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_TRUE(window_await("slots", 0));
	EXPECT_EQ(0, ids(self->window));
	for (at = ARENA; at < SIZE_BYTES; at += VGPU_ARENA_SLOT)
		EXPECT_EQ(NULL, memmem((char *)self->window + at, VGPU_ARENA_SLOT, data, PAGE));
	EXPECT_EQ(0, *(volatile char *)(found + 8));
	free(data);
}

/* A mapping that would fit only with the arena's memory goes by copy; a page less fits. */
TEST_F(arena, not_for_mappings)
{
	struct buffer buffer;
	char *first;

	NEEDS_WINDOW();
	ASSERT_TRUE(window_begin("16M"));
	self->window = NULL;
	ASSERT_TRUE(buffer_make(&buffer, VGPU_MOCK_BUF_PFN, 15 << 20));
	first = buffer_map(&buffer, buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, first);
	EXPECT_EQ(0, window_counter(buffer.fwd, "window_mappings"));
	EXPECT_EQ(1, window_counter(buffer.fwd, "copy_mappings"));
	munmap(first, buffer.size);
	buffer_end(&buffer);
	ASSERT_TRUE(buffer_make(&buffer, VGPU_MOCK_BUF_PFN, (15 << 20) - PAGE));
	first = buffer_map(&buffer, buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, first);
	EXPECT_EQ(1, window_counter(buffer.fwd, "window_mappings"));
	EXPECT_TRUE(warm(self->fd));
	EXPECT_EQ(1, window_status("slots"));
	munmap(first, buffer.size);
	buffer_end(&buffer);
}

static bool is_at_work(const struct worker *worker)
{
	return !__atomic_load_n(&worker->line, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&worker->done, __ATOMIC_RELAXED) < WORKER_LEAST;
}

/* The window is drained, filled and destroyed while programs make calls: no call fails. */
TEST_F_TIMEOUT(arena, window_that_goes, 120)
{
	struct worker workers[2] = {};
	long moved;
	unsigned int i;

	NEEDS_WINDOW();
	EXPECT_TRUE(warm(self->fd));
	EXPECT_EQ(1, window_status("slots"));
	ASSERT_EQ(0, tool_run("vgpuctl window drain --to 1")->status);
	moved = window_status("arena_bytes");
	EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 200 * KIB, 2));
	EXPECT_EQ(moved, window_status("arena_bytes"));
	EXPECT_TRUE(window_await("slots", 0));
	ASSERT_EQ(0, tool_run("vgpuctl window fill --to 1")->status);
	for (i = 0; i < 50 && window_status("arena_bytes") == moved; i++) {
		EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 200 * KIB, 3));
		usleep(50000);
	}
	EXPECT_LT(moved, window_status("arena_bytes"));

	workers_end = tool_now_ms() + 6000;
	for (i = 0; i < 2; i++) {
		workers[i].fd = self->fd;
		workers[i].seed = i;
		pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
	}
	for (i = 0; tool_now_ms() < workers_end - 500 || is_at_work(&workers[0]) ||
		    is_at_work(&workers[1]); i++) {
		if (i % 2) {
			tool_run("vgpuctl window drain --to 1");
			tool_run("vgpuctl window fill --to 1");
		} else {
			tool_run("vgpuctl window destroy --to 1 --force");
			tool_run("vgpuctl window create --to 1 --size " SIZE);
		}
		usleep(i * 7919 % 200000);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].line);
		EXPECT_LT(3, workers[i].done);
	}
}

/* The window is a device with memory that a hypervisor gave this machine. */
TEST_F_TIMEOUT(arena, by_a_device, 60)
{
	static const size_t lengths[] = { 128 * KIB, 500 * KIB + 5, 1023 * KIB };
	long long first, before;
	unsigned int i, round;
	int status;

	if (!getenv("VGPU_WINDOW"))
		SKIP(return, "needs a window as a device: nested");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	EXPECT_TRUE(warm(self->fd));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			before = wire(self->fd);
			ASSERT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, lengths[i],
					      10 * round + i));
			EXPECT_LT(wire(self->fd) - before, LITTLE);
		}
	}
	before = wire(self->fd);
	EXPECT_EQ(0, inverted(self->fd, VGPU_MOCK_IOC_LARGE_INOUT, 2048 * KIB, 2));
	EXPECT_LE(4096 * KIB, wire(self->fd) - before);
	close(self->fd);
	/* The child has a lane of its own, which has no slot yet. */
	if (!fork()) {
		self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
		before = wire(self->fd);
		if (inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), 1024 * KIB, 1))
			_exit(1);
		first = wire(self->fd) - before;
		if (!warm(self->fd))
			_exit(4);
		before = wire(self->fd);
		if (inverted(self->fd, TWIN(VGPU_MOCK_IOC_LARGE_INOUT), 1024 * KIB, 2))
			_exit(2);
		_exit(wire(self->fd) - before + 512 * (long long)KIB < first ? 0 : 3);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
}

/* Runs the tests of @program with all messages in the arena that can be there: all pass. */
static void same(struct __test_metadata *_metadata, const char *program)
{
	struct tool_run *run;
	unsigned int passed = 0;
	char *line, *rest;
	bool failed;

	ASSERT_TRUE(set_least(1));
	run = tool_run("./%s", program);
	failed = strstr(run->out, "\nnot ok ");
	for (line = strtok_r(run->out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (failed)
			printf("# %s: %s\n", program, line);
		passed += !strncmp(line, "ok ", 3);
		if (!strncmp(line, "not ok ", 7))
			EXPECT_STREQ("", line) TH_LOG("%s: %s", program, line);
	}
	EXPECT_LT(3, passed);
	EXPECT_LT(1000, window_status("arena_bytes"));
}

#define SAME(program)							\
TEST_F_TIMEOUT(arena, same_ ## program, 300)				\
{									\
	NEEDS_WINDOW();							\
	if (getenv("VGPU_TIMES") && strcmp(#program, "mock_ioctl"))	\
		SKIP(return, "takes long: one bed does for all");	\
	same(_metadata, #program);					\
}

SAME(mock_ioctl)
SAME(mock_limits)
SAME(mock_nested)
SAME(mock_signal)
SAME(mock_fd)

TEST_HARNESS_MAIN
