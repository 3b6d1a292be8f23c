// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test poll, select and epoll.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "vgpu_diff.h"

static void arm(int fd, __u32 events, __u32 delay_ms, __u32 flags)
{
	struct vgpu_mock_poll argument = {
		.events = events, .delay_ms = delay_ms, .flags = flags,
	};

	MUST(!ioctl(fd, VGPU_MOCK_IOC_POLL_ARM, &argument));
}

static void log_poll(int fd, short events, int timeout)
{
	struct pollfd pollfd = { .fd = fd, .events = events };
	int ret = poll(&pollfd, 1, timeout);

	log_line("poll %x, %d ms: %d, %x", events, timeout, ret, pollfd.revents);
}

static __u64 polls(int fd)
{
	struct vgpu_mock_counters counters;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters));
	return counters.out_polls;
}

DIFF_TEST(ready_at_once)
{
	static const __u32 masks[] = {
		0, EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT, EPOLLPRI, EPOLLERR, EPOLLHUP,
		EPOLLIN | EPOLLRDNORM, EPOLLOUT | EPOLLWRNORM, EPOLLIN | EPOLLERR | EPOLLHUP,
	};
	int fd = open_device(O_RDWR);
	unsigned int i;

	log_poll(fd, POLLIN | POLLOUT, 0);
	log_poll(fd, POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLWRNORM, 0);
	log_poll(fd, POLLPRI, 0);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		arm(fd, masks[i], 0, 0);
		log_line("mask %x", masks[i]);
		log_poll(fd, POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLWRNORM, 0);
		log_poll(fd, POLLIN, 0);
		log_poll(fd, POLLOUT, 0);
		log_poll(fd, 0, 0);
	}
}

DIFF_TEST_LIMIT(ready_later, 40)
{
	int fd = open_device(O_RDWR);
	__u64 start;

	arm(fd, 0, 0, 0);
	log_poll(fd, POLLIN, 0);
	log_poll(fd, POLLIN, 50);
	start = now_ms();
	arm(fd, EPOLLIN, 400, 0);
	log_poll(fd, POLLIN, 15000);
	CHECK(now_ms() - start >= 200 && now_ms() - start < 10000);
	log_poll(fd, POLLIN, 0);
	/* The file is not ready again. */
	arm(fd, 0, 0, 0);
	log_poll(fd, POLLIN, 100);
	arm(fd, EPOLLIN, 200, 0);
	log_poll(fd, POLLOUT, 500);
	log_poll(fd, POLLIN, 10000);
}

/* A poll that finds the file ready makes it not ready. */
DIFF_TEST(consumed)
{
	int fd = open_device(O_RDWR);

	arm(fd, 0, 0, 0);
	log_poll(fd, POLLIN, 0);
	arm(fd, EPOLLIN, 0, VGPU_MOCK_POLL_CONSUME);
	log_poll(fd, POLLIN, 1000);
	log_poll(fd, POLLIN, 100);
	arm(fd, EPOLLIN, 200, VGPU_MOCK_POLL_CONSUME);
	log_poll(fd, POLLIN, 5000);
	log_poll(fd, POLLIN, 100);
}

/* An event that a poll did not ask for stays for a poll that does. */
DIFF_TEST(not_asked_for)
{
	int fd = open_device(O_RDWR);

	arm(fd, EPOLLIN, 0, VGPU_MOCK_POLL_CONSUME);
	log_poll(fd, POLLPRI, 0);
	log_poll(fd, POLLPRI, 50);
	log_poll(fd, 0, 0);
	log_poll(fd, POLLIN | POLLPRI, 0);
	log_poll(fd, POLLIN, 0);
}

/*
 * A poll that asks for another event, and finds it, does not lose the event that an earlier poll
 * asked for.
 */
DIFF_TEST_LIMIT(asked_for_in_turns, 40)
{
	int fd = open_device(O_RDWR);

	arm(fd, EPOLLOUT, 0, 0);
	arm(fd, EPOLLIN, 5000, 0);
	log_poll(fd, POLLIN, 0);
	log_poll(fd, POLLOUT, 0);
	log_poll(fd, POLLIN, 15000);
}

