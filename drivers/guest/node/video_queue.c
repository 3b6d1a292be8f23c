// SPDX-License-Identifier: GPL-2.0-only
/*
 * Video queues: fds of the buffers in V4L2 queues. A driver remembers the fds of the dma-bufs
 * and of the request with which a buffer was queued, and returns them whenever it describes the
 * buffer. These are fds on the host, where the program expects its own. So the guest stores the
 * program's fds as well, by type of queue and index of the buffer, for each open file, and
 * writes them to the results.
 *
 * All files that have the node open may share a queue. The fds of a buffer that another file
 * has queued are returned as -1.
 */
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/media.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "argument/schema.h"
#include "argument/schema/tables.h"
#include "argument/schema_uapi.h"
#include "file/class.h"
#include "file/file.h"
#include "file/object.h"
#include "link/host.h"
#include "node/video_queue.h"

/* Limits above those of videobuf2; buffers beyond them are not stored. */
#define QUEUE_TYPES	32
#define QUEUE_BUFFERS	1024

/**
 * struct video_layout - layout of a struct v4l2_buffer of 64-bit or 32-bit programs
 * @size: size of the struct
 * @memory: offset of the member memory
 * @m: offset of the member m; a pointer has 8 bytes in the native layout, else 4
 * @length: offset of the member length
 * @request_fd: offset of the member request_fd
 * @plane_size: size of a struct v4l2_plane
 * @plane_m: offset of its member m
 */
struct video_layout {
	u8 size;
	u8 memory;
	u8 m;
	u8 length;
	u8 request_fd;
	u8 plane_size;
	u8 plane_m;
};

#define LAYOUT(b, p) { \
	.size = sizeof(b), \
	.memory = offsetof(b, memory), \
	.m = offsetof(b, m), \
	.length = offsetof(b, length), \
	.request_fd = offsetof(b, request_fd), \
	.plane_size = sizeof(p), \
	.plane_m = offsetof(p, m), \
}

static const struct video_layout layout_native = LAYOUT(struct v4l2_buffer, struct v4l2_plane);
static const struct video_layout layout_32 =
	LAYOUT(struct v4l2_buffer32, struct v4l2_plane32);
static const struct video_layout layout_32_time32 =
	LAYOUT(struct v4l2_buffer32_time32, struct v4l2_plane32);

static const struct video_layout *layout_of(unsigned int cmd, bool compat)
{
	switch (cmd) {
	case VIDIOC_QUERYBUF:
	case VIDIOC_QBUF:
	case VIDIOC_DQBUF:
	case VIDIOC_PREPARE_BUF:
		return compat ? NULL : &layout_native;
	case VIDIOC_QUERYBUF32:
	case VIDIOC_QBUF32:
	case VIDIOC_DQBUF32:
	case VIDIOC_PREPARE_BUF32:
		return compat ? &layout_32 : NULL;
	case VIDIOC_QUERYBUF32_TIME32:
	case VIDIOC_QBUF32_TIME32:
	case VIDIOC_DQBUF32_TIME32:
	case VIDIOC_PREPARE_BUF32_TIME32:
		return compat ? &layout_32_time32 : NULL;
	default:
		return NULL;
	}
}

static u32 member(const u8 *raw, u8 offset)
{
	u32 value;

	memcpy(&value, raw + offset, sizeof(value));
	return value;
}

/* Read a buffer. Return: false if the memory cannot be read; driver or program will notice. */
static bool buffer_read(const struct video_layout *layout, unsigned long arg,
			struct vgpu_video_buffer *buffer)
{
	u8 raw[sizeof(struct v4l2_buffer)] __aligned(8);
	u64 planes = 0;
	u32 i;

	if (copy_from_user(raw, (void __user *)arg, layout->size))
		return false;
	memset(buffer, 0, sizeof(*buffer));
	buffer->index = member(raw, offsetof(struct v4l2_buffer, index));
	buffer->type = member(raw, offsetof(struct v4l2_buffer, type));
	buffer->flags = member(raw, offsetof(struct v4l2_buffer, flags));
	buffer->memory = member(raw, layout->memory);
	buffer->request_fd = member(raw, layout->request_fd);
	if (buffer->memory != V4L2_MEMORY_DMABUF)
		return true;
	if (!V4L2_TYPE_IS_MULTIPLANAR(buffer->type)) {
		buffer->nr_fds = 1;
		buffer->fds[0] = member(raw, layout->m);
		buffer->places[0] = arg + layout->m;
		return true;
	}
	memcpy(&planes, raw + layout->m, layout == &layout_native ? sizeof(u64) : sizeof(u32));
	buffer->nr_fds = min_t(u32, member(raw, layout->length), VIDEO_MAX_PLANES);
	for (i = 0; i < buffer->nr_fds; i++) {
		buffer->places[i] = planes + i * layout->plane_size + layout->plane_m;
		if (get_user(buffer->fds[i], (s32 __user *)buffer->places[i]))
			return false;
	}
	return true;
}

