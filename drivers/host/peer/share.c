// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of guests in devices. All exports of nodes of one device have one struct vgpuh_device,
 * which has the arbiter (arbiter.h). A timer looks at the arbiter when a submission holds the
 * device for too long or does not come in time, and when a guest may use the device again whose cap
 * has kept it away.
 */
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "base/work.h"
#include "compat.h"
#include "peer/device.h"
#include "peer/pending.h"
#include "peer/share.h"

static LIST_HEAD(devices);
/* Mutex that protects the list of devices, and their lists of shares. */
static DEFINE_MUTEX(devices_lock);

static enum hrtimer_restart device_timer(struct hrtimer *timer)
{
	struct vgpuh_device *device = container_of(timer, struct vgpuh_device, timer);

	spin_lock_irq(&device->lock);
	vgpuh_device_look_locked(device, ktime_get_ns());
	spin_unlock_irq(&device->lock);
	return HRTIMER_NORESTART;
}

static void share_free(struct vgpuh_share *share)
{
	struct vgpuh_device *device = share->device;

	lockdep_assert_held(&devices_lock);
	list_del(&share->node);
	vgpuh_pending_drop(share);
	spin_lock_irq(&device->lock);
	vgpu_arbiter_remove(&device->arbiter, &share->flow);
	spin_unlock_irq(&device->lock);
	kfree(share);
}

/*
 * Forget guests that have no grant, and owe nothing or have work that does not end.
 * Return: true if other guests without a grant are left.
 */
static bool shares_expire(struct vgpuh_device *device)
{
	struct vgpuh_share *share, *next;
	bool left = false;
	bool owes;
	u64 now;

	lockdep_assert_held(&devices_lock);
	list_for_each_entry_safe(share, next, &device->shares, node) {
		if (share->grants)
			continue;
		spin_lock_irq(&device->lock);
		now = ktime_get_ns();
		owes = !vgpu_arbiter_may_forget(&device->arbiter, &share->flow, now);
		spin_unlock_irq(&device->lock);
		if (!owes || vgpuh_pending_is_stuck(share, now))
			share_free(share);
		else
			left = true;
	}
	return left;
}

/* Free what no submission and no guest that comes has freed. */
static void device_settle(struct work_struct *work)
{
	struct vgpuh_device *device = container_of(to_delayed_work(work), struct vgpuh_device,
						   settle);
	bool again = true;

	vgpuh_pending_settle(device);
	/* The thread that frees the device holds the mutex, and waits for this work. */
	if (mutex_trylock(&devices_lock)) {
		again = shares_expire(device);
		mutex_unlock(&devices_lock);
	}
	if (again)
		queue_delayed_work(vgpu_host_wq, &device->settle, VGPUH_DEVICE_SETTLE);
}

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
	INIT_LIST_HEAD(&device->settled);
	INIT_DELAYED_WORK(&device->settle, device_settle);
	hrtimer_setup(&device->timer, device_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	list_add(&device->node, &devices);
out_unlock:
	mutex_unlock(&devices_lock);
	return device;
}

static void device_free(struct kref *ref)
{
	struct vgpuh_device *device = container_of(ref, struct vgpuh_device, ref);
	struct vgpuh_share *share, *next;

	lockdep_assert_held(&devices_lock);
	list_del(&device->node);
	list_for_each_entry_safe(share, next, &device->shares, node)
		share_free(share);
	cancel_delayed_work_sync(&device->settle);
	vgpuh_pending_settle(device);
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

	spin_lock_irq(&device->lock);
	now = ktime_get_ns();
	vgpu_arbiter_change(&device->arbiter, &share->flow, terms, now);
	vgpuh_device_look_locked(device, now);
	spin_unlock_irq(&device->lock);
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
	INIT_LIST_HEAD(&share->pending);
	spin_lock_irq(&device->lock);
	vgpu_arbiter_add(&device->arbiter, &share->flow);
	spin_unlock_irq(&device->lock);
	list_add(&share->node, &device->shares);
found:
	if (!share->grants++)
		WRITE_ONCE(device->nr_guests, device->nr_guests + 1);
	share_change(share, terms);
out_unlock:
	mutex_unlock(&devices_lock);
	return share;
}

void vgpuh_share_put(struct vgpuh_share *share)
{
	struct vgpuh_device *device;

	if (!share)
		return;
	device = share->device;
	mutex_lock(&devices_lock);
	if (!--share->grants) {
		WRITE_ONCE(device->nr_guests, device->nr_guests - 1);
		/* References to fences do not keep the driver's module loaded, so none are kept. */
		mod_delayed_work(vgpu_host_wq, &device->settle, 0);
	}
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
		spin_lock_irq(&device->lock);
		used += share->flow.used;
		spin_unlock_irq(&device->lock);
	}
	mutex_unlock(&devices_lock);
	return used;
}
