// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readiness. A POLL call arms its object for the events that it asks for: it leaves wait
 * entries on the driver's queues, one on each. The first wakeup for an event is reported to the
 * guest, once (or each wakeup, for SIGIO), so a program that waits causes no calls. The driver
 * is not asked at a wakeup: the ->poll of some drivers takes away what it reports, and only a
 * program's own poll may do that. DRM's ->poll and that of fences take nothing away
 * (drm_poll(), sync_file_poll()). They are called at each wakeup, and the guest gets the
 * answer.
 *
 * A wakeup only queues work. The wait entries are removed before the file is put, which keeps
 * the queues alive, or when a queue announces its earlier end by POLLFREE.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <drm/drm_ioctl.h>

#include "base/work.h"
#include "object/object.h"
#include "object/poll.h"
#include "peer/control.h"
#include "peer/peer.h"

#define POLL_EVENTS	((__force __poll_t)VGPU_POLL_EVENTS)
/* Events that are reported although the poller did not ask for them. */
#define POLL_ALWAYS	(EPOLLERR | EPOLLHUP)
/* Limit for the queues of one driver; most drivers have one or two. */
#define POLL_MAX_ENTRIES	64

struct vgpu_poll_entry {
	struct list_head node;
	struct vgpu_poll *poll;
	wait_queue_entry_t wait;
	wait_queue_head_t *head;
};

struct vgpu_poll_table {
	poll_table pt;
	struct vgpu_poll *poll;
};

static void poll_woken(struct vgpu_poll *poll, __poll_t mask)
{
	atomic_or((__force int)mask, &poll->woken);
	queue_work(vgpu_host_wq, &poll->work);
}

static int poll_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct vgpu_poll_entry *entry = container_of(wait, struct vgpu_poll_entry, wait);
	__poll_t mask = key_to_poll(key);

	if (mask && !(mask & (READ_ONCE(entry->poll->events) | POLLFREE)))
		return 0;
	/* A wakeup without a mask may be for any event. */
	poll_woken(entry->poll, mask ?: POLL_EVENTS);
	if (mask & POLLFREE) {
		list_del_init(&wait->entry);
		/* Pairs with poll_forget() and poll_queue(): the head may be freed from here on. */
		smp_store_release(&entry->head, NULL);
	}
	return 1;
}

static void poll_queue(struct file *file, wait_queue_head_t *head, poll_table *pt)
{
	struct vgpu_poll *poll = container_of(pt, struct vgpu_poll_table, pt)->poll;
	struct vgpu_poll_entry *entry, *next;
	wait_queue_head_t *old;
	unsigned int nr = 0;

	list_for_each_entry_safe(entry, next, &poll->entries, node) {
		/* Pairs with poll_wake(). */
		old = smp_load_acquire(&entry->head);
		if (!old) {
			list_del(&entry->node);
			kfree(entry);
			continue;
		}
		if (old == head) {
			/* A wakeup either sees poll->events, or came before the driver looks. */
			spin_lock_irq(&head->lock);
			spin_unlock_irq(&head->lock);
			return;
		}
		nr++;
	}
	entry = nr < POLL_MAX_ENTRIES ? kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT) : NULL;
	if (!entry) {
		poll->failed = true;
		return;
	}
	init_waitqueue_func_entry(&entry->wait, poll_wake);
	entry->poll = poll;
	entry->head = head;
	list_add(&entry->node, &poll->entries);
	add_wait_queue(head, &entry->wait);
}

static void poll_forget(struct vgpu_poll *poll)
{
	struct vgpu_poll_entry *entry, *next;

	lockdep_assert_held(&poll->lock);
	WRITE_ONCE(poll->events, 0);
	list_for_each_entry_safe(entry, next, &poll->entries, node) {
		wait_queue_head_t *head;

		rcu_read_lock();
		/* Pairs with poll_wake(); heads that end by POLLFREE are freed by RCU. */
		head = smp_load_acquire(&entry->head);
		if (head)
			remove_wait_queue(head, &entry->wait);
		rcu_read_unlock();
		list_del(&entry->node);
		kfree(entry);
	}
}

/*
 * Unlock after a call of the driver's ->poll, and queue the work for a wakeup that came
 * meanwhile.
 */
