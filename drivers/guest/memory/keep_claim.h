/* SPDX-License-Identifier: GPL-2.0-only */
/* Claims: they let calls of a process hand over the same addresses only one after the other. */
#ifndef VGPU_KEEP_CLAIM_H
#define VGPU_KEEP_CLAIM_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "uapi/linux/vgpu_wire.h"

/**
 * struct vgpu_keep_call - memory that one call hands over
 * @pins: list of struct vgpu_keep that were pinned for the call; the calling thread's only
 * @entry: entry in @calls of the claims, from vgpu_keep_claim() to vgpu_keep_unclaim()
 * @nr: number of entries of @ranges
 * @ranges: addresses that the call's KEPT segments name, @end exclusive
 */
struct vgpu_keep_call {
	struct list_head pins;
	struct list_head entry;
	u32 nr;
	struct {
		u64 start;
		u64 end;
	} ranges[VGPU_KEPT_MAX];
};

/**
 * struct vgpu_keep_claims - addresses of a process that calls are handing over
 * @lock: guards @calls
 * @calls: list of struct vgpu_keep_call, in the order of vgpu_keep_claim(). A call waits while
 *	an earlier one names some of the same pages
 * @wait: wait queue of these calls; woken when a call is over
 */
struct vgpu_keep_claims {
	spinlock_t lock; /* guards the list */
	struct list_head calls;
	wait_queue_head_t wait;
};

void vgpu_keep_claims_init(struct vgpu_keep_claims *claims);
int vgpu_keep_claim(struct vgpu_keep_claims *claims, struct vgpu_keep_call *call);
void vgpu_keep_unclaim(struct vgpu_keep_claims *claims, struct vgpu_keep_call *call);

#endif /* VGPU_KEEP_CLAIM_H */
