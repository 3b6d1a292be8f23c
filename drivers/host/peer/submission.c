// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submissions: calls of guests that give a device work wait for each other (arbiter.h). A thread
 * that changes the arbiter wakes the threads whose submissions are admitted by that.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "peer/device.h"
#include "peer/share.h"
#include "peer/submission.h"

/*
 * Wake the threads whose submissions are admitted. A submission is on the stack of its thread,
 * which takes device->lock before the submission goes away.
 */
void vgpuh_device_look_locked(struct vgpuh_device *device, u64 now)
{
	struct vgpu_submission *base;
	u64 until;

	lockdep_assert_held(&device->lock);
	while ((base = vgpu_arbiter_next(&device->arbiter, now, &until)))
		wake_up_process(container_of(base, struct vgpuh_submission, base)->task);
	if (until != VGPU_ARBITER_NEVER)
		hrtimer_start(&device->timer, ns_to_ktime(until), HRTIMER_MODE_ABS_SOFT);
}

static bool submission_waits(const struct vgpuh_submission *submission)
{
	struct vgpuh_device *device = submission->share->device;
	bool waits;

	spin_lock_irq(&device->lock);
	waits = submission->base.state == VGPU_SUBMISSION_WAITS;
	spin_unlock_irq(&device->lock);
	return waits;
}

/* Wait until the submission is admitted. The thread's SIGKILL ends the wait with the session. */
static int submission_wait(struct vgpuh_submission *submission)
{
	int ret = 0;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!submission_waits(submission))
			break;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

int vgpuh_submission_begin(struct vgpuh_submission *submission, struct vgpuh_share *share,
			   atomic64_t *queued)
{
	struct vgpuh_device *device = share->device;
	bool waits;
	int ret;
	u64 now;

	submission->share = share;
	submission->task = current;
	spin_lock_irq(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_begin(&device->arbiter, &share->flow, now, &submission->base);
	vgpuh_device_look_locked(device, now);
	waits = submission->base.state == VGPU_SUBMISSION_WAITS;
	spin_unlock_irq(&device->lock);
	if (!waits)
		return 0;
	atomic64_inc(queued);
	ret = submission_wait(submission);
	if (ret)
		vgpuh_submission_end(submission);
	return ret;
}

bool vgpuh_submission_is_shared(const struct vgpuh_submission *submission)
{
	const struct vgpuh_share *share = submission->share;

	return READ_ONCE(share->device->nr_guests) > 1 || READ_ONCE(share->flow.cap) < 100;
}

bool vgpuh_submission_is_contended(const struct vgpuh_submission *submission)
{
	struct vgpuh_share *share = submission->share;
	struct vgpuh_device *device = share->device;
	bool contended;

	spin_lock_irq(&device->lock);
	contended = vgpu_arbiter_is_shared(&device->arbiter, &share->flow, ktime_get_ns());
	spin_unlock_irq(&device->lock);
	return contended;
}

void vgpuh_submission_end(struct vgpuh_submission *submission)
{
	struct vgpuh_device *device = submission->share->device;
	u64 now;

	spin_lock_irq(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_end(&device->arbiter, &submission->base, now);
	vgpuh_device_look_locked(device, now);
	spin_unlock_irq(&device->lock);
}
