// SPDX-License-Identifier: MIT
/*
 * Readiness of objects. The poller is a thread that sits in poll() for the events that the guest
 * waits for. The guest is notified once of each event.
 *
 * epoll would be simpler, but it asks the driver twice, and the poll operation of some drivers
 * consumes what it reports. The poller's own poll() consumes events as well. So events that the
 * poller has seen are cached, and answer the guest's next POLL call if the driver reports nothing
 * any more. Nothing is cached for DRM, V4L2, fences and dma-bufs, whose poll operations consume
 * nothing (drm_poll(), vb2_core_poll(), sync_file_poll(), dma_buf_poll()). A driver that reports
 * the same event twice may still consume: it may be two events.
 *
 * V4L2's poll has another side effect: it starts reading from a node without buffers, and such a
 * node gives no program buffers (vb2_core_poll(), vb2_verify_memory_type()). So before buffers go,
 * the poller stops asking the driver until the guest polls: see poller_quiet().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/object/object.h"
#include "engine/object/poller.h"
#include "engine/object/wakeup.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Events that poll() reports without being asked. */
#define POLL_ALWAYS	(POLLERR | POLLHUP)
/* Major number of all DRM devices, which no header for programs defines. */
#define DRM_MAJOR	226

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t looked = PTHREAD_COND_INITIALIZER;
static LIST_HEAD(, object) polled = LIST_HEAD_INITIALIZER(polled);
static uint64_t rounds;
static bool polling;
static int kick_fd;

