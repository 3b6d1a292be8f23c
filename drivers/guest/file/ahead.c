// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read-ahead of the events of DRM files. Programs read one event at a time, even if a hundred
 * are queued, and each would cost a round trip. So one READ call takes all queued events. Events
 * for which the program's buffer has no room are kept for the next read() of the file, by any
 * process.
 *
 * A READ call waits for one event at most, as drm_read() does, so no event is delayed. One
 * reader at a time has the *turn*: it takes kept events, or makes the call. Other readers wait
 * for the turn and not on the host. On the host they would sleep while events for them may be
 * kept here.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include <drm/drm.h>

#include "argument/marshal.h"
#include "file/ahead.h"
#include "file/op.h"
#include "link/call.h"
#include "link/clock_convert.h"
#include "link/export.h"
#include "link/host.h"
#include "memory/object.h"

/*
 * Length of a READ call in bytes: nearly the space that DRM gives a file for unread events
 * (drm_file->event_space: 4096).
 */
#define AHEAD_BYTES	(4096 - 64)

/**
 * struct vgpu_events_ahead - kept events of one object
 * @lock: guards @busy and @waits
 * @busy: true if a reader has the turn
 * @waits: true if the reader with the turn waits on the host for an event
 * @wait: wait queue of readers that want the turn
 * @pos: offset in @data of the first byte that was not read; this field and all below are
 *	written by the reader with the turn
 * @len: number of bytes in @data; anyone may compare it with @pos to see if there are events
 * @data: kept events, always whole ones
 */
struct vgpu_events_ahead {
	spinlock_t lock;
	bool busy;
	bool waits;
	wait_queue_head_t wait;
	u32 pos;
	u32 len;
	u8 data[AHEAD_BYTES];
};

/*
 * Return: true for files of DRM devices and leases; other files of DRM drivers have records of
 * other formats.
 */
bool vgpu_ahead_is_for(const struct vgpu_object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE &&
		(object->export->kind == VGPU_EXPORT_DRM_PRIMARY ||
		 object->export->kind == VGPU_EXPORT_DRM_RENDER);
}

static struct vgpu_events_ahead *ahead_get(struct vgpu_object *object)
{
	struct vgpu_events_ahead *ahead = READ_ONCE(object->ahead), *other;

	if (ahead)
		return ahead;
	ahead = kzalloc(sizeof(*ahead), GFP_KERNEL_ACCOUNT);
	if (!ahead)
		return NULL;
	spin_lock_init(&ahead->lock);
	init_waitqueue_head(&ahead->wait);
	other = cmpxchg(&object->ahead, NULL, ahead);
	if (!other)
		return ahead;
	kfree(ahead);
	return other;
}

static bool ahead_has_any(const struct vgpu_events_ahead *ahead)
{
	return READ_ONCE(ahead->pos) < READ_ONCE(ahead->len);
}

