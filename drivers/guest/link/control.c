// SPDX-License-Identifier: GPL-2.0-only
/* Messages of the guest on the control connection, see control.h. */
#include <linux/slab.h>

#include "link/control.h"
#include "link/host.h"

/* Timeout after which a host that accepts no bytes counts as lost. */
#define CONTROL_SEND_TIMEOUT_MS	10000
/* Limits of the wait of late messages (control_queue()): time in jiffies, number of messages. */
#define CONTROL_LATE_DELAY	msecs_to_jiffies(20)
#define CONTROL_LATE_MAX	16

struct vgpu_control_msg {
	struct list_head entry;
	bool sequenced;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_close close;
		struct vgpu_unmap unmap;
		struct vgpu_session_close session_close;
		struct vgpu_window_part part;
		struct vgpu_release release;
	};
};

static struct workqueue_struct *control_wq;

static struct vgpu_control_msg *control_next(struct vgpu_control *control)
{
	struct vgpu_control_msg *msg;

	spin_lock(&control->lock);
	msg = list_first_entry_or_null(&control->queue, struct vgpu_control_msg, entry);
	if (msg)
		list_del(&msg->entry);
	spin_unlock(&control->lock);
	return msg;
}

static void control_send(struct work_struct *work)
{
	struct vgpu_control *control = container_of(to_delayed_work(work), struct vgpu_control,
						    work);
	struct vgpu_host *host = container_of(control, struct vgpu_host, control);
	struct vgpu_control_msg *msg;

	while ((msg = control_next(control))) {
		size_t len = le32_to_cpu(msg->hdr.len);
		struct kvec vec = { .iov_base = &msg->hdr, .iov_len = len };

		/*
		 * After an error the receiving thread sees the end of the connection, and the
		 * dialer calls vgpu_host_abort().
		 */
		if (vgpu_conn_send(&host->conn, &vec, 1, len, CONTROL_SEND_TIMEOUT_MS))
			vgpu_conn_shutdown(&host->conn);
		kfree(msg);
	}
}

static void control_fill(struct vgpu_control_msg *msg, u16 type, size_t len)
{
	msg->hdr.type = cpu_to_le16(type);
	msg->hdr.len = cpu_to_le32(len);
	msg->sequenced = type != VGPU_MSG_PING && type != VGPU_MSG_PONG;
}

/*
 * Allocates a message. A lost message would leak an object or a mapping of the host for good,
 * so the allocation must not fail, and allocations of this size do not.
 */
static struct vgpu_control_msg *control_alloc(u16 type, size_t len)
{
	struct vgpu_control_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL | __GFP_NOFAIL);

	control_fill(msg, type, len);
	return msg;
}

/*
 * Queues @msg and consumes it; sequence numbers follow the order of the queue.
 * @late: true if no call depends on the message, so that it may wait for others
 */
static void control_queue(struct vgpu_host *host, struct vgpu_control_msg *msg, bool late)
{
	struct vgpu_control *control = &host->control;

	spin_lock(&control->lock);
	if (!control->closed) {
		if (msg->sequenced)
			msg->hdr.seq = cpu_to_le64(++control->seq);
		if (!late)
			WRITE_ONCE(control->needed, control->seq);
		list_add_tail(&msg->entry, &control->queue);
		if (late && ++control->late < CONTROL_LATE_MAX) {
			queue_delayed_work(control_wq, &control->work, CONTROL_LATE_DELAY);
		} else {
			control->late = 0;
			mod_delayed_work(control_wq, &control->work, 0);
		}
		msg = NULL;
	}
	spin_unlock(&control->lock);
	kfree(msg);
}

/**
 * vgpu_control_close - give a reference of an object back to the host
 * @host: the host
 * @object: number of the object
 * @reference: number of the reference; the host ignores one that it does not find
 * @late: true if the object's release is not observable: the message may be sent late, and calls
 *	made from now on may overtake it
 */
