// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readiness. A POLL call arms its object for the events that it asks for: it leaves
 * wait entries on the driver's queues, one on each. The first wakeup for an event is
 * told to the guest, once (or each, for SIGIO), so waiting costs no calls. The driver
 * is not asked then: the poll of some takes away what it reports, and only a program's
 * own poll may do that. DRM's poll and that of fences only look (drm_poll(),
 * sync_file_poll()): they are asked at each wakeup, and the guest gets the answer.
 *
 * A wakeup only queues work. Entries go before the file does, which keeps the
 * queues alive, or when a queue says with POLLFREE that it ends earlier.
 */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <drm/drm_ioctl.h>

#include "host.h"

#define POLL_EVENTS	((__force __poll_t)VGPU_POLL_EVENTS)
/* Whoever polls hears of these without asking. */
#define POLL_ALWAYS	(EPOLLERR | EPOLLHUP)
/* Most drivers have one queue, or two. */
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
	/* A wakeup without a mask may be for anything. */
	poll_woken(entry->poll, mask ?: POLL_EVENTS);
	if (mask & POLLFREE) {
		list_del_init(&wait->entry);
		/* Pairs with poll_forget(): the head may be freed from here on. */
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
			/* A wakeup sees poll->events, or was before the driver looks. */
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

/* A caller of the driver's poll lets the lock go with this, as a wakeup may have come meanwhile. */
static void poll_unlock(struct vgpu_poll *poll)
{
	mutex_unlock(&poll->lock);
	/* Pairs with poll_work(): that finds the lock free, or this one what it came for. */
	smp_mb();
	if (atomic_read(&poll->woken))
		queue_work(vgpu_host_wq, &poll->work);
}

static void poll_work(struct work_struct *work)
{
	struct vgpu_poll *poll = container_of(work, struct vgpu_poll, work);
	struct vgpu_object *object = container_of(poll, struct vgpu_object, poll);
	struct vgpu_peer *peer = object->peer;
	__poll_t revents;
	u32 number;
	bool answer;

	/* A call may be in the driver with it, and others need the workers: it comes again then. */
	smp_mb();
	if (!mutex_trylock(&poll->lock))
		return;
	revents = (__force __poll_t)atomic_xchg(&poll->woken, 0) & poll->events;
	number = poll->number;
	answer = poll->looks && !poll->failed;
	if (revents && answer)
		revents = vfs_poll(object->file, NULL) & POLL_EVENTS;
	/* Who waits for another event may be the only one who is there to ask again. */
	if (!poll->stay)
		WRITE_ONCE(poll->events, poll->events & ~revents);
	if (!poll->stay && (revents & POLL_ALWAYS))
		poll_forget(poll);
	mutex_unlock(&poll->lock);
	if (!revents)
		return;

	spin_lock_irq(&peer->events_lock);
	/* An answer is the whole truth of its time, a hint is one among others. */
	poll->revents = revents | (answer ? 0 : poll->revents);
	poll->revents_number = number;
	poll->revents_answer = answer;
	if (list_empty(&poll->node))
		list_add_tail(&poll->node, &peer->events);
	spin_unlock_irq(&peer->events_lock);
	vgpu_control_kick(peer);
}

/*
 * Drivers of DRM devices have drm_poll(), all that are in the kernel. Whether one that is not has
 * a poll of its own, which takes events away, cannot be asked here: symbol_get() refuses what is
 * exported for others than the GPL's, too, and to link to drm_poll() is to need drm.ko, also on
 * hosts that have but a sound card or a camera.
 *
 * Not so what is forwarded to this machine: it asks its own host, as the process that polls.
 * The first poll of a fence makes its driver signal it, which may cost the device an interrupt:
 * that is what WATCH is for.
 */
static bool poll_only_looks(const struct vgpu_object *object)
{
	const struct inode *inode = file_inode(object->file);
	const struct module *owner = object->file->f_op->owner;

	if (owner && !strcmp(owner->name, "vgpu_guest"))
		return false;
	return object->kind == VGPU_OBJECT_SYNC_FILE ||
	       (S_ISCHR(inode->i_mode) && imajor(inode) == DRM_MAJOR);
}

void vgpu_poll_init(struct vgpu_object *object)
{
	struct vgpu_poll *poll = &object->poll;

	poll->looks = poll_only_looks(object);
	mutex_init(&poll->lock);
	INIT_LIST_HEAD(&poll->entries);
	INIT_LIST_HEAD(&poll->node);
	INIT_WORK(&poll->work, poll_work);
}

void vgpu_poll_fini(struct vgpu_object *object)
{
	struct vgpu_peer *peer = object->peer;
	struct vgpu_poll *poll = &object->poll;

	/* Calls have references, so nobody is in the driver with it. */
	mutex_lock(&poll->lock);
	poll_forget(poll);
	mutex_unlock(&poll->lock);
	cancel_work_sync(&poll->work);
	spin_lock_irq(&peer->events_lock);
	list_del_init(&poll->node);
	spin_unlock_irq(&peer->events_lock);
	mutex_destroy(&poll->lock);
}

/* Return: what it is ready for; -ENOMEM if nothing, and wakeups would not be heard of. */
static s64 poll_arm(struct vgpu_object *object, __poll_t events)
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
	 * Armed also when it is ready: an edge-triggered waiter wants to hear of the
	 * next wakeup. One since then has queued work that waits for the lock.
	 */
	revents = vfs_poll(object->file, &table.pt) & events;
	/* Nobody is left waiting for what is not watched. */
	if (poll->failed)
		poll_woken(poll, POLL_EVENTS);
	return revents || !poll->failed ? (__force s64)revents : -ENOMEM;
}

