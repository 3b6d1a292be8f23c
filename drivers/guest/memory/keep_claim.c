// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: see keep_claim.h.
 *
 * While a call runs, the shadow has the pages mapped at the program's addresses. That is
 * possible for one call at a time. So a call waits for earlier calls that name some of the same
 * pages. Two buffers of two threads may have one page in common.
 */
#include <linux/errno.h>
#include <linux/sched.h>

#include "memory/keep_claim.h"

/**
 * vgpu_keep_claims_init - initialize claims
 * @claims: claims of a new session
 */
void vgpu_keep_claims_init(struct vgpu_keep_claims *claims)
{
	spin_lock_init(&claims->lock);
	INIT_LIST_HEAD(&claims->calls);
	init_waitqueue_head(&claims->wait);
}

static bool claim_overlaps(const struct vgpu_keep_call *one, const struct vgpu_keep_call *other)
{
	u32 i, j;

	for (i = 0; i < one->nr; i++)
		for (j = 0; j < other->nr; j++)
			if (one->ranges[i].start < other->ranges[j].end &&
			    other->ranges[j].start < one->ranges[i].end)
				return true;
	return false;
}

/* Returns true if no earlier call has any of the call's addresses. */
static bool claim_is_due(struct vgpu_keep_claims *claims, const struct vgpu_keep_call *call)
{
	const struct vgpu_keep_call *other;
	bool due = true;

	spin_lock(&claims->lock);
	list_for_each_entry(other, &claims->calls, entry) {
		if (other == call)
			break;
		due = !claim_overlaps(other, call);
		if (!due)
			break;
	}
	spin_unlock(&claims->lock);
	return due;
}

/**
 * vgpu_keep_claim - wait until no other call hands over the same addresses
 * @claims: claims of the calling process's session
 * @call: the call, which was not sent yet; its ranges do not change any more
 *
 * All addresses of a call are claimed at once, and all calls take their turns in one order, so
 * that no two calls wait for each other.
 *
 * Context: process, no locks. Waits interruptibly for as long as the drivers of earlier calls
 * take.
 * Return: 0, or -ERESTARTSYS, after which nothing is claimed.
 */
int vgpu_keep_claim(struct vgpu_keep_claims *claims, struct vgpu_keep_call *call)
{
	if (!call->nr)
		return 0;
	spin_lock(&claims->lock);
	list_add_tail(&call->entry, &claims->calls);
	spin_unlock(&claims->lock);
	/* Natively V4L2 takes the locks of its queues interruptibly, too. */
	if (!wait_event_interruptible(claims->wait, claim_is_due(claims, call)))
		return 0;
	vgpu_keep_unclaim(claims, call);
	return -ERESTARTSYS;
}

/**
 * vgpu_keep_unclaim - let other calls hand over the addresses of a call
 * @claims: claims of the calling process's session
 * @call: the call, which is over, or was not sent; need not have claimed anything
 */
void vgpu_keep_unclaim(struct vgpu_keep_claims *claims, struct vgpu_keep_call *call)
{
	if (!call->nr)
		return;
	spin_lock(&claims->lock);
	list_del_init(&call->entry);
	spin_unlock(&claims->lock);
	wake_up_all(&claims->wait);
}
