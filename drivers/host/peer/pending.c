// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending submissions: the driver has queued the work and returned. The submission ends when all
 * fences of the work have signalled. Their callbacks tell the arbiter so.
 *
 * A callback runs with the fence's lock held, maybe in an interrupt. So device->lock is never held
 * around a function of dma_fence. References to fences are put later, by the next submission or by
 * a work item.
 */
#include <linux/dma-fence.h>
#include <linux/hashtable.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "base/work.h"
#include "peer/device.h"
#include "peer/pending.h"
#include "peer/share.h"

/* Greatest number of pending submissions of a share. Others end when the driver returns. */
#define PENDING_MAX	256

/**
 * struct vgpuh_pending_fence - fence of a pending submission
 * @cb: callback, which dma_fence owns until it is called or removed
 * @fence: fence, with a reference
 * @pending: submission
 * @node: entry in share->fences while the submission is in share->pending
 */
struct vgpuh_pending_fence {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct vgpuh_pending *pending;
	struct hlist_node node;
};

/**
 * struct vgpuh_pending - submission whose driver has returned; protected by device->lock
 * @base: state for the arbiter
 * @share: share of the guest
 * @node: list entry in share->pending; or in device->settled when the submission has ended
 * @left: number of fences that have not signalled, and one until all callbacks are added
 * @dropped: true if vgpuh_pending_drop() frees the submission, and not the work item
 * @nr: number of entries of @fences
 * @fences: array of the fences
 */
struct vgpuh_pending {
	struct vgpu_submission base;
	struct vgpuh_share *share;
	struct list_head node;
	unsigned int left;
	bool dropped;
	unsigned int nr;
	struct vgpuh_pending_fence fences[];
};

static void pending_free(struct vgpuh_pending *pending)
{
	unsigned int i;

	for (i = 0; i < pending->nr; i++)
		dma_fence_put(pending->fences[i].fence);
	kfree(pending);
}

static void pendings_free(struct list_head *settled)
{
	struct vgpuh_pending *pending, *next;

	list_for_each_entry_safe(pending, next, settled, node)
		pending_free(pending);
}

static void pending_end_locked(struct vgpuh_pending *pending)
{
	struct vgpuh_device *device = pending->share->device;
	const u64 now = ktime_get_ns();

	lockdep_assert_held(&device->lock);
	vgpu_arbiter_end(&device->arbiter, &pending->base, now);
	vgpuh_device_look_locked(device, now);
}

/* Remove the submission from those of its share. */
static void pending_remove_locked(struct vgpuh_pending *pending)
{
	unsigned int i;

	lockdep_assert_held(&pending->share->device->lock);
	for (i = 0; i < pending->nr; i++)
		hash_del(&pending->fences[i].node);
	list_del(&pending->node);
	pending->share->nr_pending--;
}

/* Count @nr fences that have signalled. The last one ends the submission. */
static void pending_count(struct vgpuh_pending *pending, unsigned int nr)
{
	struct vgpuh_device *device = pending->share->device;
	unsigned long flags;

	spin_lock_irqsave(&device->lock, flags);
	pending->left -= nr;
	if (!pending->left) {
		pending_end_locked(pending);
		if (!pending->dropped) {
			pending_remove_locked(pending);
			list_add_tail(&pending->node, &device->settled);
			queue_delayed_work(vgpu_host_wq, &device->settle, VGPUH_DEVICE_SETTLE);
		}
	}
	spin_unlock_irqrestore(&device->lock, flags);
}

static void pending_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	pending_count(container_of(cb, struct vgpuh_pending_fence, cb)->pending, 1);
}

/* Check whether an earlier submission of the share waits for @fence. */
static bool share_waits_for(const struct vgpuh_share *share, const struct dma_fence *fence)
{
	const struct vgpuh_pending_fence *known;

	lockdep_assert_held(&share->device->lock);
	hash_for_each_possible(share->fences, known, node, (unsigned long)fence)
		if (known->fence == fence)
			return true;
	return false;
}

/*
 * Take those fences that are of no earlier submission, so that each submission is charged for its
 * own work. @fences keeps the others.
 */
