// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call gives two bounds: the host received it after it was sent, and sent the reply
 * before that was received. However long the call took, a time that the host's clock
 * showed meanwhile lies between its beginning and its end here, with any offset within the
 * two. All calls together narrow the bounds down to less than the quickest round trip.
 *
 * The clocks go at slightly different rates, so bounds that are old are let out. A sample
 * that contradicts them (a machine was stopped, or a clock is set right by more than
 * that) stands alone.
 */
#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/minmax.h>
#else
#include "wire_user.h"
#endif

#include "clock_bounds.h"

/* The rates are taken to differ by less than 1 in so many (as a shift): 122 ppm. */
#define CLOCK_DRIFT_SHIFT	13

static s64 clock_drift(u64 from, u64 to)
{
	return to > from ? (to - from) >> CLOCK_DRIFT_SHIFT : 0;
}

/* The bounds that a sample gives, when its reply is there. */
static void sample_bounds(const struct vgpu_clock_sample *sample, s64 *low, s64 *high)
{
	*high = sample->received - sample->out;
	*low = sample->sent - sample->in - clock_drift(sample->sent, sample->received);
	/* The driver waited for long, and the clocks differ by more than they should. */
	*low = min(*low, *high);
}

/**
 * vgpu_clock_bounds_width - how wrong the offset may be
 * @bounds: what is known
 * @now: time of this machine's clock
 *
 * Return: nanoseconds.
 */
u64 vgpu_clock_bounds_width(const struct vgpu_clock_bounds *bounds, u64 now)
{
	if (!bounds->known)
		return U64_MAX;
	return bounds->high - bounds->low + 2 * clock_drift(bounds->at, now);
}

/**
 * vgpu_clock_bounds_narrower - does a sample say more than is known?
 * @bounds: what is known
 * @sample: a call that has ended
 *
 * Return: false: vgpu_clock_bounds_merge() would change nothing.
 */
bool vgpu_clock_bounds_narrower(const struct vgpu_clock_bounds *bounds,
				const struct vgpu_clock_sample *sample)
{
	s64 drift = clock_drift(bounds->at, sample->received);
	s64 low, high;

	sample_bounds(sample, &low, &high);
	return !bounds->known || low > bounds->low - drift || high < bounds->high + drift;
}

/**
 * vgpu_clock_bounds_merge - take what a sample says into account
 * @bounds: what is known; zeroed before the first sample
 * @sample: a call that has ended; its times may be anything that a host sends
 *
 * Afterwards @bounds->offset is possible by @sample, too.
 */
void vgpu_clock_bounds_merge(struct vgpu_clock_bounds *bounds,
			     const struct vgpu_clock_sample *sample)
{
	s64 drift = clock_drift(bounds->at, sample->received);
	s64 old_low = bounds->low - drift, old_high = bounds->high + drift;

	sample_bounds(sample, &bounds->low, &bounds->high);
	if (!bounds->known) {
		bounds->offset = bounds->low + (bounds->high - bounds->low) / 2;
	} else if (bounds->low <= old_high && bounds->high >= old_low) {
		bounds->low = max(bounds->low, old_low);
		bounds->high = min(bounds->high, old_high);
	}
	bounds->offset = clamp(bounds->offset, bounds->low, bounds->high);
	bounds->at = max(bounds->at, sample->received);
	bounds->known = true;
}
