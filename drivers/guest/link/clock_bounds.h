/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds of the difference between the clocks of two machines. Plain C, which also compiles in
 * user space.
 */
#ifndef VGPU_CLOCK_BOUNDS_H
#define VGPU_CLOCK_BOUNDS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "wire_user.h"
#endif

/**
 * struct vgpu_clock_sample - times of one call by both clocks, in nanoseconds
 * @sent: time at which this machine began to send the call, by its own clock
 * @in: time at which the host had received the call's header, by the host's clock
 * @out: time at which the host began to send the reply, by the host's clock
 * @received: time at which this machine had received the reply's header, by its own clock
 */
struct vgpu_clock_sample {
	u64 sent;
	u64 in;
	u64 out;
	u64 received;
};

/**
 * struct vgpu_clock_bounds - bounds of (this machine's clock - the host's)
 * @known: true if there was a sample
 * @low: smallest possible difference in nanoseconds, as all fields below
 * @high: largest possible difference
 * @offset: difference that is used; changes only when it is outside the bounds
 * @at: time of this machine's clock for which @low and @high hold
 */
struct vgpu_clock_bounds {
	bool known;
	s64 low;
	s64 high;
	s64 offset;
	u64 at;
};

u64 vgpu_clock_bounds_width(const struct vgpu_clock_bounds *bounds, u64 now);
bool vgpu_clock_bounds_narrower(const struct vgpu_clock_bounds *bounds,
				const struct vgpu_clock_sample *sample);
void vgpu_clock_bounds_merge(struct vgpu_clock_bounds *bounds,
			     const struct vgpu_clock_sample *sample);

#endif /* VGPU_CLOCK_BOUNDS_H */
