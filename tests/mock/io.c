// SPDX-License-Identifier: GPL-2.0-only
/*
 * read, write and llseek.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "mock.h"

/* The program's buffer, for read and write as well as for read_iter and write_iter. */
struct vgpu_mock_span {
	char __user *to;
	const char __user *from;
	struct iov_iter *iter;
	size_t count;
	bool nonblock;
};

void vgpu_mock_io_init(struct vgpu_mock_file *file)
{
	mutex_init(&file->io_lock);
	init_waitqueue_head(&file->io_queue);
}

void vgpu_mock_io_fini(struct vgpu_mock_file *file)
{
	kvfree(file->space);
	kfree(file->queue);
}

static int vgpu_mock_span_put(struct vgpu_mock_span *span, const void *data, size_t n)
{
	if (span->iter)
		return copy_to_iter(data, n, span->iter) == n ? 0 : -EFAULT;
	if (copy_to_user(span->to, data, n))
		return -EFAULT;
	span->to += n;
	return 0;
}

static int vgpu_mock_span_get(struct vgpu_mock_span *span, void *data, size_t n)
{
	if (span->iter)
		return copy_from_iter(data, n, span->iter) == n ? 0 : -EFAULT;
	if (copy_from_user(data, span->from, n))
		return -EFAULT;
	span->from += n;
	return 0;
}

/* Takes as many of @n bytes as can be read. Return: their number. */
static size_t vgpu_mock_span_get_some(struct vgpu_mock_span *span, void *data, size_t n)
{
	if (span->iter)
		return copy_from_iter(data, n, span->iter);
	n -= copy_from_user(data, span->from, n);
	span->from += n;
	return n;
}

static int vgpu_mock_io_alloc(u8 **memory, size_t size)
{
	if (!*memory)
		*memory = kvzalloc(size, GFP_KERNEL);
	return *memory ? 0 : -ENOMEM;
}

static ssize_t vgpu_mock_space_io(struct vgpu_mock_file *file, struct vgpu_mock_span *span,
				  loff_t *pos, bool write)
{
	size_t n;
	int ret;

	if (*pos < 0)
		return -EINVAL;
	if (*pos >= VGPU_MOCK_SPACE_BYTES)
		return write && span->count ? -ENOSPC : 0;
	n = min_t(u64, span->count, VGPU_MOCK_SPACE_BYTES - *pos);
	ret = vgpu_mock_io_alloc(&file->space, VGPU_MOCK_SPACE_BYTES);
	if (ret)
		return ret;
	if (write)
		ret = vgpu_mock_span_get(span, file->space + *pos, n);
	else
		ret = vgpu_mock_span_put(span, file->space + *pos, n);
	if (ret)
		return ret;
	*pos += n;
	return n;
}

static bool vgpu_mock_queue_ready(struct vgpu_mock_file *file, bool write)
{
	u32 used = READ_ONCE(file->queue_used);

	return READ_ONCE(file->io.mode) != VGPU_MOCK_IO_QUEUE ||
	       (write ? used < VGPU_MOCK_QUEUE_BYTES : used > 0);
}

static ssize_t vgpu_mock_queue_move(struct vgpu_mock_file *file, struct vgpu_mock_span *span,
				    bool write)
{
	size_t done = 0;
	u32 room;
	u32 want;
	u32 at;
	u32 n;

	while (done < span->count) {
		room = write ? VGPU_MOCK_QUEUE_BYTES - file->queue_used : file->queue_used;
		if (!room)
			break;
		at = file->queue_head + (write ? file->queue_used : 0);
		at %= VGPU_MOCK_QUEUE_BYTES;
		n = min_t(size_t, span->count - done, min(room, VGPU_MOCK_QUEUE_BYTES - at));
		want = n;
		if (write)
			n = vgpu_mock_span_get_some(span, file->queue + at, n);
		else if (vgpu_mock_span_put(span, file->queue + at, n))
			n = 0;
		if (!write)
			file->queue_head = (at + n) % VGPU_MOCK_QUEUE_BYTES;
		WRITE_ONCE(file->queue_used, file->queue_used + (write ? n : -n));
		done += n;
		if (n < want)
			return done ? done : -EFAULT;
	}
	return done;
}

/* Context: io_lock is held; the function drops it while it waits. */
static ssize_t vgpu_mock_queue_io(struct vgpu_mock_file *file, struct vgpu_mock_span *span,
				  bool write)
{
	ssize_t ret;

	ret = vgpu_mock_io_alloc(&file->queue, VGPU_MOCK_QUEUE_BYTES);
	if (ret || !span->count)
		return ret;
	while (!vgpu_mock_queue_ready(file, write)) {
		if (span->nonblock)
			return -EAGAIN;
		mutex_unlock(&file->io_lock);
		ret = wait_event_interruptible(file->io_queue, vgpu_mock_queue_ready(file, write));
		mutex_lock(&file->io_lock);
		if (ret)
			return ret;
	}
	ret = vgpu_mock_queue_move(file, span, write);
	if (ret > 0)
		wake_up_all(&file->io_queue);
	return ret;
}

