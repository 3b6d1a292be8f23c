// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host is lost while messages are in the arena. Programs get an error or their own bytes,
 * and the next connection can use the same slots. The tests need the host in the same machine:
 * the loopback tier.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>

#include "agent.h"
#include "arena.h"

#include "kselftest_harness.h"

#define WORKERS	4

struct worker {
	pthread_t thread;
	int fd;
	unsigned int seed;
	volatile unsigned int done;
	int result;		/* result of the last call: see inverted() */
	int error;
};

FIXTURE(agent) {
};

FIXTURE_SETUP(agent)
{
	if (!window_possible())
		SKIP(return, "needs root and the host in the same machine: loopback");
	ASSERT_TRUE(set_least(128 * KIB));
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(window_begin("64M"));
}

FIXTURE_TEARDOWN(agent)
{
	if (!window_possible())
		return;
	window_end();
	EXPECT_TRUE(agent_write_env());
}

static void *work(void *data)
{
	struct worker *worker = data;

	do {
		worker->result = inverted(worker->fd, worker->done % 4 == 3 ?
					  TWIN(VGPU_MOCK_IOC_LARGE_INOUT) :
					  VGPU_MOCK_IOC_LARGE_INOUT,
					  (300 + worker->done % 7 * 100) * KIB,
					  worker->seed + worker->done);
		worker->error = errno;
		worker->done++;
	} while (!worker->result);
	return NULL;
}

TEST_F_TIMEOUT(agent, lost, 200)
{
	unsigned int i, round, times = getenv("VGPU_TIMES") ? 3 : 8;
	int fd = agent_open(getenv("VGPU_NAME")), pidfd;

	for (round = 0; round < times; round++) {
		struct worker workers[WORKERS] = { };
		unsigned int tries;
		long long before;
		long moved;

		ASSERT_LE(0, fd);
		for (i = 0; i < WORKERS; i++) {
			workers[i].fd = fd;
			workers[i].seed = (round * WORKERS + i) * 1000;
			ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
		}
		for (i = 0; !round && window_status("arena_bytes") <= 0 && i < 400; i++)
			usleep(50000);
		for (i = 0; i < WORKERS; i++)
			for (tries = 0; tries < 1000 && !workers[i].done; tries++)
				usleep(20000);
		usleep(700000 + round * 37000);
		pidfd = agent_kill(round % 2 ? SIGTERM : SIGKILL);
		ASSERT_GE(pidfd, 0);
		for (i = 0; i < WORKERS; i++) {
			ASSERT_EQ(0, pthread_join(workers[i].thread, NULL));
			EXPECT_EQ(-1, workers[i].result) TH_LOG("after %u", workers[i].done);
			EXPECT_EQ(ENODEV, workers[i].error);
			EXPECT_LT(1, workers[i].done) TH_LOG("worker %u", i);
		}
		close(fd);
		EXPECT_TRUE(agent_gone(pidfd));
		fd = agent_start(getenv("VGPU_NAME"));
		ASSERT_LE(0, fd);
		/* The window is the same, and no lane of the lost connection has a slot. */
		EXPECT_TRUE(window_await("slots", 0));
		moved = window_status("arena_bytes");
		EXPECT_TRUE(round || moved > 0);
		for (i = 0; i < 20 && window_status("slots") < 1; i++) {
			EXPECT_TRUE(warm(fd));
			usleep(50000);
		}
		before = wire(fd);
		EXPECT_EQ(0, inverted(fd, VGPU_MOCK_IOC_LARGE_INOUT, 700 * KIB, round));
		EXPECT_LT(wire(fd) - before, LITTLE);
		EXPECT_LT(moved, window_status("arena_bytes"));
	}
	close(fd);
	EXPECT_TRUE(window_await("slots", 1));
}

TEST_HARNESS_MAIN