static void pending_take_locked(struct vgpuh_pending *pending, struct vgpuh_fences *fences)
{
	struct vgpuh_share *share = pending->share;
	unsigned int i, kept = 0, nr = 0;

	if (share->nr_pending >= PENDING_MAX)
		return;
	for (i = 0; i < fences->nr; i++) {
		struct dma_fence *fence = fences->fence[i];

		if (share_waits_for(share, fence)) {
			fences->fence[kept++] = fence;
			continue;
		}
		pending->fences[nr].fence = fence;
		pending->fences[nr].pending = pending;
		hash_add(share->fences, &pending->fences[nr++].node, (unsigned long)fence);
	}
	pending->nr = nr;
	fences->nr = kept;
}

bool vgpuh_submission_knows(const struct vgpuh_submission *submission,
			    const struct dma_fence *fence)
{
	struct vgpuh_device *device = submission->share->device;
	bool knows;

	spin_lock_irq(&device->lock);
	knows = share_waits_for(submission->share, fence);
	spin_unlock_irq(&device->lock);
	return knows;
}

/* Make a pending submission of one that has fences. Return: NULL: the submission has ended. */
static struct vgpuh_pending *pending_begin(struct vgpuh_submission *submission,
					   struct vgpuh_fences *fences)
{
	struct vgpuh_share *share = submission->share;
	struct vgpuh_device *device = share->device;
	struct vgpuh_pending *pending;
	LIST_HEAD(settled);

	pending = fences->nr ? kzalloc(struct_size(pending, fences, fences->nr),
				       GFP_KERNEL_ACCOUNT) : NULL;
	if (!pending) {
		vgpuh_submission_end(submission);
		return NULL;
	}
	pending->share = share;
	spin_lock_irq(&device->lock);
	pending_take_locked(pending, fences);
	pending->left = pending->nr + 1;
	vgpu_arbiter_move(&device->arbiter, &submission->base, &pending->base);
	list_add_tail(&pending->node, &share->pending);
	share->nr_pending++;
	list_splice_init(&device->settled, &settled);
	spin_unlock_irq(&device->lock);
	pendings_free(&settled);
	return pending;
}

void vgpuh_submission_leave(struct vgpuh_submission *submission, struct vgpuh_fences *fences)
{
	struct vgpuh_pending *pending = pending_begin(submission, fences);
	unsigned int i, signalled = 1;

	/* @pending stays as long as it counts one more than its fences. */
	for (i = 0; pending && i < pending->nr; i++)
		if (dma_fence_add_callback(pending->fences[i].fence, &pending->fences[i].cb,
					   pending_signalled))
			signalled++;
	if (pending)
		pending_count(pending, signalled);
	while (fences->nr)
		dma_fence_put(fences->fence[--fences->nr]);
}

bool vgpuh_pending_is_stuck(struct vgpuh_share *share, u64 now)
{
	struct vgpuh_device *device = share->device;
	struct vgpuh_pending *first;
	bool stuck;

	spin_lock_irq(&device->lock);
	first = list_first_entry_or_null(&share->pending, struct vgpuh_pending, node);
	stuck = first && now - first->base.since >= VGPU_ARBITER_FORGET_NS;
	spin_unlock_irq(&device->lock);
	return stuck;
}

static struct vgpuh_pending *pending_take_first(struct vgpuh_share *share)
{
	struct vgpuh_device *device = share->device;
	struct vgpuh_pending *first;

	spin_lock_irq(&device->lock);
	first = list_first_entry_or_null(&share->pending, struct vgpuh_pending, node);
	if (first) {
		pending_remove_locked(first);
		first->dropped = true;
	}
	spin_unlock_irq(&device->lock);
	return first;
}

void vgpuh_pending_drop(struct vgpuh_share *share)
{
	struct vgpuh_device *device = share->device;
	struct vgpuh_pending *pending;
	unsigned int i;

	while ((pending = pending_take_first(share))) {
		/* The function waits for a callback that runs, by the fence's lock. */
		for (i = 0; i < pending->nr; i++)
			dma_fence_remove_callback(pending->fences[i].fence, &pending->fences[i].cb);
		spin_lock_irq(&device->lock);
		if (pending->left)
			pending_end_locked(pending);
		spin_unlock_irq(&device->lock);
		pending_free(pending);
	}
}

void vgpuh_pending_settle(struct vgpuh_device *device)
{
	LIST_HEAD(settled);

	spin_lock_irq(&device->lock);
	list_splice_init(&device->settled, &settled);
	spin_unlock_irq(&device->lock);
	pendings_free(&settled);
}
