// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call gives two bounds of the difference between the clocks: the host received the call
 * after it was sent, and sent the reply before the reply was received. With any offset within
 * the bounds, a time that the host's clock showed during the call lies between the beginning and
 * the end of the call by this machine's clock. All calls together narrow the bounds to less than
 * the quickest round trip.
 *
 * The clocks run at slightly different rates, so the bounds widen with age. A sample whose
 * bounds do not overlap the widened ones (a machine was stopped, or a clock was set) replaces
 * the bounds.
 */
#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/minmax.h>
#else
#include "wire_user.h"
#endif

#include "link/clock_bounds.h"

/* Assumed limit of the difference of the rates: 1 in 2^13, which is 122 ppm. */
#define CLOCK_DRIFT_SHIFT	13

static s64 clock_drift(u64 from, u64 to)
{
	return to > from ? (to - from) >> CLOCK_DRIFT_SHIFT : 0;
}

/* Computes the bounds that a sample gives, for the time at which its reply was received. */
static void sample_bounds(const struct vgpu_clock_sample *sample, s64 *low, s64 *high)
{
	*high = sample->received - sample->out;
	*low = sample->sent - sample->in - clock_drift(sample->sent, sample->received);
	/*
	 * Keep @low at most @high if the call took long and the clocks drift by more than
	 * assumed.
	 */
	*low = min(*low, *high);
}

/**
 * vgpu_clock_bounds_width - compute how wrong the offset may be
 * @bounds: bounds
 * @now: time of this machine's clock
 *
 * Return: the largest possible error in nanoseconds.
 */
u64 vgpu_clock_bounds_width(const struct vgpu_clock_bounds *bounds, u64 now)
{
	if (!bounds->known)
		return U64_MAX;
	return bounds->high - bounds->low + 2 * clock_drift(bounds->at, now);
}

/**
 * vgpu_clock_bounds_narrower - check whether a sample narrows the bounds
 * @bounds: bounds
 * @sample: times of a call that has ended
 *
 * Return: false if vgpu_clock_bounds_merge() would change nothing.
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
 * vgpu_clock_bounds_merge - narrow the bounds by a sample
 * @bounds: bounds; zeroed before the first sample
 * @sample: times of a call that has ended; a host may send any values
 *
 * Afterwards @bounds->offset is within the bounds of @sample, too.
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
