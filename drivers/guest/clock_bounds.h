/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between which two values the difference of two machines' clocks lies. Plain C, that
 * compiles in user space too.
 */
#ifndef VGPU_CLOCK_BOUNDS_H
#define VGPU_CLOCK_BOUNDS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "wire_user.h"
#endif

/**
 * struct vgpu_clock_sample - a call, as both clocks saw it, in nanoseconds
 * @sent: when this machine began to send it, by its own clock
 * @in: when the host had received its header, by the host's clock
 * @out: when the host began to send the reply, by the host's clock
 * @received: when this machine had received the reply's header, by its own clock
 */
struct vgpu_clock_sample {
	u64 sent;
	u64 in;
	u64 out;
	u64 received;
};

/**
 * struct vgpu_clock_bounds - what is known of (this machine's clock - the host's)
 * @known: a sample was seen
 * @low: smallest value that is possible, in nanoseconds, as are all that follow
 * @high: largest value that is possible
 * @offset: value that is used; changes only when it is not possible any more
 * @at: time of this machine's clock at which @low and @high were true
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
