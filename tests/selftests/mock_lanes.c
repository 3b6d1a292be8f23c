// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test a process in which more threads wait for the device than the process may have lanes (128
 * by default, one of which is for mmap and faults).
 */
#include <pthread.h>

#include "vgpu_diff.h"

#define WAITERS		140
/* Number of waiters that are in the driver at the same time in any case */
#define LANES		112
/* Number of threads that begin to wait at the same time */
#define STEP		16

static int device;

static int wait_for_slot(void)
{
	struct vgpu_mock_wait wait = { .target = 1 };

	return ioctl(device, VGPU_MOCK_IOC_WAIT, &wait);
}

static void *waiter(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return (void *)(long)(wait_for_slot() ? errno : 0);
}

/* Wakes @add waiters. Return: number of threads that wait. */
static __u32 wake(__u32 add)
{
	struct vgpu_mock_wait wait = { .target = add };

	MUST(!ioctl(device, VGPU_MOCK_IOC_WAKE, &wait));
	return wait.out_waiters;
}

/* Waits until no further thread begins to wait. Return: true if that took too long. */
static int await_waiters(void)
{
	__u32 waiters, before = 0;
	int tries, same = 0;

	for (tries = 0; tries < 2000 && same < 20; tries++) {
		waiters = wake(0);
		same = waiters >= LANES && waiters == before ? same + 1 : 0;
		before = waiters;
		sleep_ms(10);
	}
	return tries == 2000;
}

static void start_waiters(pthread_t *threads)
{
	pthread_attr_t attr;
	int i, status, ready[2];
	char byte;
	pid_t pid;

	device = open_device(O_RDWR);
	/* Another process, which has lanes of its own, watches the waiters. */
	MUST(!pipe(ready));
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		wake(0);
		MUST(write(ready[1], "", 1) == 1);
		_exit(await_waiters());
	}
	MUST(read(ready[0], &byte, 1) == 1);
	MUST(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 64 * 1024));
	for (i = 0; i < WAITERS; i++) {
		/* Connect STEP lanes at a time, and stop waiting where lanes may have run out. */
		while (i < LANES - STEP && i % STEP == 0 && wake(0) < i)
			sleep_ms(1);
		MUST(!pthread_create(&threads[i], &attr, waiter, NULL));
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(!status);
}

static void join_waiters(pthread_t *threads)
{
	void *error;
	int i;

	for (i = 0; i < WAITERS; i++) {
		MUST(!pthread_join(threads[i], &error));
		CHECK(!error);
	}
}

/* The call that ends the waiting of all threads gets a lane, whatever the threads wait for. */
DIFF_TEST(ended_by_a_call)
{
	pthread_t threads[WAITERS];
	__u32 add;

	start_waiters(threads);
	/* Calls get a lane also while as many threads as possible are in the driver. */
	for (add = 0; add < 20; add++)
		CHECK(wake(0) >= LANES);
	CHECK(!ioctl(device, VGPU_MOCK_IOC_NOOP));
	wake(1);
	join_waiters(threads);
}

static void on_signal(int signal)
{
}

static volatile int interrupted_done;

static void *interrupted_waiter(void *argument)
{
	long ret = wait_for_slot() ? errno : 0;

	interrupted_done = 1;
	return (void *)ret;
}

/*
 * Sends up to @times signals to a thread that began to wait last. Return: true if they ended its
 * call.
 */
static bool interrupt_last(int flags, int times)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	pthread_t threads[WAITERS], last;
	bool ended;
	void *error;
	int tries;

	sigaction(SIGUSR1, &action, NULL);
	start_waiters(threads);
	MUST(!pthread_create(&last, NULL, interrupted_waiter, NULL));
	for (tries = 0; tries < times && !interrupted_done; tries++) {
		sleep_ms(10);
		pthread_kill(last, SIGUSR1);
	}
	ended = interrupted_done;
	wake(1);
	MUST(!pthread_join(last, &error));
	log_line("errno %ld", (long)error);
	join_waiters(threads);
	return ended;
}

/* A signal ends the call of the thread that began to wait last, whether it has a lane or not. */
DIFF_TEST(interrupted)
{
	CHECK(interrupt_last(0, 1000));
}

/*
 * The thread goes on waiting if the handler has SA_RESTART.
 */
DIFF_TEST(restarted)
{
	CHECK(!interrupt_last(SA_RESTART, 20));
}

TEST_HARNESS_MAIN
