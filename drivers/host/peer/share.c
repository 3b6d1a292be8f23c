// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares: submissions of guests to a device wait for each other (arbiter.h). All exports of nodes
 * of one device have one struct vgpuh_device, which has the arbiter.
 *
 * A thread that changes the arbiter wakes the threads whose submissions are admitted by that. A
 * timer looks at the arbiter when a submission holds the device for too long or does not come in
 * time, and when a guest may use the device again whose cap has kept it away.
 */
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "peer/share.h"

/**
 * struct vgpuh_device - device for which guests wait
 * @ref: number of exports; protected by devices_lock
 * @node: list entry in devices; protected by devices_lock
 * @number: number that the nodes of the device share; 0: the node stands alone
 * @rdev: number of the node, if it stands alone
 * @shares: list of the guests' shares; protected by devices_lock
 * @lock: spinlock that protects @arbiter, the flows and the submissions, taken in a softirq
 * @arbiter: arbiter of the device
 * @timer: timer that looks at the arbiter
 */
struct vgpuh_device {
	struct kref ref;
	struct list_head node;
	u64 number;
	dev_t rdev;
	struct list_head shares;
	spinlock_t lock;
	struct vgpu_arbiter arbiter;
	struct hrtimer timer;
};

static LIST_HEAD(devices);
/* Mutex that protects the list of devices, and their lists of shares. */
static DEFINE_MUTEX(devices_lock);

/* --- arbiters ------------------------------------------------------------- */

/*
 * Wake the threads whose submissions are admitted. A submission is on the stack of its thread,
 * which takes device->lock before the submission goes away.
 */