void vgpu_control_close(struct vgpu_host *host, u32 object, u32 reference, bool late)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_CLOSE, sizeof(msg->close));

	msg->close.object = cpu_to_le32(object);
	msg->close.reference = cpu_to_le32(reference);
	control_queue(host, msg, late);
}

/**
 * vgpu_control_unmap - unmap a part of a shadow's mappings
 * @host: the host
 * @session: number of the session of the shadow
 * @addr: address of the first byte in the shadow
 * @len: length in bytes
 */
void vgpu_control_unmap(struct vgpu_host *host, u64 session, u64 addr, u64 len)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_UNMAP, sizeof(msg->unmap));

	msg->unmap.session = cpu_to_le64(session);
	msg->unmap.addr = cpu_to_le64(addr);
	msg->unmap.len = cpu_to_le64(len);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_session_close - end a session and its shadow
 * @host: the host
 * @session: number of the session
 */
void vgpu_control_session_close(struct vgpu_host *host, u64 session)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_SESSION_CLOSE,
						sizeof(msg->session_close));

	msg->session_close.session = cpu_to_le64(session);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_unbind - unbind a range of the window
 * @host: the host
 * @window: number of the window
 * @offset: offset of the range in the window in bytes
 * @len: length of the range in bytes
 *
 * The UNMAPs of the mapping that has shown the range, if any, must have been queued before. The
 * host answers with UNBOUND.
 */
void vgpu_control_unbind(struct vgpu_host *host, u64 window, u64 offset, u64 len)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_UNBIND, sizeof(msg->part));

	msg->part.window = cpu_to_le64(window);
	msg->part.offset = cpu_to_le64(offset);
	msg->part.len = cpu_to_le64(len);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_release_alloc - allocate a message for vgpu_control_release()
 *
 * Return: the message, for vgpu_control_release() or kfree(), or NULL if there is no memory.
 */
struct vgpu_control_msg *vgpu_control_release_alloc(void)
{
	return kzalloc(sizeof(struct vgpu_control_msg), GFP_KERNEL_ACCOUNT);
}

/**
 * vgpu_control_release - have the host report when no device uses some memory any more
 * @host: the host
 * @msg: message from vgpu_control_release_alloc(); consumed
 * @number: number of the memory
 *
 * CLOSE messages of all files by which a driver could have the memory must have been queued
 * before. The answer comes to vgpu_keep_released(). No call depends on this message.
 */
void vgpu_control_release(struct vgpu_host *host, struct vgpu_control_msg *msg, u64 number)
{
	control_fill(msg, VGPU_MSG_RELEASE, sizeof(msg->release));
	msg->release.number = cpu_to_le64(number);
	control_queue(host, msg, true);
}

/* Queues a PING, which the host answers with PONG, or a PONG, the answer to the host's PING. */
void vgpu_control_ping(struct vgpu_host *host, u16 type, u64 seq)
{
	struct vgpu_control_msg *msg = control_alloc(type, sizeof(msg->hdr));

	msg->hdr.seq = cpu_to_le64(seq);
	control_queue(host, msg, false);
}

/* Initializes an empty queue. */
void vgpu_control_init(struct vgpu_control *control)
{
	spin_lock_init(&control->lock);
	INIT_LIST_HEAD(&control->queue);
	INIT_DELAYED_WORK(&control->work, control_send);
}

/* Ends the queue and frees its messages. The connection is down already, so no send waits. */
void vgpu_control_end(struct vgpu_control *control)
{
	struct vgpu_control_msg *msg;

	spin_lock(&control->lock);
	control->closed = true;
	spin_unlock(&control->lock);
	cancel_delayed_work_sync(&control->work);
	while ((msg = control_next(control)))
		kfree(msg);
}

int vgpu_control_global_init(void)
{
	control_wq = alloc_workqueue("vgpu_control", WQ_UNBOUND, 0);
	return control_wq ? 0 : -ENOMEM;
}

void vgpu_control_global_exit(void)
{
	destroy_workqueue(control_wq);
}