/* Waits without a limit: at the end of a time limit poll would ask the driver once more. */
static void *await_in(void *arg)
{
	log_poll(*(int *)arg, POLLIN, -1);
	return NULL;
}

/* A thread that waits for an event is woken by it, while other polls ask for other events. */
DIFF_TEST(waiting_for_different_events)
{
	int fd = open_device(O_RDWR);
	pthread_t thread;
	unsigned int i;
	__u64 before;

	arm(fd, 0, 0, 0);
	before = polls(fd);
	MUST(!pthread_create(&thread, NULL, await_in, &fd));
	while (polls(fd) == before)
		usleep(1000);
	for (i = 0; i < 20; i++) {
		struct pollfd pollfd = { .fd = fd, .events = i & 1 ? POLLPRI : POLLOUT };

		CHECK(!poll(&pollfd, 1, i % 3));
	}
	arm(fd, EPOLLIN, 0, 0);
	MUST(!pthread_join(thread, NULL));
	log_poll(fd, POLLIN | POLLPRI, 0);
}

/*
 * The thread is woken by its event although a wakeup for another event came before: the epoll
 * instance that waits for the other event does not poll again.
 */
DIFF_TEST(woken_for_another_event)
{
	struct epoll_event event = { .events = EPOLLOUT };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int fd = open_device(O_RDWR);
	pthread_t thread;
	__u64 before;

	arm(fd, 0, 0, 0);
	MUST(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	before = polls(fd);
	MUST(!pthread_create(&thread, NULL, await_in, &fd));
	while (polls(fd) == before)
		usleep(1000);
	arm(fd, EPOLLOUT, 0, 0);
	arm(fd, EPOLLIN, 300, 0);
	MUST(!pthread_join(thread, NULL));
	log_poll(fd, POLLIN | POLLOUT, 0);
}

static void *poll_out(void *arg)
{
	struct pollfd pollfd = { .fd = *(int *)arg, .events = POLLOUT };

	/* The next ioctl makes the guest forget the result of a poll, so each poll is forwarded. */
	while (!poll(&pollfd, 1, 0))
		polls(pollfd.fd);
	return NULL;
}

/* The thread is woken while other polls are under way. */
DIFF_TEST(woken_while_others_poll)
{
	int fd = open_device(O_RDWR);
	pthread_t waiter, other;
	int i, times = diff_times(100) / 3;

	arm(fd, 0, 0, 0);
	MUST(!pthread_create(&other, NULL, poll_out, &fd));
	for (i = 0; i < times; i++) {
		__u64 before = polls(fd);

		MUST(!pthread_create(&waiter, NULL, await_in, &fd));
		while (polls(fd) - before < 3)
			usleep(100);
		arm(fd, EPOLLIN, 1, 0);
		MUST(!pthread_join(waiter, NULL));
		arm(fd, 0, 0, 0);
	}
	arm(fd, EPOLLOUT, 0, 0);
	MUST(!pthread_join(other, NULL));
}

DIFF_TEST(select)
{
	struct timeval timeout = { 5, 0 };
	int fd = open_device(O_RDWR);
	fd_set in, out;

	arm(fd, 0, 0, 0);
	arm(fd, EPOLLOUT | EPOLLWRNORM, 200, 0);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	LOG_CALL(select(fd + 1, &in, &out, NULL, &timeout));
	log_line("in %d, out %d", FD_ISSET(fd, &in), FD_ISSET(fd, &out));
}

static int epoll_with(int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.u32 = 7 };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	MUST(epoll >= 0);
	LOG_CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

static void log_epoll(int epoll, int timeout)
{
	struct epoll_event event = { };
	int ret = epoll_wait(epoll, &event, 1, timeout);

	log_line("epoll: %d, %x, data %u", ret, event.events, event.data.u32);
}

DIFF_TEST(epoll_level)
{
	int fd = open_device(O_RDWR);
	int epoll;

	arm(fd, 0, 0, 0);
	epoll = epoll_with(fd, EPOLLIN);
	log_epoll(epoll, 50);
	arm(fd, EPOLLIN, 300, 0);
	log_epoll(epoll, 5000);
	log_epoll(epoll, 0);
	arm(fd, 0, 0, 0);
	log_epoll(epoll, 100);
	arm(fd, EPOLLIN | EPOLLPRI | EPOLLERR, 0, 0);
	log_epoll(epoll, 10000);
}

DIFF_TEST(epoll_edge)
{
	int fd = open_device(O_RDWR);
	int epoll;

	arm(fd, 0, 0, 0);
	epoll = epoll_with(fd, EPOLLIN | EPOLLET);
	arm(fd, EPOLLIN, 200, 0);
	log_epoll(epoll, 5000);
	log_epoll(epoll, 100);
	arm(fd, EPOLLIN, 200, 0);
	log_epoll(epoll, 5000);
	log_epoll(epoll, 100);
}

/* Two events, of which the poll that reports one clears it, do not become an event that stays. */
DIFF_TEST_LIMIT(consumed_beside_epoll, 60)
{
	int fd = open_device(O_RDWR);
	int i;

	arm(fd, 0, 0, 0);
	/* This epoll instance waits, and is never asked for its events. */
	epoll_with(fd, EPOLLIN);
	for (i = 0; i < 4; i++) {
		arm(fd, EPOLLIN, 0, VGPU_MOCK_POLL_CONSUME);
		arm(fd, EPOLLIN, 0, VGPU_MOCK_POLL_CONSUME);
		log_poll(fd, POLLIN, 0);
		log_poll(fd, POLLIN, 0);
		arm(fd, EPOLLIN, 200, VGPU_MOCK_POLL_CONSUME);
		log_poll(fd, POLLIN, 5000);
	}
}

DIFF_TEST(epoll_oneshot)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = 8 };
	int fd = open_device(O_RDWR);
	int epoll = epoll_with(fd, EPOLLIN | EPOLLONESHOT);

	log_epoll(epoll, 1000);
	log_epoll(epoll, 50);
	LOG_CALL(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event));
	log_epoll(epoll, 1000);
}

