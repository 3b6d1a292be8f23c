// SPDX-License-Identifier: MIT
/* The event loop: epoll for files, and a sorted list of timers. */
#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "shared/loop.h"

/* Time in milliseconds for which a socket accepts nothing when there is no room for a file. */
#define FULL_MS	200

static int epoll_fd = -1;
static bool stopped;
/* Number of functions of sources and timers that were called. */
static uint64_t calls;
/* List of the timers that are set, sorted by deadline. Nearly all timers belong to handshakes. */
static TAILQ_HEAD(, timer) timers = TAILQ_HEAD_INITIALIZER(timers);

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

int loop_init(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

void loop_stop(void)
{
	stopped = true;
}

static int next_timeout(void)
{
	struct timer *first = TAILQ_FIRST(&timers);
	uint64_t now = now_ms();

	if (!first)
		return -1;
	if (first->deadline_ms <= now)
		return 0;
	return first->deadline_ms - now > INT_MAX ? INT_MAX : (int)(first->deadline_ms - now);
}

static void run_timers(void)
{
	struct timer *timer;

	while ((timer = TAILQ_FIRST(&timers)) && timer->deadline_ms <= now_ms()) {
		timer_cancel(timer);
		calls++;
		timer->expired(timer);
	}
}

int loop_run(void)
{
	/*
	 * Each turn handles one event, because a callback may free the source of another event.
	 * epoll by itself takes turns among ready files.
	 */
	struct epoll_event event;
	struct source *source;
	int nr;

	while (!stopped) {
		nr = epoll_wait(epoll_fd, &event, 1, next_timeout());
		if (nr < 0 && errno != EINTR)
			return -errno;
		if (nr > 0) {
			source = event.data.ptr;
			calls++;
			source->ready(source, event.events);
		}
		run_timers();
	}
	return 0;
}

uint64_t loop_call(void)
{
	return calls;
}

int source_add(struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
}

int source_set(struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, source->fd, &event) ? -errno : 0;
}

void source_del(struct source *source)
{
	if (source->fd >= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

int source_accept(struct source *source, struct timer *full, struct sockaddr *addr, socklen_t *len,
		  int flags)
{
	int fd = accept4(source->fd, addr, len, flags);
	int error = errno;

	if (fd >= 0 || (error != EMFILE && error != ENFILE && error != ENOMEM && error != ENOBUFS))
		return fd;
	source_set(source, 0);
	timer_set(full, FULL_MS);
	errno = error;
	return -1;
}

void source_close(struct source *source)
{
	if (source->fd < 0)
		return;
	/*
	 * A forked child may still have a copy of the file until its exec, so remove it
	 * explicitly.
	 */
	source_del(source);
	close(source->fd);
	source->fd = -1;
}

void timer_set(struct timer *timer, unsigned int ms)
{
	struct timer *pos;

	timer_cancel(timer);
	timer->deadline_ms = now_ms() + ms;
	timer->set = true;
	TAILQ_FOREACH(pos, &timers, node) {
		if (pos->deadline_ms > timer->deadline_ms) {
			TAILQ_INSERT_BEFORE(pos, timer, node);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&timers, timer, node);
}

void timer_cancel(struct timer *timer)
{
	if (!timer->set)
		return;
	TAILQ_REMOVE(&timers, timer, node);
	timer->set = false;
}
