// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates of the guest that is this machine's kernel: how many calls, opens and bytes it may have in
 * a second. A slow machine can only make the numbers smaller, so only upper bounds are expected.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent_limits.h"

/* Time for which calls are counted. */
#define COUNT_MS	2000
#define THREADS		4

/* Returns the number that may begin in @ms at @rate, with what an idle guest has saved up. */
static long bound(long rate, uint64_t ms, int lanes)
{
	return rate * (long)ms / 1000 + rate / 8 + 2 + lanes;
}

static int noop(int fd)
{
	return ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) ? errno : 0;
}

/**
 * struct caller - thread that makes calls
 * @fd: file of the device
 * @until: time in ms until which it begins calls
 * @calls: number of calls that have succeeded
 * @error: errno of a call that failed, or 0
 */
struct caller {
	int fd;
	uint64_t until;
	long calls;
	int error;
};

static void *call_all_the_time(void *data)
{
	struct caller *caller = data;

	while (tool_now_ms() < caller->until && !caller->error) {
		caller->error = noop(caller->fd);
		caller->calls++;
	}
	return NULL;
}

/* All threads of a guest together make as many calls as it may. */
TEST_F_TIMEOUT(limits, calls, 60)
{
	struct caller callers[THREADS];
	pthread_t threads[THREADS];
	uint64_t start;
	long calls = 0;
	int i;

	ASSERT_TRUE(limit("call-rate=100"));
	start = tool_now_ms();
	for (i = 0; i < THREADS; i++) {
		callers[i] = (struct caller) { .fd = self->fd, .until = start + COUNT_MS };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, call_all_the_time, &callers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, callers[i].error);
		calls += callers[i].calls;
	}
	EXPECT_LE(calls, bound(100, tool_now_ms() - start, THREADS));
	EXPECT_GT(shown_delayed(), 0);
}

/* A rate of opens does not delay other calls. */
TEST_F_TIMEOUT(limits, opens, 60)
{
	uint64_t start;
	long nr = 0, i;
	int fd;

	ASSERT_TRUE(limit("open-rate=8"));
	for (start = tool_now_ms(); tool_now_ms() < start + COUNT_MS; nr++) {
		fd = open(self->node, O_RDWR);
		ASSERT_GE(fd, 0);
		close(fd);
	}
	EXPECT_LE(nr, bound(8, tool_now_ms() - start, 1));
	/* The next open has to wait by now, and these calls do not. */
	nr = shown_delayed();
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, noop(self->fd));
	EXPECT_EQ(nr, shown_delayed());
}

TEST_F_TIMEOUT(limits, bytes, 60)
{
	const long rate = 1 << 20, len = 128 << 10;
	struct vgpu_mock_large large = { .length = len };
	uint64_t start;
	long nr = 0;

	large.ptr = (uintptr_t)mmap(NULL, len, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((uintptr_t)MAP_FAILED, large.ptr);
	ASSERT_TRUE(limit("byte-rate=1M"));
	for (start = tool_now_ms(); tool_now_ms() < start + COUNT_MS; nr++)
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_LARGE_IN, &large));
	/* The last call may be larger than what was left. */
	EXPECT_LE(nr * len, bound(rate, tool_now_ms() - start, 0) + 2 * len);
}

/* Makes 60 calls, which take nearly a minute at one call a second. */
static void *call_for_a_minute(void *data)
{
	struct caller *caller = data;

	while (caller->calls < 60 && !caller->error) {
		caller->error = noop(caller->fd);
		caller->calls++;
	}
	return NULL;
}

/* A higher rate, or none, lets calls go on that wait. */
TEST_F_TIMEOUT(limits, waiting_calls_go_on, 120)
{
	struct caller caller = { .fd = self->fd };
	struct timespec until;
	pthread_t thread;
	long before;

	before = shown_delayed();
	ASSERT_TRUE(limit("call-rate=1"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, call_for_a_minute, &caller));
	while (shown_delayed() <= before)
		usleep(20000);
	ASSERT_TRUE(limit("call-rate="));
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	EXPECT_EQ(0, pthread_timedjoin_np(thread, NULL, &until));
	EXPECT_EQ(60, caller.calls);
	EXPECT_EQ(0, caller.error);
}

/* A program that waits for its turn can be killed, and its session ends. */
TEST_F_TIMEOUT(limits, killed, 60)
{
	long before = shown_delayed();
	int status, i;
	pid_t pid;

	ASSERT_TRUE(limit("call-rate=1"));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!noop(self->fd))
			;
		_exit(1);
	}
	while (shown_delayed() <= before)
		usleep(20000);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	for (i = 0; shown("sessions", "use") > 1 && i < 500; i++)
		usleep(20000);
	EXPECT_LT(i, 500);
	ASSERT_TRUE(limit("call-rate="));
	EXPECT_EQ(0, noop(self->fd));
}

static void on_alarm(int unused)
{
}

/* A signal interrupts a call that waits for its turn, or the call begins anew. */
TEST_F_TIMEOUT(limits, signalled, 120)
{
	const struct itimerval soon = { .it_value.tv_usec = 100000, .it_interval.tv_usec = 100000 };
	const struct itimerval never = { .it_value.tv_usec = 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	int i, error = 0;

	ASSERT_TRUE(limit("call-rate=1"));
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (i = 0; i < 50 && !error; i++)
		error = noop(self->fd);
	EXPECT_EQ(EINTR, error);
	/* The timer's signals come all the time, and the call goes on nevertheless. */
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, noop(self->fd));
	setitimer(ITIMER_REAL, &never, NULL);
}

/* All programs together have the pages and mappings that the guest may have in all. */
TEST_F_TIMEOUT(limits, all_sessions, 120)
{
	struct vgpu_mock_buf_create create = { .size = 16 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	static unsigned char bytes[40 * PAGE];
	struct vgpu_mock_large large = { .ptr = (uintptr_t)bytes, .length = sizeof(bytes) };
	void *mapped;
	int status;
	pid_t pid;

	memset(bytes, 1, sizeof(bytes));
	ASSERT_TRUE(limit("all-pages=16"));
	EXPECT_EQ(-1, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	EXPECT_EQ(ENOBUFS, errno);
	ASSERT_TRUE(limit("all-pages=100"));
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	ASSERT_NE(MAP_FAILED, mapped);
	ASSERT_TRUE(limit("all-mappings=1"));
	/* Another program has no mapping yet, and may have none. */
	pid = fork();
	if (!pid) {
		int fd = open(self->node, O_RDWR);
		void *other;

		if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
			_exit(1);
		other = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, create.out_offset);
		_exit(other == MAP_FAILED && errno == ENOMEM ? 0 : 2);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(mapped, PAGE);
	mapped = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, create.out_offset);
	EXPECT_NE(MAP_FAILED, mapped);
	munmap(mapped, PAGE);
}

TEST_HARNESS_MAIN
