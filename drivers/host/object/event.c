// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: eventfds of this machine that stand for those of a guest and that a driver is to
 * signal, for a syncobj's point for example. The first signal is reported to the guest. An
 * event ends with that report, with the object of the call that asked for it, or when the
 * driver has dropped the eventfd, as it does if a syncobj is freed before anything has
 * happened.
 *
 * Nothing notifies the host of such a drop. But a driver holds a reference of the eventfd's
 * context as long as it may signal it. So each ioctl on the object checks the references of a
 * few of its events, in turn.
 *
 * No function that makes an eventfd is exported to modules. So each thread of the shadow brings
 * one when it comes to serve its lane.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "object/event.h"
#include "object/object.h"
#include "peer/control.h"
#include "peer/peer.h"

/*
 * Number of events that an ioctl checks. Each ioctl adds one event at most, so events that are
 * over never outnumber the others.
 */
#define EVENT_LOOK	4
/*
 * Number of events that are taken off the lists in one go, under the lock and with interrupts off:
 * a guest may have very many.
 */
#define EVENT_DROP	64
/* References of a context without the driver's: the file's and event->ctx. */
#define EVENT_OWN_REFS	2

struct vgpuh_event {
	/*
	 * Entries of object->events.list, object->events.tree and, once fired,
	 * peer->events.fired; protected by peer->events.lock. An event without entries counts as
	 * fired.
	 */
	struct list_head node;
	struct interval_tree_node by_number;
	struct list_head fired_node;
	bool fired;
	/*
	 * True once the call is over. A driver that keeps the eventfd has its reference of @ctx
	 * by then.
	 */
	bool settled;
	/* True if no driver can signal the event any more. */
	bool over;

	struct vgpu_peer *peer;
	struct vgpuh_object *object;
	struct file *file;
	/* Context, with a reference beside the file's; NULL: its references cannot be counted. */
	struct eventfd_ctx *ctx;
	wait_queue_head_t *head;
	wait_queue_entry_t wait;
};

struct event_table {
	poll_table pt;
	struct vgpuh_event *event;
};

/*
 * Return the number of references of @ctx. Its struct is private to the core, see
 * event_get_ctx().
 */
static unsigned int event_ctx_refs(struct eventfd_ctx *ctx)
{
	return kref_read((struct kref *)ctx);
}

/*
 * Take a reference of the context and check that its references can be counted. In every kernel
 * the struct begins with its counter; taking one more reference shows whether this one does.
 * Return: the context; NULL: it does not begin with a counter.
 */
static struct eventfd_ctx *event_get_ctx(struct file *file)
{
	struct eventfd_ctx *ctx = eventfd_ctx_fileget(file);
	unsigned int refs;

	if (IS_ERR(ctx))
		return NULL;
	refs = event_ctx_refs(ctx);
	if (refs == EVENT_OWN_REFS && eventfd_ctx_fileget(file) == ctx) {
		refs = event_ctx_refs(ctx);
		eventfd_ctx_put(ctx);
		if (refs == EVENT_OWN_REFS + 1)
			return ctx;
	}
	eventfd_ctx_put(ctx);
	return NULL;
}

/* Queue the event for a report to the guest. */
static void event_fire_locked(struct vgpuh_event *event)
{
	struct vgpu_peer *peer = event->peer;

	lockdep_assert_held(&peer->events.lock);
	event->fired = true;
	list_add_tail(&event->fired_node, &peer->events.fired);
	vgpuh_control_kick(peer);
}

/* Report a signal. Context: any in which a driver signals, under the eventfd's lock. */
static int event_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct vgpuh_event *event = container_of(wait, struct vgpuh_event, wait);
	struct vgpu_peer *peer = event->peer;
	unsigned long flags;

	spin_lock_irqsave(&peer->events.lock, flags);
	if (!event->fired)
		event_fire_locked(event);
	spin_unlock_irqrestore(&peer->events.lock, flags);
	return 0;
}

static void event_queue(struct file *file, wait_queue_head_t *head, poll_table *pt)
{
	struct vgpuh_event *event = container_of(pt, struct event_table, pt)->event;

	event->head = head;
	init_waitqueue_func_entry(&event->wait, event_wake);
	add_wait_queue(head, &event->wait);
}

/* Free an event that no list has and that counts as fired, so no thread finds it. */
static void event_free(struct vgpuh_event *event)
{
	remove_wait_queue(event->head, &event->wait);
	if (event->ctx)
		eventfd_ctx_put(event->ctx);
	fput(event->file);
	kfree(event);
}

static void event_take_locked(struct vgpuh_event *event)
{
	lockdep_assert_held(&event->peer->events.lock);
	list_del(&event->node);
	interval_tree_remove(&event->by_number, &event->object->events.tree);
	if (event->fired)
		list_del(&event->fired_node);
	event->fired = true;
	event->peer->events.nr--;
}

