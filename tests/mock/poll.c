// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll, with events that come later, or that the first poll clears.
 */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/signal.h>

#include "mock.h"

static void vgpu_mock_poll_apply(struct vgpu_mock_file *file)
{
	bool released;

	spin_lock(&file->poll_lock);
	released = (file->poll_flags & VGPU_MOCK_POLL_HOLD) &&
		   file->poll_events == file->poll_next.events;
	file->poll_armed = true;
	file->poll_events = file->poll_next.events;
	file->poll_flags = file->poll_next.flags;
	spin_unlock(&file->poll_lock);
	/* If only the hold has ended, no event has come: pollers are not woken. */
	if (!released)
		wake_up_poll(&file->poll_queue, (__force __poll_t)file->poll_events);
	wake_up_all(&file->poll_hold);
	if (file->poll_events)
		kill_fasync(&file->fasync, SIGIO, POLL_IN);
}

int vgpu_mock_fasync(int fd, struct file *filp, int on)
{
	struct vgpu_mock_file *file = filp->private_data;

	return fasync_helper(fd, filp, on, &file->fasync);
}

static void vgpu_mock_poll_work(struct work_struct *work)
{
	vgpu_mock_poll_apply(container_of(to_delayed_work(work), struct vgpu_mock_file, poll_work));
}

void vgpu_mock_poll_init(struct vgpu_mock_file *file)
{
	spin_lock_init(&file->poll_lock);
	init_waitqueue_head(&file->poll_queue);
	init_waitqueue_head(&file->poll_hold);
	INIT_DELAYED_WORK(&file->poll_work, vgpu_mock_poll_work);
}

void vgpu_mock_poll_fini(struct vgpu_mock_file *file)
{
	cancel_delayed_work_sync(&file->poll_work);
}

__poll_t vgpu_mock_poll(struct file *filp, poll_table *wait)
{
	struct vgpu_mock_file *file = filp->private_data;
	__poll_t events;

	vgpu_mock_count(VGPU_MOCK_POLLS, 1);
	poll_wait(filp, &file->poll_queue, wait);
	poll_wait(filp, &file->io_queue, wait);
	if (wait_event_interruptible(file->poll_hold,
				     !(READ_ONCE(file->poll_flags) & VGPU_MOCK_POLL_HOLD)))
		return EPOLLERR;

	spin_lock(&file->poll_lock);
	if (file->poll_armed) {
		events = (__force __poll_t)file->poll_events;
		if ((file->poll_flags & VGPU_MOCK_POLL_CONSUME) &&
		    (events & poll_requested_events(wait)))
			file->poll_events = 0;
	} else {
		events = vgpu_mock_io_events(file);
	}
	spin_unlock(&file->poll_lock);
	return events;
}

long vgpu_mock_poll_arm(struct vgpu_mock_call *call)
{
	struct vgpu_mock_file *file = call->file;
	struct vgpu_mock_poll *poll = call->data;

	if (poll->reserved || (poll->flags & ~(VGPU_MOCK_POLL_CONSUME | VGPU_MOCK_POLL_HOLD)) ||
	    poll->delay_ms > VGPU_MOCK_MAX_MS)
		return -EINVAL;
	/* A file has one delayed change at most. */
	cancel_delayed_work_sync(&file->poll_work);
	spin_lock(&file->poll_lock);
	file->poll_next = *poll;
	spin_unlock(&file->poll_lock);
	if (poll->delay_ms)
		queue_delayed_work(vgpu_mock_wq, &file->poll_work,
				   msecs_to_jiffies(poll->delay_ms));
	else
		vgpu_mock_poll_apply(file);
	return 0;
}
