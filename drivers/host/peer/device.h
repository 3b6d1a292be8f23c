/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices for which guests wait, as share.c and pending.c know them.
 */
#ifndef _VGPU_HOST_DEVICE_H
#define _VGPU_HOST_DEVICE_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "arbiter.h"

/* Time after which the work item of a device runs (again), to free what was used. */
#define VGPUH_DEVICE_SETTLE	HZ

/**
 * struct vgpuh_device - device for which guests wait
 * @ref: number of exports; protected by devices_lock
 * @node: list entry in devices; protected by devices_lock
 * @number: number that the nodes of the device share; 0: the node stands alone
 * @rdev: number of the node, if it stands alone
 * @shares: list of the guests' shares; protected by devices_lock
 * @nr_guests: number of shares that have a grant; protected by devices_lock, read by READ_ONCE()
 * @lock: spinlock that protects @arbiter, the flows and the submissions, and @settled; taken in
 *	callbacks of fences
 * @arbiter: arbiter of the device
 * @timer: timer that looks at the arbiter
 * @settled: list of struct vgpuh_pending that have ended, to be freed
 * @settle: work that frees them, if no later submission does, and shares that no grant uses
 */
struct vgpuh_device {
	struct kref ref;
	struct list_head node;
	u64 number;
	dev_t rdev;
	struct list_head shares;
	unsigned int nr_guests;
	spinlock_t lock;
	struct vgpu_arbiter arbiter;
	struct hrtimer timer;
	struct list_head settled;
	struct delayed_work settle;
};

/* Admit the submissions that may be admitted. Context: device->lock is held. */
void vgpuh_device_look_locked(struct vgpuh_device *device, u64 now);

#endif /* _VGPU_HOST_DEVICE_H */
