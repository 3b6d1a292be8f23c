// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test calls that block, and signals that end them.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "vgpu_diff.h"

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	caught++;
}

static void catch(int signal, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	MUST(!sigaction(signal, &action, NULL));
	caught = 0;
}

static void timer(unsigned int ms)
{
	struct itimerval value = {
		.it_value = { ms / 1000, ms % 1000 * 1000 },
	};

	MUST(!setitimer(ITIMER_REAL, &value, NULL));
}

/*
 * Sends the signal again and again: on a busy machine the first one may come before the call. 0
 * stops the timer.
 */
static void timer_again(unsigned int ms)
{
	struct timeval time = { .tv_usec = ms * 1000 };
	struct itimerval value = { time, time };

	MUST(!setitimer(ITIMER_REAL, &value, NULL));
}

/* Logs whether a signal came. On a busy machine a signal that is due may still be on its way. */
static void log_caught(bool due)
{
	int tries;

	for (tries = 0; due && tries < 500 && !caught; tries++)
		sleep_ms(10);
	log_line("caught %d", !!caught);
}

static struct vgpu_mock_counters counters(int fd)
{
	struct vgpu_mock_counters now;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now));
	return now;
}

static void log_sleep(int fd, unsigned int cmd, __u32 ms, __u32 mode, __u32 on_signal_)
{
	struct vgpu_mock_sleep sleep = {
		.ms = ms, .mode = mode, .on_signal = on_signal_, .out_woken = 9,
	};

	LOG_CALL(ioctl(fd, cmd, &sleep));
	log_line("woken %u", sleep.out_woken);
}

DIFF_TEST_TWINS(sleeps_to_the_end)
{
	int fd = open_device(O_RDWR);
	__u64 start = now_ms();
	__u32 mode;

	for (mode = 0; mode <= VGPU_MOCK_SLEEP_UNINTERRUPTIBLE; mode++)
		log_sleep(fd, CMD(SLEEP), 200, mode, 0);
	CHECK(now_ms() - start >= 300 && now_ms() - start < 10000);
	log_sleep(fd, CMD(SLEEP), 0, 0, 0);
	log_sleep(fd, CMD(SLEEP), 100000, 0, 0);
}

static long own_ms(void)
{
	struct rusage usage;

	MUST(!getrusage(RUSAGE_THREAD, &usage));
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

#define POLL_US		"/sys/module/vgpu_guest/parameters/poll_us"

/* Sets how long the guest's module busy-polls for a reply. Without the module nothing is set. */
static void set_poll_us(const char *us)
{
	int fd = open(POLL_US, O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return;
	MUST(fd >= 0 && write(fd, us, strlen(us)) == (ssize_t)strlen(us));
	close(fd);
}

/* Short calls make the guest busy-poll for replies, but a long call sleeps. */
DIFF_TEST(costs_nothing)
{
	struct vgpu_mock_sleep sleep = { .ms = 600, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	int fd = open_device(O_RDWR);
	long before;
	int i;

	set_poll_us("10000");
	for (i = 0; i < 20; i++)
		MUST(!ioctl(fd, VGPU_MOCK_IOC_NOOP));
	before = own_ms();
	MUST(!ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep));
	LOG_CALL(own_ms() - before < 200);
	set_poll_us("500");
}

/* A handler without SA_RESTART ends a call, in each way in which drivers are interrupted. */
DIFF_TEST_TWINS(interrupted)
{
	int fd = open_device(O_RDWR);
	__u64 start = now_ms();
	__u32 how;

	for (how = 0; how <= VGPU_MOCK_SIGNAL_RESTARTBLOCK; how++) {
		if (how == VGPU_MOCK_SIGNAL_ERESTARTNOINTR)
			continue;
		log_line("how %u", how);
		catch(SIGALRM, 0);
		timer_again(150);
		log_sleep(fd, CMD(SLEEP), 20000, VGPU_MOCK_SLEEP_INTERRUPTIBLE, how);
		log_caught(true);
	}
	timer_again(0);
	/* All calls together took less time than a single complete sleep. */
	CHECK(now_ms() - start < 15000);
}

/* A call that is restarted ends when it has slept once without a signal. */
DIFF_TEST_TWINS(restarted)
{
	static const __u32 hows[] = {
		VGPU_MOCK_SIGNAL_ERESTARTSYS, VGPU_MOCK_SIGNAL_ERESTARTNOINTR,
		VGPU_MOCK_SIGNAL_EINTR, VGPU_MOCK_SIGNAL_ERESTARTNOHAND,
	};
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hows); i++) {
		log_line("how %u", hows[i]);
		catch(SIGALRM, SA_RESTART);
		if (i < 2) {
			timer(120);
			log_sleep(fd, CMD(SLEEP), 400, VGPU_MOCK_SLEEP_INTERRUPTIBLE, hows[i]);
			log_caught(true);
			continue;
		}
		timer_again(120);
		log_sleep(fd, CMD(SLEEP), 20000, VGPU_MOCK_SLEEP_INTERRUPTIBLE, hows[i]);
		timer_again(0);
		log_caught(true);
	}
}

