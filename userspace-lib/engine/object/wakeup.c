// SPDX-License-Identifier: MIT
/*
 * Messages about wakeups of objects. The poller and the loop queue them, and the loop sends them.
 * As many messages as objects may be due at once, so those that the guest has no room for wait.
 * What is due for an object while its message waits is added to that message.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/guest/control.h"
#include "engine/object/object.h"
#include "engine/object/wakeup.h"
#include "shared/loop.h"
#include "shared/proto.h"
#include "wire.h"

/**
 * struct wakeup - message that waits to be sent
 * @node: entry of wakeups
 * @object: the object; NULL: wakeup_keep() was called
 * @msg: the message
 */
struct wakeup {
	TAILQ_ENTRY(wakeup) node;
	struct object *object;
	struct vgpu_poll_event msg;
};

/* The lock protects the list, its entries and the pointers of objects to them. It is innermost. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, wakeup) wakeups = TAILQ_HEAD_INITIALIZER(wakeups);

/* Context: the lock is held. */
static void wakeup_free(struct wakeup *wakeup)
{
	TAILQ_REMOVE(&wakeups, wakeup, node);
	if (wakeup->object)
		wakeup->object->poll.wakeup = NULL;
	free(wakeup);
}

/* Take the next message. Return: false if there is none. */
static bool wakeup_take(struct vgpu_poll_event *msg)
{
	struct wakeup *wakeup;

	pthread_mutex_lock(&lock);
	wakeup = TAILQ_FIRST(&wakeups);
	if (wakeup) {
		*msg = wakeup->msg;
		wakeup_free(wakeup);
	}
	pthread_mutex_unlock(&lock);
	return wakeup;
}

void wakeups_send(void)
{
	struct vgpu_poll_event msg;

	while (!control_is_behind() && wakeup_take(&msg))
		control_send(&msg, sizeof(msg));
}

static void wakeups_ready(struct source *source, uint32_t events)
{
	uint64_t value;

	(void)events;
	if (read(source->fd, &value, sizeof(value)) == sizeof(value))
		wakeups_send();
}

static struct source ready = { .fd = -1, .ready = wakeups_ready };

void wakeup_tell(struct object *object, uint32_t revents)
{
	const uint64_t one = 1;
	struct wakeup *wakeup;

	pthread_mutex_lock(&lock);
	wakeup = object->poll.wakeup;
	if (!wakeup) {
		wakeup = calloc(1, sizeof(*wakeup));
		/* Without memory, as in the poller: a program would wait in vain. */
		if (!wakeup)
			_exit(EXIT_FAILURE);
		if (write(ready.fd, &one, sizeof(one)) != sizeof(one))
			abort();
		wakeup->object = object;
		object->poll.wakeup = wakeup;
		TAILQ_INSERT_TAIL(&wakeups, wakeup, node);
	}
	wakeup->msg = (struct vgpu_poll_event) {
		.hdr.len = cpu_to_le32(sizeof(wakeup->msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_POLL_EVENT),
		.object = cpu_to_le32(object->id),
		.revents = wakeup->msg.revents | cpu_to_le32(revents),
		.number = cpu_to_le32(object->poll.number),
		/* The state of a signaled fence is final, and poll() has reported all of it. */
		.flags = cpu_to_le32(object->kind == VGPU_OBJECT_SYNC_FILE ? VGPU_POLL_ANSWER : 0),
	};
	pthread_mutex_unlock(&lock);
}

void wakeup_keep(struct object *object)
{
	pthread_mutex_lock(&lock);
	if (object->poll.wakeup)
		object->poll.wakeup->object = NULL;
	object->poll.wakeup = NULL;
	pthread_mutex_unlock(&lock);
}

void wakeup_forget(struct object *object)
{
	pthread_mutex_lock(&lock);
	if (object->poll.wakeup)
		wakeup_free(object->poll.wakeup);
	pthread_mutex_unlock(&lock);
}

int wakeups_init(void)
{
	ready.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ready.fd < 0 ? -errno : source_add(&ready, EPOLLIN);
}
