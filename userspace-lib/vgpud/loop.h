/* SPDX-License-Identifier: MIT */
/*
 * The event loop: files and deadlines, one thread, one event at a time.
 *
 * Callbacks may remove any source or timer, their own included: nothing is
 * remembered from one event to the next.
 */
#ifndef VGPUD_LOOP_H
#define VGPUD_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

/**
 * struct source - a file that is waited for
 * @fd: the file; -1: not registered
 * @ready: called with EPOLL* bits
 */
struct source {
	int fd;
	void (*ready)(struct source *source, uint32_t events);
};

/**
 * struct timer - a deadline
 * @expired: called once, after which the timer is no longer set
 */
struct timer {
	TAILQ_ENTRY(timer) node;
	uint64_t deadline_ms;
	bool set;
	void (*expired)(struct timer *timer);
};

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

int loop_init(void);
/* Runs until loop_stop(). 0 or a negative errno. */
int loop_run(void);
void loop_stop(void);

/* 0 or a negative errno. The file stays the caller's to close. */
int source_add(struct source *source, uint32_t events);
int source_set(struct source *source, uint32_t events);
void source_del(struct source *source);
/* source_del() and close(). Nothing if fd is -1. */
void source_close(struct source *source);

void timer_set(struct timer *timer, unsigned int ms);
void timer_cancel(struct timer *timer);

uint64_t now_ms(void);

/*
 * accept4() on the socket of a source. Where there is no room for another file the connection stays
 * pending, and would keep the loop busy: the source is not waited for then, and @full is set, which
 * source_set() has to follow when it expires. Return: the connection, or -1 with errno.
 */
int source_accept(struct source *source, struct timer *full, struct sockaddr *addr, socklen_t *len,
		  int flags);

/*
 * Connections that a listening socket lets in at a time: its queue is emptied faster than others
 * fill it, and the other sources are not kept waiting.
 */
#define LOOP_ACCEPTS	16

#endif /* VGPUD_LOOP_H */
