/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readiness of objects.
 */
#ifndef _VGPU_HOST_POLL_H
#define _VGPU_HOST_POLL_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vgpuh_object;
struct vgpu_peer;

struct vgpu_poll {
	/* Mutex that protects all fields but @woken, @node and @revents*. */
	struct mutex lock;
	struct list_head entries;
	/* True if the driver's ->poll() takes no event away, so any thread may call it. */
	bool looks;
	bool stay;
	bool failed;
	/* Number in the last POLL call, or in a later IOCTL whose reply had an answer. */
	u32 number;
	/* Events whose wakeups are reported. Written under @lock. */
	__poll_t events;
	/* Events of the wakeups since @work ran last. */
	atomic_t woken;
	struct work_struct work;
	/* Entry of peer->events.ready, and what to report; protected by peer->events.lock. */
	struct list_head node;
	__poll_t revents;
	u32 revents_number;
	bool revents_answer;
};

/* Initialize object->poll; the object's file and kind are set. */
void vgpu_poll_init(struct vgpuh_object *object);
/*
 * Report the signal of a fence to the guest from now on.
 * Return: VGPU_OBJECT_WATCHED, VGPU_OBJECT_SIGNALED, or 0.
 */
u32 vgpu_poll_watch(struct vgpuh_object *object);
/*
 * Arm the object for @events of a poller. @number: number of the poller's last call. @stay: true
 * if each wakeup is to be reported, from now on.
 * Return: events that the object is ready for; -EINTR; -ENOMEM: the object is ready for none, and
 * wakeups would be missed.
 */
s64 vgpu_poll_arm(struct vgpuh_object *object, u32 events, u32 number, bool stay);
/*
 * Ask an object that is armed for all events what it is ready for, if its ->poll() takes no event
 * away. @number: number of the poller's last call. @revents: out: the events.
 * Return: false if it was not asked.
 */
bool vgpu_poll_ask(struct vgpuh_object *object, u32 number, u32 *revents);
void vgpu_poll_fini(struct vgpuh_object *object);
/*
 * Wake the guest's pollers of an object that the guest has not closed, and that is not in the
 * tables any more: their next POLL calls fail.
 */
void vgpu_poll_hang_up(struct vgpuh_object *object);
/* Send POLL_EVENTs for objects that became ready. Context: the peer's sender. */
int vgpu_poll_announce(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_POLL_H */