DIFF_TEST(epoll_ended_by_close)
{
	int fd = open_device(O_RDWR);
	int epoll = epoll_with(fd, EPOLLIN);

	log_epoll(epoll, 1000);
	close(fd);
	log_epoll(epoll, 50);
	fd = open_device(O_RDWR);
	log_poll(fd, POLLIN, 0);
}

/* Waiting needs no messages: the driver is asked only when an event may be there. */
DIFF_TEST_LIMIT(waiting_is_idle, 40)
{
	int fd = open_device(O_RDWR);
	long long trips;
	int epoll;
	__u64 before;

	arm(fd, 0, 0, 0);
	epoll = epoll_with(fd, EPOLLIN);
	log_epoll(epoll, 100);
	before = polls(fd);
	arm(fd, EPOLLIN, 6000, 0);
	trips = forward_counter(fd, "round_trips");
	log_epoll(epoll, 1500);
	if (forwarded)
		CHECK(forward_counter(fd, "round_trips") == trips);
	CHECK(polls(fd) - before <= 1);
	log_epoll(epoll, 15000);
	/*
	 * A user-space engine uses poll(2), which asks the driver when it begins and when it is
	 * woken.
	 */
	CHECK(polls(fd) - before <= (diff_user_engine() ? 6 : 4));
}

/*
 * Polling several files that are not ready needs no messages either. Other programs of the
 * machine make calls now and then, and a poll after such a call is forwarded.
 */
DIFF_TEST_LIMIT(looking_is_idle, 60)
{
	struct pollfd files[3];
	long long trips;
	int i;

	for (i = 0; i < 3; i++) {
		files[i].fd = open_device(O_RDWR);
		files[i].events = POLLIN;
		arm(files[i].fd, 0, 0, 0);
	}
	for (i = 0; i < 5000; i++) {
		trips = forward_counter(files[0].fd, "round_trips");
		CHECK(!poll(files, 3, 0));
		if (!forwarded || forward_counter(files[0].fd, "round_trips") == trips)
			break;
	}
	CHECK(i < 5000);
}