/* Return: EPOLLIN if events are kept, which can be read although the host's queue may be empty. */
__poll_t vgpu_ahead_poll(const struct vgpu_object *object)
{
	const struct vgpu_events_ahead *ahead = READ_ONCE(object->ahead);

	return ahead && ahead_has_any(ahead) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Tries to take the turn. Return: 1: taken; -EAGAIN: the caller must not wait for an event; 0:
 * not yet.
 */
static int ahead_try(struct vgpu_events_ahead *ahead, bool nonblock)
{
	int ret = 0;

	spin_lock(&ahead->lock);
	if (!ahead->busy) {
		ahead->busy = true;
		ret = 1;
	} else if (nonblock && ahead->waits) {
		/* The reader with the turn waits for the next event, so there is none. */
		ret = -EAGAIN;
	}
	spin_unlock(&ahead->lock);
	return ret;
}

static int ahead_begin(struct vgpu_events_ahead *ahead, bool nonblock)
{
	int turn = 0;

	return wait_event_interruptible(ahead->wait, (turn = ahead_try(ahead, nonblock))) ?:
		min(turn, 0);
}

static void ahead_end(struct vgpu_events_ahead *ahead)
{
	spin_lock(&ahead->lock);
	ahead->busy = false;
	spin_unlock(&ahead->lock);
	wake_up(&ahead->wait);
}

/*
 * Notes whether the reader with the turn waits on the host, and wakes non-blocking readers if
 * so.
 */
static void ahead_set_waits(struct vgpu_events_ahead *ahead, bool waits)
{
	spin_lock(&ahead->lock);
	ahead->waits = waits;
	spin_unlock(&ahead->lock);
	if (waits)
		wake_up(&ahead->wait);
}

struct ahead_stamps {
	struct vgpu_object *object;
	const struct vgpu_reply *reply;
};

static void ahead_stamp(void *data, u32 clock, s64 *time)
{
	struct ahead_stamps *stamps = data;
	struct vgpu_object *object = stamps->object;

	vgpu_clock_convert(object->host, &object->times, stamps->reply, clock, time);
}

/* Reads all queued events into @ahead. Return: number of bytes, 0, or an errno. */
static ssize_t ahead_fill(struct file *file, struct vgpu_events_ahead *ahead, char __user *buf)
{
	static const struct vgpu_marshal_fds fds = { .stamp = ahead_stamp };
	struct vgpu_object *object = file->private_data;
	struct ahead_stamps stamps = { .object = object };
	struct vgpu_guest_call xcall;
	bool replied;
	s64 ret;

	if (!(file->f_flags & O_NONBLOCK))
		ahead_set_waits(ahead, true);
	vgpu_op_fill_call(file, &xcall, VGPU_OP_READ, 0);
	vgpu_guest_call_seg(&xcall, buf, AHEAD_BYTES, VGPU_SEG_OUT, NULL);
	ret = vgpu_op_call(file, &xcall, &replied);
	ahead_set_waits(ahead, false);
	if (ret > 0) {
		memcpy(ahead->data, xcall.reply.data, ret);
		stamps.reply = xcall.reply.reply;
		vgpu_marshal_events(object->schema, ahead->data, ret, &fds, &stamps);
		WRITE_ONCE(ahead->pos, 0);
		WRITE_ONCE(ahead->len, ret);
	}
	vgpu_guest_call_fini(&xcall);
	return ret;
}

/* Returns the length of the first event, or @room at most if the bytes there are no valid event. */
static u32 ahead_event_len(const struct vgpu_events_ahead *ahead, size_t room)
{
	u32 left = ahead->len - ahead->pos;
	struct drm_event event;

	if (left >= sizeof(event)) {
		memcpy(&event, ahead->data + ahead->pos, sizeof(event));
		if (event.length >= sizeof(event) && event.length <= left)
			return event.length;
	}
	return min_t(size_t, left, room);
}

/* Copies whole events, as many as fit; an event that cannot be copied stays, as in drm_read(). */
static ssize_t ahead_take(struct vgpu_events_ahead *ahead, char __user *buf, size_t count)
{
	ssize_t done = 0;
	u32 len;

	while (ahead_has_any(ahead)) {
		len = ahead_event_len(ahead, count - done);
		if (len > count - done)
			break;
		if (copy_to_user(buf + done, ahead->data + ahead->pos, len))
			return done ? done : -EFAULT;
		WRITE_ONCE(ahead->pos, ahead->pos + len);
		done += len;
		if (!len)
			break;
	}
	return done;
}

/**
 * vgpu_ahead_read - read events of a DRM file
 * @file: file of an object for which vgpu_ahead_is_for() is true
 * @buf: buffer of the program
 * @count: size of the buffer in bytes
 *
 * Return: as drm_read().
 */
ssize_t vgpu_ahead_read(struct file *file, char __user *buf, size_t count)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_events_ahead *ahead = ahead_get(object);
	ssize_t ret;

	if (!ahead)
		return -ENOMEM;
	ret = ahead_begin(ahead, file->f_flags & O_NONBLOCK);
	if (ret)
		return ret;
	if (!ahead_has_any(ahead))
		ret = ahead_fill(file, ahead, buf);
	else
		atomic64_inc(&object->export->stats.calls);
	if (ret >= 0)
		ret = ahead_take(ahead, buf, count);
	ahead_end(ahead);
	/* Wake pollers for the kept events: the host has no events left, and reports no wakeup. */
	if (ahead_has_any(ahead))
		wake_up_interruptible_poll(&object->readiness.wait, EPOLLIN | EPOLLRDNORM);
	return ret;
}
