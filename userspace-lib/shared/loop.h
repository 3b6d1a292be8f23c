/* SPDX-License-Identifier: MIT */
/*
 * The event loop waits for files and deadlines. It has one thread and handles one event at a
 * time.
 *
 * Callbacks may remove any source or timer, including their own, since the loop keeps no
 * pointer to them between events.
 */
#ifndef VGPU_SHARED_LOOP_H
#define VGPU_SHARED_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

/**
 * struct source - a file that the loop waits for
 * @fd: number of the file; -1: not registered
 * @ready: callback, with EPOLL* bits
 */
struct source {
	int fd;
	void (*ready)(struct source *source, uint32_t events);
};

/**
 * struct timer - a deadline
 * @node: entry of timers
 * @deadline_ms: time of the deadline on now_ms()'s clock
 * @set: true while the timer is set
 * @expired: callback, called once; the timer is not set any more then
 */
struct timer {
	TAILQ_ENTRY(timer) node;
	uint64_t deadline_ms;
	bool set;
	void (*expired)(struct timer *timer);
};

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/*
 * Visit the entries of a LIST. The body may remove the current entry, but no other. @next: variable
 * for the macro alone.
 */
#define LIST_FOREACH_SAFE(entry, head, node, next) \
	for ((entry) = LIST_FIRST(head); (entry) && ((next) = LIST_NEXT(entry, node), true); \
	     (entry) = (next))

int loop_init(void);
/* Run until loop_stop(). Return: 0 or a negative errno. */
int loop_run(void);
void loop_stop(void);
/* Return the number of the call of @ready or @expired that runs: what it has found can be kept. */
uint64_t loop_call(void);

/*
 * Wait for events of a file, or for other events than before. Return: 0, or a negative errno. The
 * file stays the caller's.
 */
int source_add(struct source *source, uint32_t events);
int source_set(struct source *source, uint32_t events);
void source_del(struct source *source);
/* Call source_del() and close(). If the fd is -1, do nothing. */
void source_close(struct source *source);

void timer_set(struct timer *timer, unsigned int ms);
void timer_cancel(struct timer *timer);

/* Return: time of CLOCK_MONOTONIC, in nanoseconds or in milliseconds. */
uint64_t now_ns(void);
uint64_t now_ms(void);

/*
 * Call accept4() on the socket of a source. If there is no room for another file, the
 * connection stays pending and would keep the loop busy: the source then waits for no event,
 * and @full is set. When @full expires, its callback has to call source_set(). Return: the
 * connection, or -1 with errno.
 */
int source_accept(struct source *source, struct timer *full, struct sockaddr *addr, socklen_t *len,
		  int flags);

/*
 * Connections that a listening socket accepts for one event: enough to empty its queue faster
 * than peers fill it, and few enough for other sources.
 */
#define LOOP_ACCEPTS	16

#endif /* VGPU_SHARED_LOOP_H */