/* Another process fills a queue. */
DIFF_TEST(queue)
{
	struct vgpu_mock_io io = { .mode = VGPU_MOCK_IO_QUEUE };
	int fd = open_device(O_RDWR);
	char data[5000] = "";
	int status;
	int i;

	MUST(!ioctl(fd, VGPU_MOCK_IOC_IO_MODE, &io));
	log_poll(fd, POLLIN | POLLOUT, 0);
	for (i = 0; i < 3; i++) {
		fflush(NULL);
		if (!fork()) {
			sleep_ms(200);
			_exit(write(fd, "event", 6) != 6);
		}
		log_poll(fd, POLLIN, 5000);
		LOG_CALL(read(fd, data, 100));
		log_poll(fd, POLLIN, 0);
		LOG_CALL(wait(&status) > 0 && !status);
	}
	LOG_CALL(fcntl(fd, F_SETFL, O_NONBLOCK));
	LOG_CALL(write(fd, data, 5000));
	log_poll(fd, POLLIN | POLLOUT, 0);
	LOG_CALL(read(fd, data, 1));
	log_poll(fd, POLLIN | POLLOUT, 100);
}

static volatile sig_atomic_t signals;
static volatile int signal_fd, signal_code;
static volatile long signal_band;

static void on_sigio(int number, siginfo_t *info, void *context)
{
	signals++;
	signal_fd = info->si_fd;
	signal_code = info->si_code;
	signal_band = info->si_band;
}

/* Logs the signals that come within @ms, or returns as soon as there is one if @until is set. */
static void log_signals(int fd, unsigned int ms, bool until)
{
	__u64 end = now_ms() + ms;

	while (now_ms() < end && (!until || !signals))
		usleep(5000);
	log_line("signals %d, the fd's %d, code %d, band %lx", signals,
		 signals && signal_fd == fd, signals ? signal_code : 0, signals ? signal_band : 0);
	signals = 0;
}

DIFF_TEST(sigio)
{
	struct sigaction action = { .sa_sigaction = on_sigio, .sa_flags = SA_SIGINFO };
	int fd = open_device(O_RDWR);
	int number, on = 1, i;

	number = SIGRTMIN + 1;
	MUST(!sigaction(SIGIO, &action, NULL) && !sigaction(number, &action, NULL));
	arm(fd, 0, 0, 0);
	LOG_CALL(fcntl(fd, F_SETOWN, getpid()));
	LOG_CALL(fcntl(fd, F_SETSIG, number));
	LOG_CALL(fcntl(fd, F_SETFL, O_ASYNC));
	log_line("flags %o", fcntl(fd, F_GETFL) & O_ASYNC);
	log_signals(fd, 50, false);
	/* A signal comes each time, whether a poll asks for events meanwhile or not. */
	for (i = 0; i < 3; i++) {
		arm(fd, EPOLLIN, 200, 0);
		log_signals(fd, 5000, true);
	}
	log_poll(fd, POLLIN, 0);
	arm(fd, EPOLLIN, 100, 0);
	log_signals(fd, 5000, true);
	LOG_CALL(fcntl(fd, F_SETFL, 0));
	arm(fd, EPOLLIN, 0, 0);
	log_signals(fd, 200, false);
	LOG_CALL(ioctl(fd, FIOASYNC, &on));
	arm(fd, EPOLLIN, 100, 0);
	log_signals(fd, 5000, true);
	close(fd);
	log_signals(-1, 50, false);
}

/* A process wants SIGIO, so waiters get each wakeup of the driver: some have no event. */
DIFF_TEST(sigio_beside_epoll)
{
	int fd = open_device(O_RDWR);
	int epoll, i;

	signal(SIGIO, SIG_IGN);
	arm(fd, 0, 0, 0);
	LOG_CALL(fcntl(fd, F_SETOWN, getpid()));
	LOG_CALL(fcntl(fd, F_SETFL, O_ASYNC));
	epoll = epoll_with(fd, EPOLLIN);
	for (i = 0; i < 3; i++) {
		log_epoll(epoll, 20);
		arm(fd, 0, 0, 0);
		log_epoll(epoll, 20);
		arm(fd, EPOLLIN, 50, 0);
		log_epoll(epoll, 5000);
		arm(fd, 0, 0, 0);
	}
}

DIFF_TEST_NODE(without_poll, "STREAM", DIFF_SECONDS)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);
	int fd = open_device(O_RDWR);

	log_poll(fd, POLLIN | POLLOUT | POLLPRI, 0);
	log_poll(fd, POLLPRI, 50);
	LOG_CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

TEST_HARNESS_MAIN
