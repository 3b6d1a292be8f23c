// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds of this machine that a host's driver signals. A call names each eventfd by a number.
 * The host reports once that the driver has signalled the eventfd, or that it never will.
 *
 * A program that is woken by the eventfd may read what the device wrote before. So cached
 * device memory is dropped before the eventfd is signalled. If there is any, a work item does
 * this, because dropping may have to wait for the host.
 */
#include <linux/eventfd.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "compat.h"
#include "file/event.h"
#include "file/object.h"
#include "link/host.h"
#include "memory/flush_list.h"
#include "memory/space_sync.h"

/**
 * struct vgpu_event - one eventfd under one number
 * @hash: entry in host->events.by_number (host->lock)
 * @node: entry in object->events or host->events.signals (host->lock)
 * @number: number of the event, not 0
 * @ctx: context of the eventfd, with a reference
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
	hash_for_each_possible(host->events.by_number, event, hash, number) {
		if (event->number == number)
			return event;
	}
	return NULL;
}

/* Removes an event from all lists. Return: the event, which the caller frees, or NULL. */
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
 * vgpu_event_add - give an eventfd of the calling process a number
 * @object: object of the call that will name the eventfd
 * @fd: fd of the eventfd
 * @number: out: the number
 *
 * Return: 0; -EBADF: not open; -EINVAL: not an eventfd; -ENOMEM.
 */
int vgpu_event_add(struct vgpu_object *object, int fd, u32 *number)
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
	/* Numbers wrap around: skip 0 and the numbers that are in use. */
	do {
		event->number = ++host->events.last;
	} while (!event->number || event_find_locked(host, event->number));
	hash_add(host->events.by_number, &event->hash, event->number);
	list_add(&event->node, &object->events);
	*number = event->number;
	spin_unlock(&host->lock);
	return 0;
}

/* Frees an event after its call has failed, or when the host's driver has released the eventfd. */
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

/* Work function of host->events.work: drops cached device memory, then signals the eventfds. */
void vgpu_event_signal_work(struct work_struct *work)
{
	struct vgpu_host *host = container_of(work, struct vgpu_host, events.work);
	struct vgpu_event *event, *tmp;
	LIST_HEAD(signals);

	spin_lock(&host->lock);
	list_splice_init(&host->events.signals, &signals);
	spin_unlock(&host->lock);
	vgpu_space_await_faults(host);
	vgpu_space_drop(host, NULL);
	list_for_each_entry_safe(event, tmp, &signals, node)
		event_signal(event);
	vgpu_host_put(host);
}

/**
 * vgpu_event_signal - handle the host's report that its driver has signalled an eventfd
 * @host: the host
 * @number: number of the event; an unknown number is that of an object that was closed
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
	list_add_tail(&event->node, &host->events.signals);
	spin_unlock(&host->lock);
	vgpu_host_get(host);
	if (!vgpu_flush_queue(&host->events.work))
		vgpu_host_put(host);
}

/* Frees the events of an object that is being freed. */
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