static void poll_unlock(struct vgpu_poll *poll)
{
	mutex_unlock(&poll->lock);
	/*
	 * Pairs with poll_work(): either poll_work() finds the lock free, or this function sees
	 * poll->woken.
	 */
	smp_mb();
	if (atomic_read(&poll->woken))
		queue_work(vgpu_host_wq, &poll->work);
}

static void poll_work(struct work_struct *work)
{
	struct vgpu_poll *poll = container_of(work, struct vgpu_poll, work);
	struct vgpuh_object *object = container_of(poll, struct vgpuh_object, poll);
	struct vgpu_peer *peer = object->peer;
	__poll_t revents;
	u32 number;
	bool answer;

	/*
	 * A call may hold the lock in a driver's ->poll for any time, and others need the
	 * workers. So the work does not wait: poll_unlock() queues it again. Pairs with
	 * poll_unlock().
	 */
	smp_mb();
	if (!mutex_trylock(&poll->lock))
		return;
	revents = (__force __poll_t)atomic_xchg(&poll->woken, 0) & poll->events;
	number = poll->number;
	answer = poll->looks && !poll->failed;
	if (revents && answer)
		revents = vfs_poll(object->file, NULL) & POLL_EVENTS;
	/*
	 * Only the reported events are disarmed. A poller that waits for another event may be
	 * the only one left, and would not arm the object again before a wakeup.
	 */
	if (!poll->stay)
		WRITE_ONCE(poll->events, poll->events & ~revents);
	if (!poll->stay && (revents & POLL_ALWAYS))
		poll_forget(poll);
	mutex_unlock(&poll->lock);
	if (!revents)
		return;

	spin_lock_irq(&peer->events.lock);
	/* An answer replaces earlier answers and hints; a hint is added to them. */
	poll->revents = revents | (answer ? 0 : poll->revents);
	poll->revents_number = number;
	poll->revents_answer = answer;
	if (list_empty(&poll->node))
		list_add_tail(&poll->node, &peer->events.ready);
	spin_unlock_irq(&peer->events.lock);
	vgpuh_control_kick(peer);
}

/*
 * Check whether the driver's ->poll takes nothing away. All DRM drivers of the kernel use
 * drm_poll(). A driver out of the kernel could have a ->poll that takes events away. This
 * cannot be checked here: symbol_get() also refuses symbols that are exported for modules
 * without GPL, and a link to drm_poll() would need drm.ko even on hosts that have only a sound
 * card or a camera.
 *
 * A device that is forwarded to this machine is excluded: its ->poll asks its own host, as the
 * process that polls. Fences are included although the first poll of a fence makes its driver
 * signal it, which may cost the device an interrupt: WATCH asks for just that.
 */
static bool poll_only_looks(const struct vgpuh_object *object)
{
	const struct inode *inode = file_inode(object->file);
	const struct module *owner = object->file->f_op->owner;

	if (owner && !strcmp(owner->name, "vgpu_guest"))
		return false;
	return object->kind == VGPU_OBJECT_SYNC_FILE ||
	       (S_ISCHR(inode->i_mode) && imajor(inode) == DRM_MAJOR);
}

void vgpu_poll_init(struct vgpuh_object *object)
{
	struct vgpu_poll *poll = &object->poll;

	poll->looks = poll_only_looks(object);
	mutex_init(&poll->lock);
	INIT_LIST_HEAD(&poll->entries);
	INIT_LIST_HEAD(&poll->node);
	INIT_WORK(&poll->work, poll_work);
}

void vgpu_poll_fini(struct vgpuh_object *object)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpu_poll *poll = &object->poll;

	/* Calls hold references of the object, so no thread is in the driver with the lock. */
	mutex_lock(&poll->lock);
	poll_forget(poll);
	mutex_unlock(&poll->lock);
	cancel_work_sync(&poll->work);
	spin_lock_irq(&peer->events.lock);
	list_del_init(&poll->node);
	spin_unlock_irq(&peer->events.lock);
	mutex_destroy(&poll->lock);
}

/*
 * Arm the object. Return: events that it is ready for; -ENOMEM: none, and wakeups would be
 * missed.
 */
