// SPDX-License-Identifier: GPL-2.0-only
/* One-way messages on the control connection: see control.h. */
#include <linux/slab.h>
#include <linux/uio.h>

#include "uapi/linux/vgpu_wire.h"

#include "control.h"
#include "host.h"

/* A host that takes nothing for so long is as good as gone. */
#define CONTROL_SEND_TIMEOUT_MS	10000
/* What is not urgent waits so long for more, or until there are so many. */
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

		/* After an error the receiving thread sees the end and aborts. */
		if (vgpu_conn_send(&host->conn, &vec, 1, len, CONTROL_SEND_TIMEOUT_MS))
			vgpu_conn_shutdown(&host->conn);
		kfree(msg);
	}
}

static void control_fill(struct vgpu_control_msg *msg, u16 type, size_t len)
{
	msg->hdr.type = cpu_to_le16(type);
	msg->hdr.len = cpu_to_le32(len);
}

/*
 * An allocation that may fail would lose an object or a mapping of the host for
 * good; those of this size do not.
 */
static struct vgpu_control_msg *control_alloc(u16 type, size_t len)
{
	struct vgpu_control_msg *msg = kzalloc(sizeof(*msg), GFP_KERNEL | __GFP_NOFAIL);

	control_fill(msg, type, len);
	return msg;
}

/*
 * Takes @msg over. The order of numbers is that of the queue.
 * @late: no call has to come after it, so that it may wait for others
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

static struct vgpu_control_msg *control_alloc_close(u32 object, u32 reference)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_CLOSE, sizeof(msg->close));

	msg->sequenced = true;
	msg->close.object = cpu_to_le32(object);
	msg->close.reference = cpu_to_le32(reference);
	return msg;
}

/**
 * vgpu_control_close - the guest's reference to an object is gone
 * @host: the host
 * @object: number of the object
 * @reference: of which; the host passes over one that is gone already
 */
void vgpu_control_close(struct vgpu_host *host, u32 object, u32 reference)
{
	control_queue(host, control_alloc_close(object, reference), false);
}

/**
 * vgpu_control_close_late - likewise, of an object whose end nobody can see
 * @host: the host
 * @object: number of the object
 * @reference: of which
 *
 * Calls that are made now may overtake it.
 */
void vgpu_control_close_late(struct vgpu_host *host, u32 object, u32 reference)
{
	control_queue(host, control_alloc_close(object, reference), true);
}

/**
 * vgpu_control_unmap - a part of a mapping is gone
 * @host: the host
 * @session: number of the session whose shadow has it
 * @addr: first byte
 * @len: bytes
 */
void vgpu_control_unmap(struct vgpu_host *host, u64 session, u64 addr, u64 len)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_UNMAP, sizeof(msg->unmap));

	msg->sequenced = true;
	msg->unmap.session = cpu_to_le64(session);
	msg->unmap.addr = cpu_to_le64(addr);
	msg->unmap.len = cpu_to_le64(len);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_session_close - nothing needs a session's shadow any more
 * @host: the host
 * @session: number of the session
 */
void vgpu_control_session_close(struct vgpu_host *host, u64 session)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_SESSION_CLOSE,
						sizeof(msg->session_close));

	msg->sequenced = true;
	msg->session_close.session = cpu_to_le64(session);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_unbind - a range of the window is not used any more
 * @host: the host
 * @window: number of the window
 * @offset: first byte
 * @len: bytes
 *
 * After the unmaps of what was seen there. Answered by UNBOUND.
 */
void vgpu_control_unbind(struct vgpu_host *host, u64 window, u64 offset, u64 len)
{
	struct vgpu_control_msg *msg = control_alloc(VGPU_MSG_UNBIND, sizeof(msg->part));

	msg->sequenced = true;
	msg->part.window = cpu_to_le64(window);
	msg->part.offset = cpu_to_le64(offset);
	msg->part.len = cpu_to_le64(len);
	control_queue(host, msg, false);
}

/**
 * vgpu_control_release_alloc - allocate a message that may have to be queued later
 *
 * Return: it, for vgpu_control_release() or kfree(); NULL: there is no memory.
 */
struct vgpu_control_msg *vgpu_control_release_alloc(void)
{
	return kzalloc(sizeof(struct vgpu_control_msg), GFP_KERNEL_ACCOUNT);
}

/**
 * vgpu_control_release - ask to hear when no device of the host uses some memory any more
 * @host: the host
 * @msg: from vgpu_control_release_alloc(); it is taken over
 * @number: number of the memory
 *
 * CLOSE messages of all files by which a driver could have the memory were queued before. The
 * answer comes to vgpu_keep_released(). No call waits for this message.
 */
void vgpu_control_release(struct vgpu_host *host, struct vgpu_control_msg *msg, u64 number)
{
	control_fill(msg, VGPU_MSG_RELEASE, sizeof(msg->release));
	msg->sequenced = true;
	msg->release.number = cpu_to_le64(number);
	control_queue(host, msg, true);
}

static void control_queue_hdr(struct vgpu_host *host, u16 type, u64 seq)
{
	struct vgpu_control_msg *msg = control_alloc(type, sizeof(msg->hdr));

	msg->hdr.seq = cpu_to_le64(seq);
	control_queue(host, msg, false);
}

/* Asks the host for a sign of life. */
void vgpu_control_ping(struct vgpu_host *host, u64 seq)
{
	control_queue_hdr(host, VGPU_MSG_PING, seq);
}

/* Gives one. */
void vgpu_control_pong(struct vgpu_host *host, u64 seq)
{
	control_queue_hdr(host, VGPU_MSG_PONG, seq);
}

/* Number of the last message that a call made now has to come after. */
u64 vgpu_control_seq(struct vgpu_host *host)
{
	return READ_ONCE(host->control.needed);
}

/* Begins with an empty queue. */
void vgpu_control_init(struct vgpu_control *control)
{
	spin_lock_init(&control->lock);
	INIT_LIST_HEAD(&control->queue);
	INIT_DELAYED_WORK(&control->work, control_send);
}

/* Nothing is sent any more. The connection is down, so no send waits. */
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
