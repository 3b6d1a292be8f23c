/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closed objects whose files are not released yet.
 */
#ifndef _VGPU_HOST_LEAVE_H
#define _VGPU_HOST_LEAVE_H

#include <linux/list.h>
#include <linux/types.h>

struct task_struct;
struct vgpuh_object;
struct vgpu_peer;

/* State of a closed object whose file is to be released. */
enum vgpu_leave_state {
	VGPU_LEAVE_USED,	/* calls still use the object */
	VGPU_LEAVE_FREE,	/* no call uses it, its file is to be put */
	VGPU_LEAVE_SHARED,	/* others hold its file, too */
};

/**
 * struct vgpu_leave_wait - wait of the task that has closed an object
 * @task: the task
 * @over: there is nothing to wait for any more
 */
struct vgpu_leave_wait {
	struct task_struct *task;
	bool over;
};

/**
 * struct vgpuh_object_leave - release of an object's file; changed under peer->leaves.lock
 * @number: number in peer->leaves.list; 0: the object is not in it, and its release is not
 *	waited for
 * @node: list entry in peer->leaves.list
 * @state: holders that the file may still have
 * @wait: wait of the task that has closed the object; NULL: no task waits
 */
struct vgpuh_object_leave {
	u64 number;
	struct list_head node;
	enum vgpu_leave_state state;
	struct vgpu_leave_wait *wait;
};

void vgpu_leave_init(struct vgpu_peer *peer);
/*
 * Add @object, which the guest has just closed, to peer->leaves.list.
 * Context: peer->objects.lock is held.
 */
void vgpu_leave_begin(struct vgpu_peer *peer, struct vgpuh_object *object);
/* Hand @object, which no call uses, to the peer's work item, which puts its file and frees it. */
void vgpu_leave_free(struct vgpuh_object *object);
/* Check whether the files of all objects up to number @leave are released. */
bool vgpu_leave_over(struct vgpu_peer *peer, u64 leave);
/*
 * Announce that this task waits for @object, which it has closed and is about to put.
 * vgpu_leave_wait() has to follow.
 */
void vgpu_leave_expect(struct vgpuh_object *object, struct vgpu_leave_wait *wait);
/**
 * vgpu_leave_wait - wait until an object's file is released
 * @peer: peer of the object
 * @object: the object, which may be free by now
 * @wait: as given to vgpu_leave_expect()
 * @state: TASK_KILLABLE, or TASK_IDLE if the task cannot be killed
 *
 * A close does not wait for calls and others that still have the file.
 */
void vgpu_leave_wait(struct vgpu_peer *peer, struct vgpuh_object *object,
		     struct vgpu_leave_wait *wait, unsigned int state);
/*
 * Put the files of all objects in peer->leaves.list, even those that others hold, and wait for
 * that. Context: all objects are closed, and no call uses one.
 */
void vgpu_leave_all(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_LEAVE_H */
