// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: eventfds of this machine that a host's driver signals. A call names
 * each by a number, and the host says, once, when that was signalled, or that it never will be.
 *
 * A program that hears of it reads what the device wrote before. So cached device memory is
 * forgotten first: by a work item where there is any, as that may have to wait for the host.
 */
#include <linux/eventfd.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "compat.h"
#include "event.h"
#include "flush.h"
#include "host.h"
#include "object.h"
#include "space.h"

/**
 * struct vgpu_event - one eventfd under one number
 * @hash: in host->events (host->lock)
 * @node: in object->events, or in host->signals (host->lock)
 * @number: of it, not 0
 * @ctx: the eventfd, a reference
 */
struct vgpu_event {
	struct hlist_node hash;
	struct list_head node;
	u32 number;
	struct eventfd_ctx *ctx;
};

static void event_free(struct vgpu_event *event)
{
	eventfd_ctx_put(event->ctx);
	kfree(event);
}

static struct vgpu_event *event_find_locked(struct vgpu_host *host, u32 number)
{
	struct vgpu_event *event;

	lockdep_assert_held(&host->lock);
	hash_for_each_possible(host->events, event, hash, number) {
		if (event->number == number)
			return event;
	}
	return NULL;
}

/* Return: the event, for the caller to free, or NULL. */
static struct vgpu_event *event_take(struct vgpu_host *host, u32 number)
{
	struct vgpu_event *event;

	spin_lock(&host->lock);
	event = event_find_locked(host, number);
	if (event) {
		hash_del(&event->hash);
		list_del(&event->node);
	}
	spin_unlock(&host->lock);
	return event;
}

/**
 * vgpu_event_add - an eventfd of the calling process gets a number
 * @object: on which the call is made that will name it
 * @fd: the eventfd
 *
 * Return: the number; -EBADF: not open; -EINVAL: not an eventfd; -ENOMEM.
 */
s64 vgpu_event_add(struct vgpu_object *object, int fd)
{
	struct vgpu_host *host = object->host;
	struct vgpu_event *event;
	int ret;

	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return -ENOMEM;
	event->ctx = eventfd_ctx_fdget(fd);
	if (IS_ERR(event->ctx)) {
		ret = PTR_ERR(event->ctx);
		kfree(event);
		return ret;
	}
	spin_lock(&host->lock);
	/* After all of them were used, some old ones may still be there. */
	do {
		event->number = ++host->last_event;
	} while (!event->number || event_find_locked(host, event->number));
	hash_add(host->events, &event->hash, event->number);
	list_add(&event->node, &object->events);
	spin_unlock(&host->lock);
	return event->number;
}

/* The call failed, so the host does not know it, or the host's driver has let go of it. */
void vgpu_event_cancel(struct vgpu_host *host, u32 number)
{
	struct vgpu_event *event = event_take(host, number);

	if (event)
		event_free(event);
}

static void event_signal(struct vgpu_event *event)
{
	vgpu_eventfd_signal(event->ctx);
	event_free(event);
}

void vgpu_event_signal_work(struct work_struct *work)
{
	struct vgpu_host *host = container_of(work, struct vgpu_host, signal_work);
	struct vgpu_event *event, *tmp;
	LIST_HEAD(signals);

	spin_lock(&host->lock);
	list_splice_init(&host->signals, &signals);
	spin_unlock(&host->lock);
	vgpu_space_await_faults(host);
	vgpu_space_drop(host, NULL);
	list_for_each_entry_safe(event, tmp, &signals, node)
		event_signal(event);
	vgpu_host_put(host);
}

/**
 * vgpu_event_signal - the host says that its driver signalled an eventfd
 * @host: the host
 * @number: of the eventfd; one that means nothing is that of a file which was closed
 *
 * Context: the thread that receives on the control connection. Waits for no peer.
 */
void vgpu_event_signal(struct vgpu_host *host, u32 number)
{
	struct vgpu_event *event = event_take(host, number);

	if (!event)
		return;
	if (vgpu_space_is_renewed(host)) {
		event_signal(event);
		return;
	}
	spin_lock(&host->lock);
	list_add_tail(&event->node, &host->signals);
	spin_unlock(&host->lock);
	vgpu_host_get(host);
	if (!vgpu_flush_queue(&host->signal_work))
		vgpu_host_put(host);
}

/* @object is at its end, and its events with it. */
void vgpu_event_drop_all(struct vgpu_object *object)
{
	struct vgpu_event *event, *tmp;
	LIST_HEAD(gone);

	spin_lock(&object->host->lock);
	list_for_each_entry(event, &object->events, node)
		hash_del(&event->hash);
	list_splice_init(&object->events, &gone);
	spin_unlock(&object->host->lock);
	list_for_each_entry_safe(event, tmp, &gone, node)
		event_free(event);
}
