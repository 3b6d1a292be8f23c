// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls that take time: sleeping, waiting for events, holding a mutex that
 * all users of the device share, work of the device.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/thread_info.h>

#include "mock.h"

void vgpu_mock_wait_init(struct vgpu_mock_file *file)
{
	spin_lock_init(&file->wait_lock);
	init_waitqueue_head(&file->wait_queue);
}

/* Ends a sleep with VGPU_MOCK_SIGNAL_RESTARTBLOCK, when the kernel restarts the call. */
static long vgpu_mock_sleep_restart(struct restart_block *restart)
{
	return -EINTR;
}

static long vgpu_mock_sleep_errno(u32 on_signal)
{
	switch (on_signal) {
	case VGPU_MOCK_SIGNAL_EINTR:
		return -EINTR;
	case VGPU_MOCK_SIGNAL_ERESTARTNOINTR:
		return -ERESTARTNOINTR;
	case VGPU_MOCK_SIGNAL_ERESTARTNOHAND:
		return -ERESTARTNOHAND;
	case VGPU_MOCK_SIGNAL_RESTARTBLOCK:
		return set_restart_fn(&current->restart_block, vgpu_mock_sleep_restart);
	default:
		return -ERESTARTSYS;
	}
}

long vgpu_mock_sleep(struct vgpu_mock_call *call)
{
	struct vgpu_mock_sleep *sleep = call->data;
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(never);
	long timeout;
	long ret;

	if (sleep->ms > VGPU_MOCK_MAX_MS || sleep->mode > VGPU_MOCK_SLEEP_UNINTERRUPTIBLE ||
	    sleep->on_signal > VGPU_MOCK_SIGNAL_RESTARTBLOCK)
		return -EINVAL;
	timeout = msecs_to_jiffies(sleep->ms);
	sleep->out_woken = 0;
	switch (sleep->mode) {
	case VGPU_MOCK_SLEEP_INTERRUPTIBLE:
		ret = wait_event_interruptible_timeout(never, false, timeout);
		break;
	case VGPU_MOCK_SLEEP_KILLABLE:
		ret = wait_event_killable_timeout(never, false, timeout);
		break;
	default:
		msleep(sleep->ms);
		ret = 0;
	}
	if (!ret)
		return 0;
	sleep->out_woken = 1;
	vgpu_mock_count(VGPU_MOCK_INTERRUPTED, 1);
	return vgpu_mock_sleep_errno(sleep->on_signal);
}

static void vgpu_mock_slot_get(struct vgpu_mock_file *file, struct vgpu_mock_slot *slot,
			       struct vgpu_mock_wait *wait, int waiters, u32 add)
{
	spin_lock(&file->wait_lock);
	slot->waiters += waiters;
	slot->count += add;
	wait->out_count = slot->count;
	wait->out_waiters = slot->waiters;
	spin_unlock(&file->wait_lock);
}

long vgpu_mock_wait(struct vgpu_mock_call *call)
{
	struct vgpu_mock_file *file = call->file;
	struct vgpu_mock_wait *wait = call->data;
	struct vgpu_mock_slot *slot;
	long ret;

	if (wait->slot >= VGPU_MOCK_SLOTS)
		return -EINVAL;
	slot = &file->slots[array_index_nospec(wait->slot, VGPU_MOCK_SLOTS)];
	vgpu_mock_slot_get(file, slot, wait, 1, 0);
	ret = wait_event_interruptible(file->wait_queue, READ_ONCE(slot->count) >= wait->target);
	vgpu_mock_slot_get(file, slot, wait, -1, 0);
	if (ret)
		vgpu_mock_count(VGPU_MOCK_INTERRUPTED, 1);
	return ret;
}

long vgpu_mock_wake(struct vgpu_mock_call *call)
{
	struct vgpu_mock_file *file = call->file;
	struct vgpu_mock_wait *wait = call->data;

	if (wait->slot >= VGPU_MOCK_SLOTS)
		return -EINVAL;
	vgpu_mock_slot_get(file, &file->slots[array_index_nospec(wait->slot, VGPU_MOCK_SLOTS)],
			   wait, 0, wait->target);
	wake_up_all(&file->wait_queue);
	return 0;
}

static int vgpu_mock_locked_copy(struct vgpu_mock_locked *locked, u8 *data)
{
	u32 i;
	int ret;

	ret = vgpu_mock_user_read(locked->in_ptr, data, locked->length);
	if (ret)
		return ret;
	if (locked->hold_ms)
		msleep(locked->hold_ms);
	for (i = 0; i < locked->length; i++)
		data[i] ^= 0xff;
	return vgpu_mock_user_write(locked->out_ptr, data, locked->length);
}

long vgpu_mock_locked(struct vgpu_mock_call *call)
{
	struct vgpu_mock_device *device = call->file->device;
	struct vgpu_mock_locked *locked = call->data;
	ktime_t start = ktime_get();
	void *data;
	int ret;

	if (locked->hold_ms > VGPU_MOCK_MAX_MS)
		return -EINVAL;
	if (locked->length > VGPU_MOCK_MAX_STRUCT_BYTES)
		return -E2BIG;
	data = kmalloc(locked->length, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	/*
	 * The mutex is held over the copies on purpose, as drm_mode_getconnector() and
	 * others do: the code that serves the page fault must not need the device, and
	 * must be fast.
	 */
	mutex_lock(&device->hold);
	locked->out_waited_us = ktime_us_delta(ktime_get(), start);
	ret = vgpu_mock_locked_copy(locked, data);
	mutex_unlock(&device->hold);
	kfree(data);
	return ret;
}

long vgpu_mock_work(struct vgpu_mock_call *call)
{
	struct vgpu_mock_work *work = call->data;
	int ret;

	if (work->us > VGPU_MOCK_WORK_MAX_US || work->reserved)
		return -EINVAL;
	ret = mutex_lock_interruptible(&call->file->device->work);
	if (ret)
		return -ERESTARTSYS;
	/* Work that has begun goes on, as that of a device does. */
	fsleep(work->us);
	work->out_total_us = atomic64_add_return(work->us, &call->file->worked);
	mutex_unlock(&call->file->device->work);
	return 0;
}