/* Fills or reads the buffer, and then fails. */
static ssize_t vgpu_mock_error_io(struct vgpu_mock_file *file, struct vgpu_mock_span *span,
				  bool write)
{
	u8 data[64];
	size_t done;
	size_t n;
	int ret = 0;

	for (done = 0; done < span->count && done < PAGE_SIZE && !ret; done += n) {
		n = min(span->count - done, sizeof(data));
		vgpu_mock_pattern(data, n, file->io.error, done);
		if (write)
			ret = vgpu_mock_span_get(span, data, n);
		else
			ret = vgpu_mock_span_put(span, data, n);
	}
	return ret ? ret : -(int)file->io.error;
}

static ssize_t vgpu_mock_file_io(struct vgpu_mock_file *file, struct vgpu_mock_span *span,
				 loff_t *pos, bool write)
{
	ssize_t ret;

	vgpu_mock_count(write ? VGPU_MOCK_WRITES : VGPU_MOCK_READS, 1);
	mutex_lock(&file->io_lock);
	if (file->io.limit)
		span->count = min_t(size_t, span->count, file->io.limit);
	switch (file->io.mode) {
	case VGPU_MOCK_IO_QUEUE:
		ret = vgpu_mock_queue_io(file, span, write);
		break;
	case VGPU_MOCK_IO_ERROR:
		ret = vgpu_mock_error_io(file, span, write);
		break;
	default:
		ret = vgpu_mock_space_io(file, span, pos, write);
	}
	mutex_unlock(&file->io_lock);
	return ret;
}

ssize_t vgpu_mock_read(struct file *filp, char __user *to, size_t count, loff_t *pos)
{
	struct vgpu_mock_span span = {
		.to = to, .count = count, .nonblock = filp->f_flags & O_NONBLOCK,
	};

	return vgpu_mock_file_io(filp->private_data, &span, pos, false);
}

ssize_t vgpu_mock_write(struct file *filp, const char __user *from, size_t count, loff_t *pos)
{
	struct vgpu_mock_span span = {
		.from = from, .count = count, .nonblock = filp->f_flags & O_NONBLOCK,
	};

	return vgpu_mock_file_io(filp->private_data, &span, pos, true);
}

ssize_t vgpu_mock_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct vgpu_mock_span span = {
		.iter = to, .count = iov_iter_count(to),
		.nonblock = (iocb->ki_filp->f_flags & O_NONBLOCK) || (iocb->ki_flags & IOCB_NOWAIT),
	};

	return vgpu_mock_file_io(iocb->ki_filp->private_data, &span, &iocb->ki_pos, false);
}

ssize_t vgpu_mock_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct vgpu_mock_span span = {
		.iter = from, .count = iov_iter_count(from),
		.nonblock = (iocb->ki_filp->f_flags & O_NONBLOCK) || (iocb->ki_flags & IOCB_NOWAIT),
	};

	return vgpu_mock_file_io(iocb->ki_filp->private_data, &span, &iocb->ki_pos, true);
}

static bool unsized;
module_param(unsized, bool, 0644);
MODULE_PARM_DESC(unsized, "let SEEK_END fail with EINVAL, as files of most devices do");

loff_t vgpu_mock_llseek(struct file *filp, loff_t offset, int whence)
{
	if (unsized && whence == SEEK_END)
		return -EINVAL;
	vgpu_mock_count(VGPU_MOCK_SEEKS, 1);
	vgpu_mock_reach_try(VGPU_MOCK_REACH_LLSEEK);
	return fixed_size_llseek(filp, offset, whence, VGPU_MOCK_SPACE_BYTES);
}

/* Return: the events of a file on which POLL_ARM was never called. */
__poll_t vgpu_mock_io_events(struct vgpu_mock_file *file)
{
	__poll_t events = 0;

	if (vgpu_mock_queue_ready(file, false))
		events |= EPOLLIN | EPOLLRDNORM;
	if (vgpu_mock_queue_ready(file, true))
		events |= EPOLLOUT | EPOLLWRNORM;
	return events;
}

long vgpu_mock_io_mode(struct vgpu_mock_call *call)
{
	struct vgpu_mock_file *file = call->file;
	struct vgpu_mock_io *io = call->data;

	if (io->mode > VGPU_MOCK_IO_ERROR || io->error > MAX_ERRNO || io->reserved)
		return -EINVAL;
	mutex_lock(&file->io_lock);
	file->io = *io;
	mutex_unlock(&file->io_lock);
	/* Callers that wait for the queue continue in the new mode. */
	wake_up_all(&file->io_queue);
	return 0;
}