/*
 * A signal does not interrupt a call if it is blocked or ignored, or if the driver ignores
 * signals.
 */
DIFF_TEST_TWINS(not_interrupted)
{
	int fd = open_device(O_RDWR);
	sigset_t set;

	signal(SIGALRM, SIG_IGN);
	timer(100);
	log_sleep(fd, CMD(SLEEP), 300, VGPU_MOCK_SLEEP_INTERRUPTIBLE, 0);
	log_caught(false);
	catch(SIGALRM, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	timer(100);
	log_sleep(fd, CMD(SLEEP), 300, VGPU_MOCK_SLEEP_INTERRUPTIBLE, 0);
	log_caught(false);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	log_caught(true);
	catch(SIGALRM, 0);
	timer(100);
	log_sleep(fd, CMD(SLEEP), 300, VGPU_MOCK_SLEEP_KILLABLE, 0);
	log_caught(true);
	catch(SIGALRM, 0);
	timer(100);
	log_sleep(fd, CMD(SLEEP), 300, VGPU_MOCK_SLEEP_UNINTERRUPTIBLE, 0);
	log_caught(true);
}

/* A signal is pending before the call. */
DIFF_TEST(pending_before)
{
	struct vgpu_mock_wait wait = { .slot = 1, .target = 1 };
	int fd = open_device(O_RDWR);
	sigset_t set, old;
	int i;

	catch(SIGUSR1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (i = 0; i < 20; i++) {
		sigprocmask(SIG_BLOCK, &set, &old);
		raise(SIGUSR1);
		sigprocmask(SIG_SETMASK, &old, NULL);
		/*
		 * The signal is delivered by now, and a call that does not wait is not
		 * disturbed.
		 */
		MUST(!ioctl(fd, VGPU_MOCK_IOC_NOOP));
	}
	log_line("caught %d", caught);
	catch(SIGALRM, 0);
	timer_again(100);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_WAIT, &wait));
	timer_again(0);
}

/* Many signals come while short calls run: none is lost, and no call fails. */
DIFF_TEST_TWINS(storm)
{
	struct itimerval value = { { 0, 1000 }, { 0, 1000 } };
	struct vgpu_mock_inout io = { 1, 2, 3 };
	int fd = open_device(O_RDWR);
	__u64 end = now_ms() + 10000;
	__u64 expected = 1;
	int i;

	catch(SIGALRM, SA_RESTART);
	MUST(!setitimer(ITIMER_REAL, &value, NULL));
	for (i = 0; i < 300 || (caught < 50 && now_ms() < end); i++) {
		expected = vgpu_mock_mix64(expected);
		MUST(!ioctl(fd, CMD(INOUT), &io));
		MUST(io.value == expected);
	}
	value = (struct itimerval) { };
	MUST(!setitimer(ITIMER_REAL, &value, NULL));
	CHECK(caught >= 50);
}

/* The process is stopped and continued in the middle of a call. */
DIFF_TEST_TWINS(stopped)
{
	int fd = open_device(O_RDWR);
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		log_sleep(fd, CMD(SLEEP), 3000, VGPU_MOCK_SLEEP_INTERRUPTIBLE,
			  VGPU_MOCK_SIGNAL_ERESTARTNOHAND);
		_exit(0);
	}
	sleep_ms(200);
	kill(pid, SIGSTOP);
	LOG_CALL(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	sleep_ms(100);
	kill(pid, SIGCONT);
	LOG_CALL(waitpid(pid, &status, 0) == pid && !status);
}

