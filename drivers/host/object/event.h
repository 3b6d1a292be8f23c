/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: eventfds of this machine that stand for those of a guest.
 */
#ifndef _VGPU_HOST_EVENT_H
#define _VGPU_HOST_EVENT_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct file;
struct vgpuh_object;
struct vgpu_peer;

/**
 * struct vgpuh_object_events - events of calls on an object; protected by peer->events.lock
 * @list: list in the order in which ioctls check the events
 * @tree: events by number
 */
struct vgpuh_object_events {
	struct list_head list;
	struct rb_root_cached tree;
};

/*
 * Let @file stand for the guest's eventfd @number: its first signal is reported.
 * Return: 0, -EMFILE, -ENOMEM.
 */
int vgpuh_event_add(struct vgpuh_object *object, u32 number, struct file *file);
/* Forget event @number, which the driver did not take. */
void vgpuh_event_cancel(struct vgpuh_object *object, u32 number);
/*
 * Note that the ioctl on @object that named event @number (0: none) is over, and check some
 * events of @object: those that no driver can signal any more are reported as over.
 */
void vgpuh_event_settle(struct vgpuh_object *object, u32 number);
void vgpuh_event_drop_all(struct vgpuh_object *object);
/* Send EVENTs for signalled eventfds. Context: the peer's sender. */
int vgpuh_event_announce(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_EVENT_H */
