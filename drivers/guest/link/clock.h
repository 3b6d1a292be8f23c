/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's clocks. Time stamps of a driver are converted to this machine's clocks before a
 * program sees them.
 */
#ifndef VGPU_CLOCK_H
#define VGPU_CLOCK_H

#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "link/clock_bounds.h"

/**
 * struct vgpu_clock - relation of a host's CLOCK_MONOTONIC to this machine's
 * @lock: guards @bounds; taken for writing by any thread whose call has ended
 * @bounds: bounds of (this machine's CLOCK_MONOTONIC - the host's)
 * @ask_at: time in jiffies before which the host is not asked again; written by any thread
 */
struct vgpu_clock {
	seqlock_t lock;
	struct vgpu_clock_bounds bounds;
	unsigned long ask_at;
};

/**
 * struct vgpu_clock_file - time stamps of one file
 * @lock: guards @host and @here; taken inside no other lock
 * @host: latest time stamp that was converted, in ns of the host's CLOCK_MONOTONIC
 * @here: result of that conversion, in ns of this machine's CLOCK_MONOTONIC
 * @clock: clock of the driver's time stamps for this file where the program may choose the clock
 *	(VGPU_CLOCK_FILE), enum vgpu_schema_clock; written by ioctls, read without the lock
 */
struct vgpu_clock_file {
	spinlock_t lock;
	u64 host;
	u64 here;
	u32 clock;
};

struct vgpu_clock_bounds vgpu_clock_read(struct vgpu_clock *clock);
void vgpu_clock_add(struct vgpu_clock *clock, const struct vgpu_clock_sample *sample);

#endif /* VGPU_CLOCK_H */