static bool queue_key(const struct vgpu_video_buffer *buffer, unsigned long *key)
{
	*key = (unsigned long)buffer->type * QUEUE_BUFFERS + buffer->index;
	return buffer->type < QUEUE_TYPES && buffer->index < QUEUE_BUFFERS;
}

/* Get the stored fds of a buffer; all are -1 if there are none. Return: true if there are some. */
static bool queue_recall(struct vgpu_object *object, const struct vgpu_video_buffer *buffer,
			 struct vgpu_video_queued *queued)
{
	struct vgpu_video_queued *entry;
	unsigned long key;

	memset(queued, 0, sizeof(*queued));
	queued->request_fd = -1;
	memset(queued->fds, 0xff, sizeof(queued->fds));
	if (!queue_key(buffer, &key))
		return false;
	xa_lock(&object->node.queued);
	entry = xa_load(&object->node.queued, key);
	if (entry)
		*queued = *entry;
	xa_unlock(&object->node.queued);
	return entry;
}

/* Store the fds of a buffer, or remove them if @queued is NULL or there is no memory. */
static void queue_remember(struct vgpu_object *object, const struct vgpu_video_buffer *buffer,
			   const struct vgpu_video_queued *queued)
{
	struct vgpu_video_queued *entry = NULL, *old;
	unsigned long key;

	if (!queue_key(buffer, &key))
		return;
	if (queued)
		entry = kmemdup(queued, sizeof(*queued), GFP_KERNEL_ACCOUNT);
	old = entry ? xa_store(&object->node.queued, key, entry, GFP_KERNEL_ACCOUNT) : NULL;
	if (!entry || xa_is_err(old)) {
		kfree(entry);
		old = xa_erase(&object->node.queued, key);
	}
	/* Readers of an entry hold the lock under which the entry was removed. */
	kfree(old);
}

/* Find the key of buffer @first of @type. Return: number of possible buffers up to @count. */
static u32 queue_range(u32 type, u32 first, u32 count, unsigned long *key)
{
	if (type >= QUEUE_TYPES || first >= QUEUE_BUFFERS)
		return 0;
	*key = (unsigned long)type * QUEUE_BUFFERS + first;
	return min(count, QUEUE_BUFFERS - first);
}

/* Remove the fds of buffers of @type: the next ones with these indexes are new. */
static void queue_forget(struct vgpu_object *object, u32 type, u32 first, u32 count)
{
	struct vgpu_video_queued *entry;
	unsigned long start, key;

	count = queue_range(type, first, count, &start);
	if (!count)
		return;
	xa_for_each_range(&object->node.queued, key, entry, start, start + count - 1)
		kfree(xa_erase(&object->node.queued, key));
}

/* Mark buffers of @type as dequeued. */
static void queue_off(struct vgpu_object *object, u32 type, u32 first, u32 count)
{
	struct vgpu_video_queued *entry;
	unsigned long start, key;

	count = queue_range(type, first, count, &start);
	if (!count)
		return;
	xa_lock(&object->node.queued);
	xa_for_each_range(&object->node.queued, key, entry, start, start + count - 1)
		entry->prepared = false;
	xa_unlock(&object->node.queued);
}

/* Mark buffers as dequeued that the request @object returns without having queued them. */
static void queue_reinit(struct vgpu_object *object)
{
	struct vgpu_video_queued *entry;
	struct vgpu_object *other;
	unsigned long key;
	int bucket;

	spin_lock(&object->host->lock);
	hash_for_each(object->host->objects.by_id, bucket, other, hash) {
		if (other->schema != &vgpu_schema_v4l2)
			continue;
		xa_lock(&other->node.queued);
		xa_for_each(&other->node.queued, key, entry)
			if (entry->request == object->id)
				entry->prepared = false;
		xa_unlock(&other->node.queued);
	}
	spin_unlock(&object->host->lock);
}

/* Return: number of the object of @host behind the program's @fd; 0 if there is none. */
static u32 object_of_fd(struct vgpu_host *host, int fd)
{
	struct file *file = fget(fd);
	struct vgpu_object *object;
	u32 id = 0;

	if (!file)
		return 0;
	object = vgpu_file_object(file);
	if (object && object->host == host)
		id = object->id;
	fput(file);
	return id;
}