u32 vgpu_poll_watch(struct vgpu_object *object)
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

void vgpu_poll_after(struct vgpu_hcall *call, u32 number)
{
	struct vgpu_object *object = call->object;
	struct vgpu_poll *poll = &object->poll;
	__poll_t revents = 0;
	bool watched;

	if (!poll->looks || !READ_ONCE(poll->stay))
		return;
	/* The guest asks where the reply does not tell. */
	if (!mutex_trylock(&poll->lock))
		return;
	watched = !poll->failed;
	if (watched) {
		poll->number = number;
		revents = vfs_poll(object->file, NULL) & POLL_EVENTS;
	}
	poll_unlock(poll);
	/* Nobody would tell the guest of what comes later. */
	if (!watched)
		return;
	call->out.ioctl.revents = cpu_to_le32((__force u32)revents);
	call->out.ioctl.flags = cpu_to_le32(VGPU_POLL_ANSWER);
}

s64 vgpu_poll_run(struct vgpu_hcall *call)
{
	const struct vgpu_args_poll *args = &call->view.call->args.poll;
	__poll_t events = (__force __poll_t)le32_to_cpu(args->events) | POLL_ALWAYS;
	struct vgpu_object *object = call->object;
	struct vgpu_poll *poll = &object->poll;
	s64 revents;

	/* Another's poll may be in the driver, for as long as that likes. */
	if (mutex_lock_interruptible(&poll->lock))
		return vgpu_call_refuse(call, -EINTR);
	poll->number = le32_to_cpu(args->number);
	/*
	 * For good: calls of pollers who don't know of it may be under way. And where the
	 * guest gets answers: it may then make no POLL call before the next wakeup.
	 */
	if ((le32_to_cpu(args->flags) & VGPU_POLL_STAY) || poll->looks)
		poll->stay = true;
	revents = poll_arm(object, events);
	poll_unlock(poll);
	if (revents < 0)
		return vgpu_call_refuse(call, revents);
	call->out.poll.revents = cpu_to_le32((__force u32)revents);
	return 0;
}

int vgpu_poll_announce(struct vgpu_peer *peer)
{
	struct vgpu_poll_event msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_POLL_EVENT),
	};
	struct vgpu_object *object;
	int ret = 0;

	while (!ret) {
		spin_lock_irq(&peer->events_lock);
		object = list_first_entry_or_null(&peer->events, struct vgpu_object, poll.node);
		if (object) {
			msg.object = cpu_to_le32(object->id);
			msg.revents = cpu_to_le32((__force u32)object->poll.revents);
			msg.number = cpu_to_le32(object->poll.revents_number);
			msg.flags = cpu_to_le32(object->poll.revents_answer ?
						VGPU_POLL_ANSWER : 0);
			object->poll.revents = 0;
			list_del_init(&object->poll.node);
		}
		spin_unlock_irq(&peer->events_lock);
		if (!object)
			break;
		ret = vgpu_control_send(peer, &msg, sizeof(msg));
	}
	return ret;
}
