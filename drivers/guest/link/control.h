/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the guest on the control connection, which have no reply. Any context that may
 * allocate can queue messages. A work item sends the messages in order, so that a dying task never
 * waits for a host.
 */
#ifndef VGPU_CONTROL_H
#define VGPU_CONTROL_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vgpu_control_msg;
struct vgpu_host;

/**
 * struct vgpu_control - the queue of one control connection
 * @lock: guards all fields but @work
 * @seq: number of the last CLOSE, UNMAP, SESSION_CLOSE, UNBIND or RELEASE
 * @needed: number of the last of these messages that must be applied before a new call runs; read
 *	without the lock
 * @late: number of late messages, on which no call depends, since @work was last queued without a
 *	delay
 * @queue: list of the messages to be sent, in order
 * @closed: true if no message is accepted any more
 * @work: work item that sends the queue
 */
struct vgpu_control {
	spinlock_t lock;
	u64 seq;
	u64 needed;
	unsigned int late;
	struct list_head queue;
	bool closed;
	struct delayed_work work;
};

int vgpu_control_global_init(void);
void vgpu_control_global_exit(void);
void vgpu_control_init(struct vgpu_control *control);
void vgpu_control_end(struct vgpu_control *control);
void vgpu_control_close(struct vgpu_host *host, u32 object, u32 reference, bool late);
void vgpu_control_unbind(struct vgpu_host *host, u64 window, u64 offset, u64 len);
void vgpu_control_unmap(struct vgpu_host *host, u64 session, u64 addr, u64 len);
void vgpu_control_session_close(struct vgpu_host *host, u64 session);
struct vgpu_control_msg *vgpu_control_release_alloc(void);
void vgpu_control_release(struct vgpu_host *host, struct vgpu_control_msg *msg, u64 number);
void vgpu_control_ping(struct vgpu_host *host, u16 type, u64 seq);

#endif /* VGPU_CONTROL_H */
