// SPDX-License-Identifier: MIT
/*
 * Events: eventfds of the host that stand for eventfds of the guest, and that a driver is to
 * signal. The guest is told of the first signal. An event ends with this signal, or with the
 * object that it was requested on.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "engine/base/agent.h"
#include "engine/guest/control.h"
#include "engine/object/event.h"
#include "shared/loop.h"

struct event {
	LIST_ENTRY(event) node;
	struct source source;
	uint32_t object;
	uint32_t number;
};

static LIST_HEAD(, event) events = LIST_HEAD_INITIALIZER(events);
static unsigned int nr_events;

static void event_free(struct event *event)
{
	source_close(&event->source);
	LIST_REMOVE(event, node);
	nr_events--;
	free(event);
}

static void event_ready(struct source *source, uint32_t revents)
{
	struct event *event = container_of(source, struct event, source);
	const struct vgpu_event_signal msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_EVENT),
		.event = cpu_to_le32(event->number),
	};

	(void)revents;
	event_free(event);
	/* Send later: as many events as objects may be signaled at once. */
	control_send_later(&msg, sizeof(msg));
}

int event_add(uint32_t object, uint32_t number, int fd)
{
	struct event *event;

	if (nr_events >= start.limits.objects)
		return -EMFILE;
	event = calloc(1, sizeof(*event));
	if (!event)
		return -ENOMEM;
	event->source.fd = fd;
	event->source.ready = event_ready;
	event->object = object;
	event->number = number;
	if (source_add(&event->source, EPOLLIN)) {
		free(event);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&events, event, node);
	nr_events++;
	return 0;
}

void event_cancel(uint32_t object, uint32_t number)
{
	struct event *event;

	LIST_FOREACH(event, &events, node)
		if (event->object == object && event->number == number) {
			event_free(event);
			return;
		}
}

void events_object_gone(uint32_t object)
{
	struct event *event, *next;

	LIST_FOREACH_SAFE(event, &events, node, next)
		if (event->object == object)
			event_free(event);
}