static void kick(void)
{
	const uint64_t one = 1;

	if (write(kick_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

/*
 * End the engine, which has no memory for the events of its files: a program would wait for them in
 * vain. The other thread may run meanwhile, so no handlers of exit() do.
 */
static void __attribute__((noreturn)) poller_end(void)
{
	_exit(EXIT_FAILURE);
}

static void woken(struct object *object, uint32_t revents)
{
	revents &= object->poll.events | POLL_ALWAYS;
	if (!revents || !object->poll.events)
		return;
	if (!object->poll.level)
		object->poll.cached |= revents;
	object->poll.events &= ~revents;
	/* Other events of an object with POLLERR or POLLHUP are not waited for. */
	if (revents & POLL_ALWAYS)
		object->poll.events = 0;
	if (!(object->poll.events & ~POLL_ALWAYS))
		object->poll.events = 0;
	wakeup_tell(object, revents);
}

static size_t poll_fill(struct pollfd **polls, struct object ***objects, size_t *room)
{
	struct object *object, *next;
	size_t nr = 1;

	(*polls)[0] = (struct pollfd) { .fd = kick_fd, .events = POLLIN };
	LIST_FOREACH_SAFE(object, &polled, poll.node, next) {
		if (!object->poll.events) {
			LIST_REMOVE(object, poll.node);
			object->poll.listed = false;
			continue;
		}
		if (nr == *room) {
			*room *= 2;
			*polls = reallocarray(*polls, *room, sizeof(**polls));
			*objects = reallocarray(*objects, *room, sizeof(**objects));
			if (!*polls || !*objects)
				poller_end();
		}
		(*polls)[nr] = (struct pollfd) {
			.fd = object->fd,
			.events = object->poll.events,
		};
		(*objects)[nr++] = object;
	}
	return nr;
}

static void *poller_main(void *arg)
{
	size_t room = 64, nr, i;
	struct pollfd *polls = calloc(room, sizeof(*polls));
	struct object **objects = calloc(room, sizeof(*objects)), *object;
	uint64_t value;

	if (!polls || !objects)
		poller_end();
	pthread_mutex_lock(&lock);
	for (;;) {
		nr = poll_fill(&polls, &objects, &room);
		polling = true;
		pthread_mutex_unlock(&lock);
		poll(polls, nr, -1);
		pthread_mutex_lock(&lock);
		polling = false;
		for (i = 1; i < nr; i++) {
			if (!polls[i].revents)
				continue;
			/* The object may have been closed meanwhile. */
			LIST_FOREACH(object, &polled, poll.node)
				if (object == objects[i] && object->fd == polls[i].fd)
					woken(object, polls[i].revents);
		}
		if (polls[0].revents && read(kick_fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
			abort();
		rounds++;
		pthread_cond_broadcast(&looked);
	}
	return arg;
}

/* --- edges ------------------------------------------------------------------------ */

/*
 * Waiters for edges want to be notified of the next wakeup of an object that is ready and stays
 * ready. poll() would return at once. epoll reports wakeups, but asks the driver at each step.
 * Nothing is lost by that while a POLL call is answered, as the answer reports the same events.
 * Later events are cached if the driver's poll may consume them.
 */
#define EDGE_TURNS	64

static int edge_fd = -1;
static LIST_HEAD(, object) edged = LIST_HEAD_INITIALIZER(edged);

static void edge_woken(struct object *object, uint32_t revents)
{
	revents &= object->poll.edges;
	object->poll.edges = 0;
	if (!revents)
		return;
	pthread_mutex_lock(&lock);
	if (!object->poll.level)
		object->poll.cached |= revents;
	wakeup_tell(object, revents);
	pthread_mutex_unlock(&lock);
}

/*
 * Take the edges that epoll has. @but: object for which an edge is no wakeup. Return: true if
 * there were any.
 */
static bool edges_take(const struct object *but)
{
	struct epoll_event events[16];
	struct object *object;
	unsigned int turns;
	bool any = false;
	int nr, i;

	/* Bounded: a driver's poll may wake its waiters, and so cause the next edge. */
	for (turns = 0; turns < EDGE_TURNS; turns++) {
		nr = epoll_wait(edge_fd, events, sizeof(events) / sizeof(events[0]), 0);
		if (nr <= 0)
			break;
		for (i = 0; i < nr; i++) {
			object = object_find(events[i].data.u32);
			any = true;
			if (object && object != but)
				edge_woken(object, events[i].events);
		}
	}
	return any;
}

static void edge_ready(struct source *source, uint32_t events)
{
	struct object *object;

	(void)source;
	(void)events;
	if (edges_take(NULL))
		return;
	/*
	 * The loop's own epoll_wait() has consumed the event: notify all objects whose poll may
	 * consume.
	 */
	LIST_FOREACH(object, &edged, poll.edge_node)
		if (!object->poll.level)
			edge_woken(object, object->poll.edges);
}

static struct source edges = { .fd = -1, .ready = edge_ready };

/* Remove an object from the epoll instance, without asking the driver once more. */
static void edge_forget(struct object *object)
{
	if (!object->poll.edged)
		return;
	epoll_ctl(edge_fd, EPOLL_CTL_DEL, object->fd, NULL);
	LIST_REMOVE(object, poll.edge_node);
	object->poll.edged = false;
	object->poll.edges = 0;
}

static void edge_ask(struct object *object, uint32_t revents)
{
	struct epoll_event event = {
		.events = revents | EPOLLET,
		.data.u32 = object->id,
	};

	/*
	 * epoll would report an edge after each look at a dma-buf: dma_buf_poll()
	 * (drivers/dma-buf/dma-buf.c) wakes all waiters whenever it finds the buffer idle.
	 */
	if (!revents || object->kind == VGPU_OBJECT_DMABUF) {
		edge_forget(object);
		return;
	}
	object->poll.edges = revents;
	if (epoll_ctl(edge_fd, object->poll.edged ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, object->fd,
		      &event))
		return;
	if (!object->poll.edged)
		LIST_INSERT_HEAD(&edged, object, poll.edge_node);
	object->poll.edged = true;
	/* Discard the first edge, which only repeats that the file is ready. */
	edges_take(object);
}

/* --- calls ------------------------------------------------------------------------ */

/*
 * Notify the guest of every wakeup from now on. poll() cannot do that, so the driver signals this
 * process for the file (SIGIO), as it would signal the program.
 */
static void signal_begin(struct object *object)
{
	int flags = fcntl(object->fd, F_GETFL);

	if (object->poll.async || flags < 0 || fcntl(object->fd, F_SETSIG, SIGRTMIN) ||
	    fcntl(object->fd, F_SETOWN, getpid()) || fcntl(object->fd, F_SETFL, flags | O_ASYNC))
		return;
	object->poll.async = true;
}

static void signal_ready(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;
	struct object *object;
	uint32_t revents;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	/*
	 * SIGIO itself: too many signals are pending for the guest's user, its shadows included,
	 * and some signals were lost.
	 */
	if (info.ssi_signo == SIGIO) {
		pthread_mutex_lock(&lock);
		LIST_FOREACH(object, &all_objects, node)
			if (object->poll.async)
				wakeup_tell(object, POLLIN | POLLRDNORM);
		pthread_mutex_unlock(&lock);
		return;
	}
	revents = info.ssi_band & VGPU_POLL_EVENTS;
	LIST_FOREACH(object, &all_objects, node)
		if (object->fd == info.ssi_fd)
			break;
	if (!object || !revents)
		return;
	pthread_mutex_lock(&lock);
	wakeup_tell(object, revents);
	pthread_mutex_unlock(&lock);
}

static struct source signals = { .fd = -1, .ready = signal_ready };

/* Return: the events that signals report, and that the guest must not be notified of twice. */
static uint32_t by_signal(const struct object *object)
{
	return object->poll.async ? POLLIN | POLLRDNORM : 0;
}

void poller_begin(struct object *object)
{
	object->poll.level = object->kind == VGPU_OBJECT_SYNC_FILE ||
		object->kind == VGPU_OBJECT_DMABUF ||
		(object->kind == VGPU_OBJECT_DEVICE &&
		 (major(object->rdev) == DRM_MAJOR || object_is_video(object)));
}

uint32_t poller_ask(struct object *object, uint32_t events, uint32_t flags, uint32_t number)
{
	struct pollfd now = { .fd = object->fd, .events = events | POLL_ALWAYS };
	const uint32_t wanted = events | POLL_ALWAYS;
	struct polled *state = &object->poll;
	uint32_t revents, armed, stays;

	if (flags & VGPU_POLL_STAY)
		signal_begin(object);
	poll(&now, 1, 0);
	revents = now.revents & wanted;
	stays = revents;
	pthread_mutex_lock(&lock);
	state->number = number;
	if (!state->level) {
		stays &= state->cached;
		/* A driver that does not report the event again may have consumed it. */
		if (revents & ~stays) {
			now.revents = 0;
			poll(&now, 1, 0);
			stays |= now.revents & wanted;
			revents |= now.revents & wanted;
		}
		/*
		 * Report cached events only if the driver reports none, as its report is the
		 * current state.
		 */
		if (!revents)
			revents = state->cached & wanted;
		state->cached &= ~wanted;
	}
	/* Events that stay ready are not armed, as poll() would return at once. */
	armed = (state->events | events) & ~stays & ~by_signal(object);
	if (revents & POLL_ALWAYS)
		armed = 0;
	if (armed && !state->listed) {
		LIST_INSERT_HEAD(&polled, object, poll.node);
		state->listed = true;
		kick();
	} else if (armed & ~state->events) {
		kick();
	}
	state->events = armed;
	pthread_mutex_unlock(&lock);
	edge_ask(object, stays & events & ~by_signal(object));
	return revents;
}

/*
 * Remove an object from the poller's list. Return: true if it was listed; the poller may still
 * have the file in poll().
 */
static bool unlist_locked(struct object *object)
{
	if (!object->poll.listed)
		return false;
	LIST_REMOVE(object, poll.node);
	object->poll.listed = false;
	object->poll.events = 0;
	return true;
}

/* Wait until the poller is out of poll(), and so has none of the files that were unlisted. */
static void settle_locked(void)
{
	uint64_t round = rounds;

	if (!polling)
		return;
	kick();
	while (rounds == round)
		pthread_cond_wait(&looked, &lock);
}

void poller_hang_up(struct object *object)
{
	pthread_mutex_lock(&lock);
	if (object->poll.events || object->poll.edges || object->poll.async)
		wakeup_tell(object, POLL_ALWAYS);
	wakeup_keep(object);
	pthread_mutex_unlock(&lock);
}

void poller_forget(struct object *object)
{
	edge_forget(object);
	pthread_mutex_lock(&lock);
	if (unlist_locked(object))
		settle_locked();
	pthread_mutex_unlock(&lock);
	wakeup_forget(object);
}

void poller_quiet(dev_t rdev)
{
	bool unlisted = false;
	struct object *object;

	LIST_FOREACH(object, &all_objects, node) {
		struct polled *state = &object->poll;

		if (object->kind != VGPU_OBJECT_DEVICE || object->rdev != rdev)
			continue;
		pthread_mutex_lock(&lock);
		state->quieted = state->events | state->edges;
		unlisted |= unlist_locked(object);
		pthread_mutex_unlock(&lock);
		edge_forget(object);
	}
	pthread_mutex_lock(&lock);
	/* Settle once for all objects, as this waits for the poller's thread. */
	if (unlisted)
		settle_locked();
	/* POLLERR makes all waiters ask for the state, whatever events they wait for. */
	LIST_FOREACH(object, &all_objects, node) {
		if (object->poll.quieted)
			wakeup_tell(object, object->poll.quieted | POLLERR);
		object->poll.quieted = 0;
	}
	pthread_mutex_unlock(&lock);
}

int poller_init(void)
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	/* A SIGIO that is not blocked would end the engine. */
	sigaddset(&set, SIGIO);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -EINVAL;
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals.fd < 0 || source_add(&signals, EPOLLIN))
		return -errno;
	edge_fd = epoll_create1(EPOLL_CLOEXEC);
	edges.fd = edge_fd;
	if (edge_fd < 0 || source_add(&edges, EPOLLIN))
		return -errno;
	kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kick_fd < 0 || wakeups_init())
		return -errno;
	return -pthread_create(&thread, NULL, poller_main, NULL);
}