static s64 poll_arm(struct vgpuh_object *object, __poll_t events)
{
	struct vgpu_poll *poll = &object->poll;
	struct vgpu_poll_table table = { .poll = poll };
	__poll_t revents;

	lockdep_assert_held(&poll->lock);
	WRITE_ONCE(poll->events, poll->stay ? POLL_EVENTS : poll->events | events);
	poll->failed = false;
	init_poll_funcptr(&table.pt, poll_queue);
	table.pt._key = events;
	/*
	 * The object is armed even if it is ready: an edge-triggered waiter wants the next
	 * wakeup. A wakeup since then has queued work that waits for the lock.
	 */
	revents = vfs_poll(object->file, &table.pt) & events;
	/* All waiters are woken, as later wakeups would be missed. */
	if (poll->failed)
		poll_woken(poll, POLL_EVENTS);
	return revents || !poll->failed ? (__force s64)revents : -ENOMEM;
}

u32 vgpu_poll_watch(struct vgpuh_object *object)
{
	struct vgpu_poll *poll = &object->poll;
	s64 revents;

	if (mutex_lock_killable(&poll->lock))
		return 0;
	poll->stay = true;
	revents = poll_arm(object, POLL_EVENTS);
	poll_unlock(poll);
	if (revents < 0)
		return 0;
	return revents ? VGPU_OBJECT_SIGNALED : VGPU_OBJECT_WATCHED;
}

bool vgpu_poll_ask(struct vgpuh_object *object, u32 number, u32 *revents)
{
	struct vgpu_poll *poll = &object->poll;
	bool watched;

	if (!poll->looks || !READ_ONCE(poll->stay))
		return false;
	/* The guest makes a POLL call if it gets no answer. */
	if (!mutex_trylock(&poll->lock))
		return false;
	watched = !poll->failed;
	if (watched) {
		poll->number = number;
		*revents = (__force u32)(vfs_poll(object->file, NULL) & POLL_EVENTS);
	}
	poll_unlock(poll);
	/*
	 * Without a complete set of wait entries the guest would not be notified of later
	 * events.
	 */
	return watched;
}

s64 vgpu_poll_arm(struct vgpuh_object *object, u32 events, u32 number, bool stay)
{
	struct vgpu_poll *poll = &object->poll;
	s64 revents;

	/* Another call may be in the driver with the lock, for any time. */
	if (mutex_lock_interruptible(&poll->lock))
		return -EINTR;
	poll->number = number;
	/*
	 * The flag is never cleared, as calls of pollers that do not know of it may be under
	 * way. It is also set where the guest gets answers: the guest may then make no POLL
	 * call before the next wakeup.
	 */
	if (stay || poll->looks)
		poll->stay = true;
	revents = poll_arm(object, (__force __poll_t)events | POLL_ALWAYS);
	poll_unlock(poll);
	return revents;
}

void vgpu_poll_hang_up(struct vgpuh_object *object)
{
	struct vgpu_poll_event msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_POLL_EVENT),
		.object = cpu_to_le32(object->id),
		.revents = cpu_to_le32((__force u32)POLL_ALWAYS),
	};

	if (READ_ONCE(object->poll.events))
		vgpuh_control_send(object->peer, &msg, sizeof(msg));
}

int vgpu_poll_announce(struct vgpu_peer *peer)
{
	struct vgpu_poll_event msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_POLL_EVENT),
	};
	struct vgpuh_object *object;
	int ret = 0;

	while (!ret) {
		spin_lock_irq(&peer->events.lock);
		object = list_first_entry_or_null(&peer->events.ready, struct vgpuh_object,
						  poll.node);
		if (object) {
			msg.object = cpu_to_le32(object->id);
			msg.revents = cpu_to_le32((__force u32)object->poll.revents);
			msg.number = cpu_to_le32(object->poll.revents_number);
			msg.flags = cpu_to_le32(object->poll.revents_answer ?
						VGPU_POLL_ANSWER : 0);
			object->poll.revents = 0;
			list_del_init(&object->poll.node);
		}
		spin_unlock_irq(&peer->events.lock);
		if (!object)
			break;
		ret = vgpuh_control_send(peer, &msg, sizeof(msg));
	}
	return ret;
}
