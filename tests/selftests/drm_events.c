// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of a DRM file are read in the ways of different programs: one event or several in a
 * read(), or beside other readers of the file. When forwarded, all queued events come in one
 * call.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "drm_screen.h"

#define MANY	120
#define TAG	0x5eed0000

static struct screen screen;

static void screen_on(void)
{
	drm_node = "VKMS_CARD";
	screen.fd = open_device(O_RDWR);
	screen_make(&screen, 0x203040);
	MUST(!screen_show(&screen));
}

/* Queues @nr events for one frame, soon from now. */
static void queue_events(unsigned int nr)
{
	struct drm_crtc_get_sequence now = { .crtc_id = screen.crtc };
	unsigned int i;

	MUST(!ioctl(screen.fd, DRM_IOCTL_CRTC_GET_SEQUENCE, &now));
	for (i = 0; i < nr; i++) {
		/* An event for a past frame would come at once. */
		struct drm_crtc_queue_sequence queue = {
			.crtc_id = screen.crtc, .sequence = now.sequence + nr / 2 + 20,
			.user_data = TAG + i,
		};

		MUST(!ioctl(screen.fd, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, &queue));
	}
}

/* Returns true if the file is readable within @ms. */
static bool is_ready(int ms)
{
	struct pollfd pollfd = { .fd = screen.fd, .events = POLLIN };

	return poll(&pollfd, 1, ms) == 1 && pollfd.revents == POLLIN;
}

/* Waits until all of @nr events can be read: events of one frame are queued under one lock. */
static void await_events(unsigned int nr)
{
	queue_events(nr);
	MUST(is_ready(30000));
}

static void log_events(const struct drm_event_crtc_sequence *events, ssize_t len)
{
	ssize_t i;

	for (i = 0; i < len / (ssize_t)sizeof(*events); i++)
		log_line("  event of type %u, %u bytes: %llx", events[i].base.type,
			 events[i].base.length, (unsigned long long)events[i].user_data);
}

static ssize_t read_events(unsigned int room)
{
	struct drm_event_crtc_sequence events[8];
	ssize_t len = read(screen.fd, events, room);
	int error = len < 0 ? errno : 0;

	log_line("read %u: %zd %s", room, len, error ? strerrorname_np(error) : "");
	log_events(events, len);
	return len;
}

#define ONE	sizeof(struct drm_event_crtc_sequence)

/* Programs like IGT's kms_sequence read one event at a time. */
DIFF_TEST_NODE(one_a_read, "VKMS_CARD", DIFF_SECONDS)
{
	struct drm_event_crtc_sequence event;
	long long trips = 0;
	unsigned int i;

	screen_on();
	await_events(MANY);
	if (forwarded)
		trips = drm_counter("round_trips");
	for (i = 0; i < MANY; i++) {
		MUST(is_ready(0));
		MUST(read(screen.fd, &event, sizeof(event)) == sizeof(event));
		CHECK(event.base.type == DRM_EVENT_CRTC_SEQUENCE && event.user_data == TAG + i);
	}
	if (forwarded) {
		trips = drm_counter("round_trips") - trips;
		/*
		 * The guest makes one round trip, and another if a poll's answer was not known
		 * yet.
		 */
		if (!CHECK(trips <= 3))
			log_line("%lld round trips", trips);
	}
	CHECK(!is_ready(0));
	close(screen.fd);
}

/* A read() gets as many whole events as fit into its buffer. The others stay. */
DIFF_TEST_NODE(room, "VKMS_CARD", DIFF_SECONDS)
{
	void *volatile nowhere = (void *)16;
	unsigned int i;

	screen_on();
	await_events(8);
	for (i = 0; i < 2; i++) {
		read_events(0);
		read_events(8);
		read_events(ONE - 1);
		log_line("ready: %d", is_ready(0));
		LOG_CALL(read(screen.fd, nowhere, ONE));
		log_line("ready: %d", is_ready(0));
		read_events(ONE + 8);
	}
	read_events(3 * ONE);
	read_events(8 * ONE);
	log_line("ready: %d", is_ready(0));
	MUST(!fcntl(screen.fd, F_SETFL, O_RDWR | O_NONBLOCK));
	read_events(ONE);
	read_events(0);
	await_events(3);
	read_events(ONE);
	read_events(ONE);
	log_line("ready: %d", is_ready(0));
	/* New events are queued behind those that are left. */
	queue_events(2);
	log_line("ready: %d", is_ready(0));
	read_events(ONE);
	MUST(is_ready(30000));
	read_events(ONE);
	read_events(ONE);
	read_events(ONE);
	close(screen.fd);
}