/* Find an event by number: any of them if the guest has given the number to several. */
static struct vgpuh_event *event_find_locked(struct vgpuh_object *object, u32 number)
{
	struct interval_tree_node *node;

	lockdep_assert_held(&object->peer->events.lock);
	node = interval_tree_iter_first(&object->events.tree, number, number);
	return node ? container_of(node, struct vgpuh_event, by_number) : NULL;
}

int vgpuh_event_add(struct vgpuh_object *object, u32 number, struct file *file)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpuh_event *event;
	struct event_table table;
	int ret = 0;

	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return -ENOMEM;
	event->peer = peer;
	event->object = object;
	/* The interval is the guest's number alone. */
	event->by_number.start = number;
	event->by_number.last = number;
	event->file = get_file(file);
	event->ctx = event_get_ctx(file);
	/* The event is in no list yet, so a signal is not reported. */
	event->fired = true;
	table.event = event;
	init_poll_funcptr(&table.pt, event_queue);
	vfs_poll(file, &table.pt);
	spin_lock_irq(&peer->events.lock);
	if (peer->events.nr >= READ_ONCE(peer->limits.objects)) {
		ret = -EMFILE;
	} else {
		peer->events.nr++;
		list_add_tail(&event->node, &object->events.list);
		interval_tree_insert(&event->by_number, &object->events.tree);
		event->fired = false;
	}
	spin_unlock_irq(&peer->events.lock);
	if (ret)
		event_free(event);
	return ret;
}

void vgpuh_event_cancel(struct vgpuh_object *object, u32 number)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpuh_event *event;

	spin_lock_irq(&peer->events.lock);
	event = event_find_locked(object, number);
	if (event)
		event_take_locked(event);
	spin_unlock_irq(&peer->events.lock);
	if (event)
		event_free(event);
}

/*
 * Check whether the driver has dropped the eventfd, so that only this module has it. A signal
 * that comes before the drop takes the lock first, and is seen.
 */
static bool event_is_over_locked(const struct vgpuh_event *event)
{
	lockdep_assert_held(&event->peer->events.lock);
	return event->settled && !event->fired && event->ctx &&
		event_ctx_refs(event->ctx) == EVENT_OWN_REFS && file_count(event->file) == 1;
}

static void events_look_locked(struct vgpuh_object *object)
{
	struct vgpuh_event *event;
	unsigned int i;

	for (i = 0; i < EVENT_LOOK && !list_empty(&object->events.list); i++) {
		event = list_first_entry(&object->events.list, struct vgpuh_event, node);
		list_move_tail(&event->node, &object->events.list);
		if (!event_is_over_locked(event))
			continue;
		event->over = true;
		event_fire_locked(event);
	}
}

void vgpuh_event_settle(struct vgpuh_object *object, u32 number)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpuh_event *event;

	if (!number && list_empty_careful(&object->events.list))
		return;
	spin_lock_irq(&peer->events.lock);
	event = number ? event_find_locked(object, number) : NULL;
	if (event)
		event->settled = true;
	events_look_locked(object);
	spin_unlock_irq(&peer->events.lock);
}

void vgpuh_event_drop_all(struct vgpuh_object *object)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpuh_event *event, *tmp;
	unsigned int nr;
	LIST_HEAD(gone);

	do {
		spin_lock_irq(&peer->events.lock);
		for (nr = 0; nr < EVENT_DROP; nr++) {
			event = list_first_entry_or_null(&object->events.list, struct vgpuh_event,
							 node);
			if (!event)
				break;
			event_take_locked(event);
			list_add_tail(&event->node, &gone);
		}
		spin_unlock_irq(&peer->events.lock);
		list_for_each_entry_safe(event, tmp, &gone, node) {
			list_del(&event->node);
			event_free(event);
		}
	} while (nr);
}

int vgpuh_event_announce(struct vgpu_peer *peer)
{
	struct vgpu_event_signal msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_EVENT),
	};
	struct vgpuh_event *event;
	int ret = 0;

	while (!ret) {
		spin_lock_irq(&peer->events.lock);
		event = list_first_entry_or_null(&peer->events.fired, struct vgpuh_event,
						 fired_node);
		if (event)
			event_take_locked(event);
		spin_unlock_irq(&peer->events.lock);
		if (!event)
			break;
		msg.event = cpu_to_le32(event->by_number.start);
		msg.flags = cpu_to_le32(event->over ? VGPU_EVENT_OVER : 0);
		event_free(event);
		ret = vgpuh_control_send(peer, &msg, sizeof(msg));
	}
	return ret;
}
