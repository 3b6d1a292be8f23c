// SPDX-License-Identifier: GPL-2.0-only
/*
 * Relation of the host's clocks to this machine's. Each REPLY says when the host received the call
 * and when it replied, which bounds the offset between the clocks (clock_bounds.c).
 */
#include "link/clock.h"

/* Returns the bounds as they are now. */
struct vgpu_clock_bounds vgpu_clock_read(struct vgpu_clock *clock)
{
	struct vgpu_clock_bounds bounds;
	unsigned int seq;

	do {
		seq = read_seqbegin(&clock->lock);
		bounds = clock->bounds;
	} while (read_seqretry(&clock->lock, seq));
	return bounds;
}

/**
 * vgpu_clock_add - use the times of a call for the bounds of a clock
 * @clock: clock of the call's host
 * @sample: times of the call
 *
 * Called before the time stamps in the reply are converted. So a time at which the host was
 * running the call becomes a time at which this machine was waiting for the reply.
 */
void vgpu_clock_add(struct vgpu_clock *clock, const struct vgpu_clock_sample *sample)
{
	struct vgpu_clock_bounds bounds = vgpu_clock_read(clock);

	/* Most calls narrow nothing: skip the lock. */
	if (!vgpu_clock_bounds_narrower(&bounds, sample))
		return;
	write_seqlock(&clock->lock);
	vgpu_clock_bounds_merge(&clock->bounds, sample);
	write_sequnlock(&clock->lock);
}
