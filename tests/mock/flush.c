// SPDX-License-Identifier: GPL-2.0-only
/*
 * ->flush waits for the "device", as the ->flush of amdgpu does.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "mock.h"

/**
 * vgpu_mock_flush() - run VGPU_MOCK_IOC_FLUSH
 * @call: the call
 *
 * Return: 0 or -errno.
 */
long vgpu_mock_flush(struct vgpu_mock_call *call)
{
	if ((call->arg & ~(unsigned long)VGPU_MOCK_FLUSH_DEAF) > VGPU_MOCK_MAX_MS)
		return -EINVAL;
	WRITE_ONCE(call->file->flush, call->arg);
	return 0;
}

int vgpu_mock_fop_flush(struct file *filp, fl_owner_t owner)
{
	struct vgpu_mock_file *file = filp->private_data;
	u32 flush = READ_ONCE(file->flush), ms = flush & ~VGPU_MOCK_FLUSH_DEAF;
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(never);

	WRITE_ONCE(file->flushed, true);
	vgpu_mock_reach_try(VGPU_MOCK_REACH_FLUSH);
	if (flush & VGPU_MOCK_FLUSH_DEAF)
		msleep(ms);
	else if (current->flags & PF_EXITING)
		msleep(min(ms, VGPU_MOCK_FLUSH_ENDING_MS));
	else if (ms)
		wait_event_killable_timeout(never, false, msecs_to_jiffies(ms));
	return 0;
}
