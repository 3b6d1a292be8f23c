// SPDX-License-Identifier: GPL-2.0-only
/*
 * read() of DRM files. Programs take one event a read(), where a hundred may be queued, and
 * each would be a round trip. So one READ call takes all that is queued, and what the
 * program's buffer has no room for is kept for the next read() of the file, whoever makes that.
 *
 * A call never waits for more than one event, as drm_read() does not, so nothing comes later
 * than it would. One reader at a time has the *turn*: it takes what is kept, or makes the
 * call. Others wait for the turn, not for the host, or what the first one is given for them
 * would lie here while they wait there.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include <drm/drm.h>

#include "ahead.h"
#include "call.h"
#include "clock.h"
#include "export.h"
#include "file.h"
#include "host.h"
#include "object.h"

/* Nearly all that DRM lets a file have of unread events (drm_file->event_space: 4096). */
#define AHEAD_BYTES	(4096 - 64)

/**
 * struct vgpu_ahead - events of one object
 * @lock: guards @busy and @waits
 * @busy: a reader has the turn
 * @waits: it has, and waits at the host for an event that is not there yet
 * @wait: readers that want the turn
 * @pos: first byte of @data that was not read; of who has the turn, like what follows
 * @len: bytes of @data; read anywhere, together with @pos, for whether there are any
 * @data: whole events
 */
struct vgpu_ahead {
	spinlock_t lock;
	bool busy;
	bool waits;
	wait_queue_head_t wait;
	u32 pos;
	u32 len;
	u8 data[AHEAD_BYTES];
};

/* Files of devices, leases too; what else DRM drivers make has records of its own. */
bool vgpu_ahead_is_for(const struct vgpu_object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE &&
		(object->export->kind == VGPU_EXPORT_DRM_PRIMARY ||
		 object->export->kind == VGPU_EXPORT_DRM_RENDER);
}

static struct vgpu_ahead *ahead_get(struct vgpu_object *object)
{
	struct vgpu_ahead *ahead = READ_ONCE(object->ahead), *other;

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

void vgpu_ahead_free(struct vgpu_object *object)
{
	kfree(object->ahead);
}

static bool ahead_has_any(const struct vgpu_ahead *ahead)
{
	return READ_ONCE(ahead->pos) < READ_ONCE(ahead->len);
}

/* Events that are kept can be read, whatever the host says of its queue. */
__poll_t vgpu_ahead_poll(const struct vgpu_object *object)
{
	const struct vgpu_ahead *ahead = READ_ONCE(object->ahead);

	return ahead && ahead_has_any(ahead) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* Return: 1: the caller has the turn; -EAGAIN: it is not to wait for an event; 0: not yet. */
static int ahead_try(struct vgpu_ahead *ahead, bool nonblock)
{
	int ret = 0;

	spin_lock(&ahead->lock);
	if (!ahead->busy) {
		ahead->busy = true;
		ret = 1;
	} else if (nonblock && ahead->waits) {
		/* Somebody waits for the next event, so there is none. */
		ret = -EAGAIN;
	}
	spin_unlock(&ahead->lock);
	return ret;
}

static int ahead_begin(struct vgpu_ahead *ahead, bool nonblock)
{
	int ret, turn = 0;

	ret = wait_event_interruptible(ahead->wait, (turn = ahead_try(ahead, nonblock)));
	if (ret)
		return ret;
	return turn < 0 ? turn : 0;
}

static void ahead_end(struct vgpu_ahead *ahead)
{
	spin_lock(&ahead->lock);
	ahead->busy = false;
	spin_unlock(&ahead->lock);
	wake_up(&ahead->wait);
}

/* While one reader waits, those that must not wait have their answer. */
static void ahead_set_waits(struct vgpu_ahead *ahead, bool waits)
{
	spin_lock(&ahead->lock);
	ahead->waits = waits;
	spin_unlock(&ahead->lock);
	if (waits)
		wake_up(&ahead->wait);
}

/* All that is queued. Return: bytes, 0, or an errno. */
static ssize_t ahead_fill(struct file *file, struct vgpu_ahead *ahead, char __user *buf)
{
	struct vgpu_seg seg = {
		.addr = cpu_to_le64((unsigned long)buf),
		.len = cpu_to_le32(AHEAD_BYTES),
		.flags = cpu_to_le32(VGPU_SEG_OUT),
	};
	struct vgpu_xcall xcall;
	bool replied;
	s64 ret;

	if (!(file->f_flags & O_NONBLOCK))
		ahead_set_waits(ahead, true);
	vgpu_file_fill_call(file, &xcall, VGPU_OP_READ, 0);
	xcall.segs = &seg;
	xcall.nr_segs = 1;
	ret = vgpu_file_call(file, &xcall, &replied);
	ahead_set_waits(ahead, false);
	if (ret > 0) {
		memcpy(ahead->data, xcall.reply.data, ret);
		vgpu_clock_events(file->private_data, xcall.reply.reply, ahead->data, ret);
		WRITE_ONCE(ahead->pos, 0);
		WRITE_ONCE(ahead->len, ret);
	}
	vgpu_xcall_fini(&xcall);
	return ret;
}

/* Bytes of the first event; of what is no event, as many as there is @room for. */
static u32 ahead_event_len(const struct vgpu_ahead *ahead, size_t room)
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

/* As drm_read(): whole events, as many as fit, and one that cannot be copied stays. */
static ssize_t ahead_take(struct vgpu_ahead *ahead, char __user *buf, size_t count)
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
 * @file: one with an object that this is for
 * @buf: of the program
 * @count: bytes of it
 *
 * Return: as drm_read().
 */
ssize_t vgpu_ahead_read(struct file *file, char __user *buf, size_t count)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_ahead *ahead = ahead_get(object);
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
	/* The host, which has told of them, has none any more. */
	if (ahead_has_any(ahead))
		wake_up_interruptible_poll(&object->wait, EPOLLIN | EPOLLRDNORM);
	return ret;
}
