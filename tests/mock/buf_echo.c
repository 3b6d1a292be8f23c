// SPDX-License-Identifier: GPL-2.0-only
/*
 * A "device" that watches a buffer and answers the program's stores by stores to the
 * buffer. No call is made.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "mock.h"

/* Longest time of an echo: enough for many words, one after the other, on a slow machine. */
#define ECHO_MAX_MS	300000

struct vgpu_mock_echo {
	struct work_struct work;
	struct vgpu_mock_buf *buf;
	u64 offset;
	unsigned long deadline;
};

/* Reads the word, and answers it if it is @number. Return: the word. */
static u64 vgpu_mock_echo_answer(struct vgpu_mock_echo *echo, u64 number)
{
	struct vgpu_mock_buf *buf = echo->buf;
	struct page *page;
	u64 seen = 0;
	u64 *words;

	/* Look the page up for each word, as _INVALIDATE may have moved it. */
	mutex_lock(&buf->lock);
	page = vgpu_mock_buf_page_locked(buf, echo->offset >> PAGE_SHIFT);
	if (page) {
		words = kmap_local_page(page) + offset_in_page(echo->offset);
		seen = READ_ONCE(words[0]);
		if (seen == number)
			WRITE_ONCE(words[1], vgpu_mock_mix64(number));
		kunmap_local(words);
	}
	mutex_unlock(&buf->lock);
	return seen;
}

static void vgpu_mock_echo_work(struct work_struct *work)
{
	struct vgpu_mock_echo *echo = container_of(work, struct vgpu_mock_echo, work);
	struct vgpu_mock_buf *buf = echo->buf;
	u64 number = 1, seen = 0;

	/* The echo ends when its own reference is the last one. */
	while (seen != U64_MAX && kref_read(&buf->ref) > 1 &&
	       time_before(jiffies, echo->deadline)) {
		seen = vgpu_mock_echo_answer(echo, number);
		if (seen == number)
			number++;
		else
			usleep_range(20, 50);
	}
	atomic_dec(&buf->fills);
	wake_up_all(&buf->fill_queue);
	vgpu_mock_buf_put(buf);
	kfree(echo);
	/* Module unload waits for the workqueue, and so for the end of this function. */
	module_put(THIS_MODULE);
}

static long vgpu_mock_echo_start(struct vgpu_mock_buf *buf,
				 const struct vgpu_mock_buf_range *range)
{
	struct vgpu_mock_echo *echo;

	if (range->offset % 16 || range->offset > buf->size - 16 ||
	    range->delay_ms > ECHO_MAX_MS)
		return -EINVAL;
	echo = kzalloc(sizeof(*echo), GFP_KERNEL);
	if (!echo)
		return -ENOMEM;
	__module_get(THIS_MODULE);
	kref_get(&buf->ref);
	echo->buf = buf;
	echo->offset = range->offset;
	echo->deadline = jiffies + msecs_to_jiffies(range->delay_ms);
	atomic_inc(&buf->fills);
	INIT_WORK(&echo->work, vgpu_mock_echo_work);
	queue_work(vgpu_mock_wq, &echo->work);
	return 0;
}

long vgpu_mock_buf_echo(struct vgpu_mock_call *call)
{
	struct vgpu_mock_buf_range *range = call->data;
	struct vgpu_mock_buf *buf;
	long ret;

	buf = vgpu_mock_buf_find(call->file, range->id);
	if (!buf)
		return -ENOENT;
	ret = vgpu_mock_echo_start(buf, range);
	vgpu_mock_buf_put(buf);
	return ret;
}