/* Store the fds of QBUF or PREPARE_BUF before the call: other calls may return the buffer early. */
static void queue_give(struct vgpu_video_call *call, struct vgpu_object *object)
{
	const struct vgpu_video_buffer *given = &call->given;
	struct vgpu_video_queued queued;
	bool request = given->flags & V4L2_BUF_FLAG_REQUEST_FD;

	if (!given->nr_fds && !request)
		return;
	call->had = queue_recall(object, given, &call->before);
	queued = call->before;
	if (!queued.prepared)
		memcpy(queued.fds, given->fds, given->nr_fds * sizeof(given->fds[0]));
	if (request || !queued.prepared) {
		queued.request_fd = request ? given->request_fd : -1;
		queued.request = request ? object_of_fd(object->host, given->request_fd) : 0;
	}
	queued.prepared = true;
	queue_remember(object, given, &queued);
	call->gave = true;
}

static bool buffer_write(const struct vgpu_video_call *call, const struct vgpu_video_buffer *now,
			 const struct vgpu_video_queued *queued, unsigned long arg)
{
	bool ok = true;
	u32 i;

	if (now->flags & V4L2_BUF_FLAG_REQUEST_FD)
		ok = !put_user(queued->request_fd,
			       (s32 __user *)(arg + call->layout->request_fd));
	for (i = 0; i < now->nr_fds; i++) {
		s32 fd = queued->fds[i];

		/*
		 * The host has restored the program's fd if the driver left the field unchanged.
		 * Another value is an fd of the host, which means nothing to the program.
		 */
		if (call->gave && !call->before.prepared && now->fds[i] != fd)
			fd = -1;
		/* The driver has no fd yet; no fd that the host passes is 0. */
		if (!now->fds[i])
			continue;
		ok = !put_user(fd, (s32 __user *)now->places[i]) && ok;
	}
	return ok;
}

static void buffer_done(struct vgpu_video_call *call, struct vgpu_object *object,
			unsigned int cmd, unsigned long arg)
{
	struct vgpu_video_queued queued;
	struct vgpu_video_buffer now;
	bool ok = buffer_read(call->layout, arg, &now);

	if (ok) {
		queue_recall(object, &now, &queued);
		if (_IOC_NR(cmd) == _IOC_NR(VIDIOC_DQBUF))
			queue_off(object, now.type, now.index, 1);
		ok = buffer_write(call, &now, &queued, arg);
	}
	if (!ok)
		pr_debug("%s: cannot replace the fds in the program's buffer\n", current->comm);
}

/* Read a buffer before an ioctl and store its fds. @data: out: struct vgpu_video_call */
static void queue_ioctl_begin(void *data, struct vgpu_object *object, unsigned int cmd,
			      unsigned long arg, bool compat)
{
	struct vgpu_video_call *call = data;

	call->gave = false;
	call->layout = object->schema == &vgpu_schema_v4l2 ? layout_of(cmd, compat) : NULL;
	if (!call->layout || (_IOC_NR(cmd) != _IOC_NR(VIDIOC_QBUF) &&
			      _IOC_NR(cmd) != _IOC_NR(VIDIOC_PREPARE_BUF)))
		return;
	if (buffer_read(call->layout, arg, &call->given))
		queue_give(call, object);
}

/*
 * Replace the host's fds in the results of an ioctl by the program's. A program that changes its
 * argument meanwhile may get wrong fds.
 */
static void queue_ioctl_end(void *data, struct vgpu_object *object, unsigned int cmd,
			    unsigned long arg, bool ok)
{
	struct vgpu_video_call *call = data;
	struct v4l2_remove_buffers removed;
	u32 type;

	if (ok && object->schema == &vgpu_schema_media && cmd == MEDIA_REQUEST_IOC_REINIT)
		queue_reinit(object);
	if (object->schema != &vgpu_schema_v4l2)
		return;
	if (!ok) {
		if (call->gave)
			queue_remember(object, &call->given, call->had ? &call->before : NULL);
	} else if (call->layout) {
		buffer_done(call, object, cmd, arg);
	} else if (cmd == VIDIOC_REQBUFS) {
		if (!get_user(type, &((struct v4l2_requestbuffers __user *)arg)->type))
			queue_forget(object, type, 0, QUEUE_BUFFERS);
	} else if (cmd == VIDIOC_REMOVE_BUFS) {
		if (!copy_from_user(&removed, (void __user *)arg, sizeof(removed)))
			queue_forget(object, removed.type, removed.index, removed.count);
	} else if (cmd == VIDIOC_STREAMOFF) {
		if (!get_user(type, (u32 __user *)arg))
			queue_off(object, type, 0, QUEUE_BUFFERS);
	}
}

/* Free the stored fds after the last file of @object was closed. */
static void queue_free(struct vgpu_object *object)
{
	struct vgpu_video_queued *entry;
	unsigned long key;

	xa_for_each(&object->node.queued, key, entry)
		kfree(entry);
	xa_destroy(&object->node.queued);
}

const struct vgpu_class_ops vgpu_video_class_ops = {
	.call_size = sizeof(struct vgpu_video_call),
	.ioctl_begin = queue_ioctl_begin,
	.ioctl_end = queue_ioctl_end,
	.free = queue_free,
};