static void device_look_locked(struct vgpuh_device *device, u64 now)
{
	struct vgpu_submission *base;
	u64 until;

	lockdep_assert_held(&device->lock);
	while ((base = vgpu_arbiter_next(&device->arbiter, now, &until)))
		wake_up_process(container_of(base, struct vgpuh_submission, base)->task);
	if (until != VGPU_ARBITER_NEVER)
		hrtimer_start(&device->timer, ns_to_ktime(until), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart device_timer(struct hrtimer *timer)
{
	struct vgpuh_device *device = container_of(timer, struct vgpuh_device, timer);

	spin_lock(&device->lock);
	device_look_locked(device, ktime_get_ns());
	spin_unlock(&device->lock);
	return HRTIMER_NORESTART;
}

static bool submission_waits(const struct vgpuh_submission *submission)
{
	struct vgpuh_device *device = submission->share->device;
	bool waits;

	spin_lock_bh(&device->lock);
	waits = submission->base.state == VGPU_SUBMISSION_WAITS;
	spin_unlock_bh(&device->lock);
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
	spin_lock_bh(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_begin(&device->arbiter, &share->flow, now, &submission->base);
	device_look_locked(device, now);
	waits = submission->base.state == VGPU_SUBMISSION_WAITS;
	spin_unlock_bh(&device->lock);
	if (!waits)
		return 0;
	atomic64_inc(queued);
	ret = submission_wait(submission);
	if (ret)
		vgpuh_submission_end(submission);
	return ret;
}

void vgpuh_submission_end(struct vgpuh_submission *submission)
{
	struct vgpuh_device *device = submission->share->device;
	u64 now;

	spin_lock_bh(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_end(&device->arbiter, &submission->base, now);
	device_look_locked(device, now);
	spin_unlock_bh(&device->lock);
}

/* --- devices and shares --------------------------------------------------- */

static bool device_is(const struct vgpuh_device *device, u64 number, dev_t rdev)
{
	return device->number == number && (number || device->rdev == rdev);
}

struct vgpuh_device *vgpuh_device_get(u64 number, dev_t rdev)
{
	struct vgpuh_device *device;

	mutex_lock(&devices_lock);
	list_for_each_entry(device, &devices, node) {
		if (device_is(device, number, rdev)) {
			kref_get(&device->ref);
			goto out_unlock;
		}
	}
	device = kzalloc(sizeof(*device), GFP_KERNEL_ACCOUNT);
	if (!device)
		goto out_unlock;
	kref_init(&device->ref);
	device->number = number;
	device->rdev = rdev;
	INIT_LIST_HEAD(&device->shares);
	spin_lock_init(&device->lock);
	hrtimer_setup(&device->timer, device_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	list_add(&device->node, &devices);
out_unlock:
	mutex_unlock(&devices_lock);
	return device;
}

static void share_free(struct vgpuh_share *share)
{
	struct vgpuh_device *device = share->device;

	lockdep_assert_held(&devices_lock);
	list_del(&share->node);
	spin_lock_bh(&device->lock);
	vgpu_arbiter_remove(&device->arbiter, &share->flow);
	spin_unlock_bh(&device->lock);
	kfree(share);
}

static void device_free(struct kref *ref)
{
	struct vgpuh_device *device = container_of(ref, struct vgpuh_device, ref);
	struct vgpuh_share *share, *next;

	lockdep_assert_held(&devices_lock);
	list_del(&device->node);
	list_for_each_entry_safe(share, next, &device->shares, node)
		share_free(share);
	hrtimer_cancel(&device->timer);
	kfree(device);
}

void vgpuh_device_put(struct vgpuh_device *device)
{
	if (!device)
		return;
	mutex_lock(&devices_lock);
	kref_put(&device->ref, device_free);
	mutex_unlock(&devices_lock);
}

static void share_change(struct vgpuh_share *share, const struct vgpu_terms *terms)
{
	struct vgpuh_device *device = share->device;
	u64 now;

	spin_lock_bh(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_change(&device->arbiter, &share->flow, terms, now);
	device_look_locked(device, now);
	spin_unlock_bh(&device->lock);
}

/* Find the share of a guest. Context: devices_lock is held. */
static struct vgpuh_share *share_find(struct vgpuh_device *device, u32 cid, u32 port)
{
	struct vgpuh_share *share;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry(share, &device->shares, node)
		if (share->cid == cid && share->port == port)
			return share;
	return NULL;
}

/* Forget guests that have no grant and owe nothing. */
static void shares_expire(struct vgpuh_device *device)
{
	struct vgpuh_share *share, *next;
	bool owes;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry_safe(share, next, &device->shares, node) {
		spin_lock_bh(&device->lock);
		owes = !vgpu_arbiter_may_forget(&device->arbiter, &share->flow, ktime_get_ns());
		spin_unlock_bh(&device->lock);
		if (!share->grants && !owes)
			share_free(share);
	}
}

struct vgpuh_share *vgpuh_share_get(struct vgpuh_device *device, u32 cid, u32 port,
				    const struct vgpu_terms *terms)
{
	struct vgpuh_share *share;

	mutex_lock(&devices_lock);
	shares_expire(device);
	share = share_find(device, cid, port);
	if (share)
		goto found;
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		goto out_unlock;
	share->device = device;
	share->cid = cid;
	share->port = port;
	spin_lock_bh(&device->lock);
	vgpu_arbiter_add(&device->arbiter, &share->flow);
	spin_unlock_bh(&device->lock);
	list_add(&share->node, &device->shares);
found:
	share->grants++;
	share_change(share, terms);
out_unlock:
	mutex_unlock(&devices_lock);
	return share;
}

void vgpuh_share_put(struct vgpuh_share *share)
{
	if (!share)
		return;
	mutex_lock(&devices_lock);
	share->grants--;
	mutex_unlock(&devices_lock);
}

void vgpuh_shares_change(u32 cid, u32 port, const struct vgpu_terms *terms)
{
	struct vgpuh_device *device;
	struct vgpuh_share *share;

	mutex_lock(&devices_lock);
	list_for_each_entry(device, &devices, node) {
		share = share_find(device, cid, port);
		if (share)
			share_change(share, terms);
	}
	mutex_unlock(&devices_lock);
}

u64 vgpuh_shares_used(u32 cid, u32 port)
{
	struct vgpuh_device *device;
	struct vgpuh_share *share;
	u64 used = 0;

	mutex_lock(&devices_lock);
	list_for_each_entry(device, &devices, node) {
		share = share_find(device, cid, port);
		if (!share)
			continue;
		spin_lock_bh(&device->lock);
		used += share->flow.used;
		spin_unlock_bh(&device->lock);
	}
	mutex_unlock(&devices_lock);
	return used;
}