/* Checks how a blocked child ends, and that it ends soon. */
static void end_child(int fd, unsigned int cmd, __u32 mode, int signal_)
{
	struct vgpu_mock_counters before = counters(fd), after = before;
	struct vgpu_mock_sleep sleep = { .ms = 30000, .mode = mode };
	__u64 start = now_ms();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ioctl(fd, cmd, &sleep);
		_exit(7);
	}
	while (after.out_calls[_IOC_NR(cmd)] == before.out_calls[_IOC_NR(cmd)]) {
		MUST(now_ms() - start < 10000);
		sleep_ms(10);
		after = counters(fd);
	}
	sleep_ms(50);
	start = now_ms();
	kill(pid, signal_);
	LOG_CALL(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
	CHECK(now_ms() - start < 5000);
	/* The driver has stopped sleeping as well, long before the end of the sleep. */
	while (after.out_interrupted == before.out_interrupted && now_ms() - start < 10000) {
		sleep_ms(10);
		after = counters(fd);
	}
	CHECK(after.out_interrupted == before.out_interrupted + 1);
}

DIFF_TEST_TWINS(killed)
{
	int fd = open_device(O_RDWR);

	end_child(fd, CMD(SLEEP), VGPU_MOCK_SLEEP_INTERRUPTIBLE, SIGINT);
	end_child(fd, CMD(SLEEP), VGPU_MOCK_SLEEP_INTERRUPTIBLE, SIGTERM);
	end_child(fd, CMD(SLEEP), VGPU_MOCK_SLEEP_INTERRUPTIBLE, SIGKILL);
	end_child(fd, CMD(SLEEP), VGPU_MOCK_SLEEP_KILLABLE, SIGKILL);
	end_child(fd, CMD(SLEEP), VGPU_MOCK_SLEEP_KILLABLE, SIGINT);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
}

/* The driver cannot be interrupted: natively the process stays until the driver has returned. */
DIFF_TEST(killed_uninterruptible)
{
	struct vgpu_mock_sleep sleep = { .ms = 5000, .mode = VGPU_MOCK_SLEEP_UNINTERRUPTIBLE };
	int fd = open_device(O_RDWR);
	__u64 start = now_ms();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
		_exit(7);
	}
	sleep_ms(300);
	kill(pid, SIGKILL);
	LOG_CALL(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	CHECK(now_ms() - start < 15000);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_NOOP));
}

static void *wait_forever(void *argument)
{
	struct vgpu_mock_wait wait = { .slot = 3, .target = 1 };

	ioctl(*(int *)argument, VGPU_MOCK_IOC_WAIT, &wait);
	return NULL;
}

/* A process is killed while all its threads are in calls. */
DIFF_TEST(killed_with_threads)
{
	struct vgpu_mock_counters before, after;
	struct vgpu_mock_wait probe = { .slot = 3 };
	int fd = open_device(O_RDWR);
	pthread_t thread;
	int status, i;
	pid_t pid;

	before = counters(fd);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		for (i = 0; i < 8; i++)
			MUST(!pthread_create(&thread, NULL, wait_forever, &fd));
		pause();
		_exit(0);
	}
	for (i = 0; i < 500; i++) {
		MUST(!ioctl(fd, VGPU_MOCK_IOC_WAKE, &probe));
		if (probe.out_waiters == 8)
			break;
		sleep_ms(10);
	}
	CHECK(probe.out_waiters == 8);
	kill(pid, SIGKILL);
	LOG_CALL(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	for (i = 0; i < 500; i++) {
		MUST(!ioctl(fd, VGPU_MOCK_IOC_WAKE, &probe));
		if (!probe.out_waiters)
			break;
		sleep_ms(10);
	}
	CHECK(!probe.out_waiters);
	after = counters(fd);
	/* Files of earlier tests may be released meanwhile. */
	CHECK(after.out_files <= before.out_files);
}

/* A process exits while another one of its threads is in a call. */
DIFF_TEST(exit_while_blocked)
{
	int fd = open_device(O_RDWR);
	pthread_t thread;
	__u64 start;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		MUST(!pthread_create(&thread, NULL, wait_forever, &fd));
		sleep_ms(200);
		_exit(3);
	}
	start = now_ms();
	LOG_CALL(waitpid(pid, &status, 0) == pid);
	log_line("status %x", status);
	CHECK(now_ms() - start < 5000);
}

/* Blocked reads are interrupted like ioctls. */
DIFF_TEST(interrupted_read)
{
	struct vgpu_mock_io io = { .mode = VGPU_MOCK_IO_QUEUE };
	int fd = open_device(O_RDWR);
	char data[16];

	MUST(!ioctl(fd, VGPU_MOCK_IOC_IO_MODE, &io));
	catch(SIGALRM, 0);
	timer_again(200);
	LOG_CALL(read(fd, data, 16));
	timer_again(0);
	log_caught(true);
	LOG_CALL(write(fd, "abc", 3));
	LOG_CALL(read(fd, data, 16));
}

TEST_HARNESS_MAIN
