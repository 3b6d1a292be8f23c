/* SPDX-License-Identifier: MIT */
/* Readiness of objects, and the thread that polls their files: see poller.c. */
#ifndef ENGINE_POLLER_H
#define ENGINE_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct object;
struct wakeup;

/**
 * struct polled - readiness of an object
 * @node: entry of the poller's list, if @listed
 * @edge_node: entry of the list of objects whose edges are reported, if @edged; used by the loop
 *	alone
 * @listed: true if the poller polls the object
 * @level: true if the driver's poll operation only reports the state and consumes nothing
 * @async: true if the driver signals each wakeup (SIGIO); used by the loop alone
 * @edged: true if the object is in the epoll instance for edges; used by the loop alone
 * @edges: events that the object was ready for when last asked; the guest is to be notified of
 *	the next wakeup with one of them; used by the loop alone
 * @events: events that the guest is to be notified of
 * @cached: events that the poller has seen, and that no POLL call has asked for since
 * @number: number of the last POLL call
 * @quieted: events that the guest was to be notified of before poller_quiet(); used by the
 *	loop alone
 * @wakeup: message to the guest that waits to be sent; NULL: none; used by wakeup.c alone
 *
 * The other fields are protected by the poller's lock.
 */
struct polled {
	LIST_ENTRY(object) node;
	LIST_ENTRY(object) edge_node;
	bool listed;
	bool level;
	bool async;
	bool edged;
	uint32_t edges;
	uint32_t events;
	uint32_t cached;
	uint32_t number;
	uint32_t quieted;
	struct wakeup *wakeup;
};

int poller_init(void);
void poller_begin(struct object *object);
/*
 * Answer a POLL call, and arm notifications of the events that are not ready yet. Return: the
 * events that the object is ready for.
 */
uint32_t poller_ask(struct object *object, uint32_t events, uint32_t flags, uint32_t number);
/* Wake the guest's pollers of an object that is taken from it: their next POLL calls fail. */
void poller_hang_up(struct object *object);
/* Stop polling an object, before its file is closed. */
void poller_forget(struct object *object);
/*
 * Stop polling each object of a device until the guest's next POLL call for that object. Programs
 * that wait for these objects in the guest are woken, and the guest then makes POLL calls.
 */
void poller_quiet(dev_t rdev);

#endif /* ENGINE_POLLER_H */
