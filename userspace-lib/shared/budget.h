/* SPDX-License-Identifier: MIT */
/* Time and rates that all shadows of a guest's engine have together. */
#ifndef VGPU_SHARED_BUDGET_H
#define VGPU_SHARED_BUDGET_H

#include <linux/types.h>

#include "patience.h"
#include "rate.h"

/**
 * struct engine_patience - time that drivers may still wait for a guest, and other things that all
 *	shadows of the guest count together
 * @lock: lock of @patience and @rates; 1: a shadow holds it
 * @nr_pages: number of pages of all of the guest's processes; changed atomically
 * @most_pages: largest @nr_pages so far
 * @reserved: 0
 * @patience: the guest's budget of time; see patience.h
 * @rates: buckets of calls, opens and bytes that the guest's rates limit; see rate.h
 *
 * vgpud makes one for each guest, which outlives the engine. All shadows of the guest write to it.
 * vgpud reads it, takes the pages of a shadow that has ended out of @nr_pages, and clears what the
 * guest owes to a rate that is not limited any more. A malicious shadow can spoil it for other
 * shadows of its guest, but could as well let drivers wait, or make calls, without asking.
 */
struct engine_patience {
	__u32 lock;
	__u32 nr_pages;
	__u32 most_pages;
	__u32 reserved;
	struct vgpu_patience patience;
	struct vgpu_rates rates;
};

#endif /* VGPU_SHARED_BUDGET_H */
