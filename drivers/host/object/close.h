/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closes of objects by CLOSE messages.
 */
#ifndef _VGPU_HOST_CLOSE_H
#define _VGPU_HOST_CLOSE_H

#include <linux/list.h>
#include <linux/types.h>

struct vgpu_peer;
struct vgpuh_object;

/**
 * struct vgpuh_object_close - close of an object
 * @flushed: true if the driver's ->flush was called
 * @seq: number of the CLOSE message of the last reference
 * @node: list entry in peer->closes.list; protected by peer->closes.lock
 */
struct vgpuh_object_close {
	bool flushed;
	u64 seq;
	struct list_head node;
};

void vgpu_close_init(struct vgpu_peer *peer);
/* Queue @object for CLOSE message @seq, which has taken the guest's last reference of it. */
void vgpu_close_queue(struct vgpuh_object *object, u64 seq);
/* Check whether the control messages up to @seq have come, and all of their closes are applied. */
bool vgpu_close_applied(struct vgpu_peer *peer, u64 seq);
/*
 * Wait until vgpu_close_applied(), for @timeout jiffies at most. Return: 0, also at the end of that
 * time; -EINTR: the thread is being killed.
 */
int vgpuh_close_wait(struct vgpu_peer *peer, u64 seq, long timeout);
/* Wake those who wait, after a control message has come or a close is applied. */
void vgpuh_close_wake(struct vgpu_peer *peer);
/* Check whether all closes that came are applied. peer->wait is woken at a change. */
bool vgpu_close_all_over(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_CLOSE_H */
