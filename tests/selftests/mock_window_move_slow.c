// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test mappings that move between the window and copies while a driver or a program is slow or
 * stuck. Other mappings move, and no byte is lost.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "window_move.h"

/*
 * A program that writes to a copy, or to a mapping that moves, while bytes are being sent waits
 * and loses nothing.
 */
TEST_F_TIMEOUT(move, slow_driver, 60)
{
	struct buffer slow;
	char *dirty;
	int n;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	ASSERT_TRUE(buffer_make(&slow, VGPU_MOCK_BUF_PFN, 2 * PAGE));
	dirty = buffer_map(&slow, slow.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, dirty);
	for (n = 1; n <= 2; n++) {
		memset(self->memory, n, 4 * PAGE);
		dirty[0] = n;
		dirty[PAGE] = n;
		ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 500));
		ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
		ASSERT_EQ(0, n == 1 ? tool_run("vgpuctl window drain --to 1 >/dev/null 2>&1 &")->status : fill());
		self->memory[0]++;
		dirty[1] = n;
		self->memory[3 * PAGE]++;
		EXPECT_TRUE(await_mappings(&self->buffer, n == 1 ? 0 : 2));
		self->memory[0]++;
		ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
		ASSERT_EQ(0, sync_buffer(&self->buffer));
		EXPECT_EQ(n + 2, self->device[0]);
		EXPECT_EQ(n, self->device[1]);
		EXPECT_EQ(n + 1, self->device[3 * PAGE]);
		EXPECT_EQ(n, dirty[0]);
		EXPECT_EQ(n, dirty[1]);
		EXPECT_EQ(n, dirty[PAGE]);
	}
}

/* The probe of a slow driver takes less time than the guest waits for the answer to BIND. */
TEST_F_TIMEOUT(move, slow_probe, 100)
{
	struct buffer slow;
	uint64_t start;
	char *memory;
	int tries;

	ASSERT_TRUE(buffer_make(&slow, VGPU_MOCK_BUF_PFN, 2 * PAGE));
	memory = buffer_map(&slow, slow.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, memory);
	ASSERT_TRUE(buffer_make(&self->buffer, VGPU_MOCK_BUF_PFN, 2 * PAGE));
	self->memory = buffer_map(&self->buffer, self->buffer.fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	memory[0] = 1;
	self->memory[0] = 2;
	ASSERT_EQ(0, drain());
	ASSERT_EQ(2, window_counter(slow.fwd, "copy_mappings"));
	/* The driver zaps all pages, so it is asked for each of them again. */
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 12000));
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0));
	start = tool_now_ms();
	ASSERT_EQ(0, fill());
	EXPECT_TRUE(await_mappings(&slow, 2));
	/* A guest that gets no answer to BIND in time has to wait until the driver has returned. */
	EXPECT_GT(10000, tool_now_ms() - start);
	ASSERT_EQ(0, buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 0));
	for (tries = 0; tries < 200 && touch(memory, false); tries++)
		usleep(100000);
	EXPECT_EQ(1, memory[0]);
	EXPECT_EQ(2, self->memory[0]);
}

static void slow_again(int signal)
{
	/* The access is repeated. */
}

static void *slow_run(void *data)
{
	(void)*(volatile char *)data;
	return NULL;
}

/* Time for which a shadow answers no call */
#define STUCK_SECONDS	20
/* The longest time that the guest waits before it asks the shadow again (MOVE_RETRY_MAX) */
#define ASKED_SECONDS	32

/*
 * Runs a program with a mapping whose shadow answers no call, as the shadow unmaps something
 * while the driver is in a fault.
 */