/* Reads stop at the first event that does not fit into the memory before the end of a mapping. */
DIFF_TEST_NODE(bad_buffer, "VKMS_CARD", DIFF_SECONDS)
{
	char *page = alloc_pages(1);

	screen_on();
	await_events(4);
	/* The memory has room for one event and a half. */
	LOG_CALL(read(screen.fd, page + sysconf(_SC_PAGESIZE) - ONE - ONE / 2, 3 * ONE));
	LOG_CALL(read(screen.fd, page + sysconf(_SC_PAGESIZE) - ONE / 2, 3 * ONE));
	read_events(8 * ONE);
	log_line("ready: %d", is_ready(0));
	close(screen.fd);
}

/* Level- and edge-triggered epoll notice events, also if some were left. */
DIFF_TEST_NODE(epoll, "VKMS_CARD", DIFF_SECONDS)
{
	struct epoll_event level = { .events = EPOLLIN }, edge = { .events = EPOLLIN | EPOLLET };
	int levels = epoll_create1(0), edges = epoll_create1(0);
	struct epoll_event got;

	screen_on();
	MUST(!epoll_ctl(levels, EPOLL_CTL_ADD, screen.fd, &level));
	MUST(!epoll_ctl(edges, EPOLL_CTL_ADD, screen.fd, &edge));
	queue_events(3);
	LOG_CALL(epoll_wait(edges, &got, 1, 30000));
	LOG_CALL(epoll_wait(levels, &got, 1, 30000));
	read_events(ONE);
	LOG_CALL(epoll_wait(levels, &got, 1, 0));
	read_events(ONE);
	read_events(ONE);
	LOG_CALL(epoll_wait(levels, &got, 1, 0));
	queue_events(1);
	LOG_CALL(epoll_wait(edges, &got, 1, 30000));
	read_events(ONE);
	close(screen.fd);
}

#define READERS	4

static void *reader(void *data)
{
	struct drm_event_crtc_sequence event;

	if (read(screen.fd, &event, sizeof(event)) == sizeof(event))
		return (void *)(uintptr_t)event.user_data;
	return NULL;
}

/*
 * Each of several waiting readers gets one event, in any order, and none sleeps while an event
 * is left.
 */
DIFF_TEST_NODE(readers, "VKMS_CARD", DIFF_SECONDS)
{
	pthread_t threads[READERS];
	unsigned int i, round, seen;
	void *tag;

	screen_on();
	for (round = 0; round < 2; round++) {
		seen = 0;
		for (i = 0; i < READERS; i++)
			MUST(!pthread_create(&threads[i], NULL, reader, NULL));
		/* The readers may come after the events in the second round. */
		if (!round)
			sleep_ms(100);
		queue_events(READERS);
		for (i = 0; i < READERS; i++) {
			pthread_join(threads[i], &tag);
			if (CHECK((uintptr_t)tag >= TAG && (uintptr_t)tag < TAG + READERS))
				seen |= 1 << ((uintptr_t)tag - TAG);
		}
		log_line("seen %x", seen);
	}
	log_line("ready: %d", is_ready(0));
	close(screen.fd);
}

static void on_alarm(int signo)
{
}

/* A reader that is interrupted does not block others, and a child reads what its parent left. */
DIFF_TEST_NODE(turns, "VKMS_CARD", DIFF_SECONDS)
{
	struct sigaction action = { .sa_handler = on_alarm };
	pthread_t thread;
	int status;
	void *tag;
	pid_t pid;

	screen_on();
	MUST(!sigaction(SIGUSR1, &action, NULL));
	MUST(!pthread_create(&thread, NULL, reader, NULL));
	sleep_ms(50);
	pid = fork();
	if (!pid) {
		/* The child's first read waits behind the thread's. */
		read_events(ONE);
		read_events(ONE);
		_exit(0);
	}
	sleep_ms(50);
	/* A nonblocking read does not wait for the blocking ones. */
	MUST(!fcntl(screen.fd, F_SETFL, O_RDWR | O_NONBLOCK));
	read_events(ONE);
	MUST(!fcntl(screen.fd, F_SETFL, O_RDWR));
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, &tag);
	log_line("interrupted: %d", !tag);
	queue_events(4);
	MUST(waitpid(pid, &status, 0) == pid && !status);
	read_events(ONE);
	pid = fork();
	if (!pid) {
		read_events(ONE);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && !status);
	log_line("ready: %d", is_ready(0));
	close(screen.fd);
}

TEST_HARNESS_MAIN