static void stuck_program(int ready)
{
	struct buffer mine, slow;
	char *memory, *stuck;
	unsigned long before;
	pthread_t thread;

	signal(SIGBUS, slow_again);
	if (!buffer_make(&mine, VGPU_MOCK_BUF_PFN, PAGE) ||
	    !buffer_make(&slow, VGPU_MOCK_BUF_PFN, 4 * PAGE))
		_exit(1);
	memory = buffer_map(&mine, mine.fwd, PROT_READ | PROT_WRITE);
	stuck = buffer_map(&slow, slow.fwd, PROT_READ | PROT_WRITE);
	/* The probe has made the first page present. */
	before = buffer_faults(&slow);
	if (!memory || !stuck || buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, STUCK_SECONDS * 1000) ||
	    pthread_create(&thread, NULL, slow_run, stuck + PAGE) ||
	    !buffer_await_fault(&slow, before))
		_exit(1);
	if (munmap(stuck + 3 * PAGE, PAGE) || buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 0) ||
	    write(ready, "r", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/*
 * Waits until this program's mapping is in the window. The two mappings of the stuck program may
 * be there as well: on a slow machine its shadow may have answered before the test came here.
 */
static bool await_beside_stuck(const struct buffer *buffer)
{
	uint64_t end = tool_now_ms() + 60000;
	long long nr;

	do {
		nr = window_counter(buffer->fwd, "window_mappings");
		if (nr == 1 || nr == 3)
			return true;
		usleep(10000);
	} while (tool_now_ms() < end);
	printf("# %lld mappings\n", nr);
	return false;
}

/* A program whose shadow answers no call keeps no other program's mapping from moving in or out. */
TEST_F_TIMEOUT(move, stuck_program, 200)
{
	struct buffer *buffer = &self->buffer;
	int ready[2];
	pid_t child;
	char word;

	ASSERT_EQ(0, drain());
	ASSERT_EQ(0, pipe(ready));
	child = fork();
	if (!child)
		stuck_program(ready[1]);
	ASSERT_EQ(1, read(ready[0], &word, 1));
	ASSERT_TRUE(buffer_make(buffer, VGPU_MOCK_BUF_PFN, 4 * PAGE));
	self->memory = buffer_map(buffer, buffer->fwd, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, self->memory);
	self->memory[0] = 1;
	ASSERT_EQ(0, fill());
	EXPECT_TRUE(await_beside_stuck(buffer));
	/* The window is drained while the guest asks the shadow again. */
	ASSERT_EQ(0, drain());
	ASSERT_EQ(0, fill());
	EXPECT_TRUE(await_beside_stuck(buffer));
	ASSERT_EQ(0, fill());
	ASSERT_EQ(0, tool_run("vgpuctl window destroy --to 1 --force")->status);
	EXPECT_EQ(0, touch(self->memory, true));
	ASSERT_EQ(0, tool_run("vgpuctl window create --to 1 --size 1M")->status);
	EXPECT_TRUE(await_beside_stuck(buffer));
	/*
	 * The stuck program's mappings follow when its shadow answers and the guest asks again.
	 * The shadow may answer right after the fifth attempt has failed, and the next attempt
	 * comes 16 seconds later.
	 */
	EXPECT_TRUE(await_mappings_for(buffer, 3, STUCK_SECONDS + ASKED_SECONDS + 30));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Runs a program whose dirty bytes a driver takes only after nine seconds. */
static void stuck_writer(int peer)
{
	struct buffer slow;
	char *memory, word;

	if (!buffer_make(&slow, VGPU_MOCK_BUF_PFN, PAGE))
		_exit(1);
	memory = buffer_map(&slow, slow.fwd, PROT_READ | PROT_WRITE);
	if (!memory)
		_exit(1);
	if (write(peer, "r", 1) != 1 || read(peer, &word, 1) != 1)
		_exit(1);
	memory[0] = 1;
	if (buffer_do(&slow, VGPU_MOCK_IOC_BUF_SLOW, 0, 9000) ||
	    buffer_do(&slow, VGPU_MOCK_IOC_BUF_INVALIDATE, 0, 0) || write(peer, "r", 1) != 1)
		_exit(1);
	_exit(!!sync_buffer(&slow));
}

/*
 * Another program does not wait while a driver takes the bytes of the stuck writer, although the
 * window is filled meanwhile.
 */
TEST_F_TIMEOUT(move, stuck_writer, 100)
{
	struct buffer *buffer = &self->buffer;
	int peer[2], status;
	char word, value = 1;
	uint64_t end;
	pid_t child;

	ASSERT_TRUE(begin(self, VGPU_MOCK_BUF_PFN, PAGE));
	ASSERT_EQ(0, drain());
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, peer));
	child = fork();
	if (!child)
		stuck_writer(peer[1]);
	ASSERT_EQ(1, read(peer[0], &word, 1));
	/*
	 * The page stays cached from here on: a call that made the guest forget it would wait
	 * for the other program's bytes.
	 */
	self->memory[0] = value;
	ASSERT_EQ(1, write(peer[0], "g", 1));
	ASSERT_EQ(1, read(peer[0], &word, 1));
	usleep(300000);
	/* This time is longer than a fault waits for a move. */
	end = tool_now_ms() + 3500;
	ASSERT_EQ(0, fill());
	while (tool_now_ms() < end) {
		self->memory[0] = ++value;
		usleep(10000);
	}
	/*
	 * A write that waited for the move would have failed with SIGBUS, or would have waited
	 * for the other program's bytes.
	 */
	EXPECT_GT(end + 4500, tool_now_ms());
	EXPECT_EQ(0, waitpid(child, &status, WNOHANG));
	EXPECT_EQ(0, window_counter(buffer->fwd, "window_mappings"));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(await_mappings(buffer, 1));
	EXPECT_EQ(value, self->memory[0]);
}

TEST_HARNESS_MAIN
