/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rates: how many calls, opens and bytes a guest may have in a second, as token buckets.
 *
 * A bucket gives units to calls in the order in which they came. A call takes its units at once,
 * although the bucket may not have given them out yet, and then waits until all units that were
 * taken before are given out. So calls that wait know for how long, none of them can be overtaken
 * for ever, and a call of any size may go on some time. A call that does not go on, because its
 * program was killed or got a signal, returns its units: otherwise a program with a timer could
 * keep the bucket in debt.
 *
 * In any time the bucket lets at most this number of units begin: the rate times that time, a part
 * of a second's units that an idle guest saves up (VGPU_RATE_BURST), and the units of the last
 * call.
 *
 * The rate is an argument of all functions, as it may change at any time, and is not kept where a
 * guest's processes could change it. After a change, the time since the last look at the bucket
 * counts by the lower one of the two rates.
 *
 * Times are nanoseconds of a monotonic clock. The callers serialize these functions, and do not
 * call them with a rate of 0, which means that there is no limit.
 */
#ifndef VGPU_RATE_H
#define VGPU_RATE_H

#include "wire.h"

#ifdef __KERNEL__
#include "uapi/linux/vgpu_host.h"
#else
#include <linux/vgpu_host.h>
#endif

/* VGPU_HOST_RATE_MAX, the largest rate, keeps the products below in 64 bits. */

/* Divisor of the rate: an idle guest saves up the units of an eighth of a second. */
#define VGPU_RATE_BURST		8U
/* Number of nanoseconds in a second. */
#define VGPU_RATE_SECOND	1000000000ULL
/* Most seconds that count at once: an hour without a look at the bucket. */
#define VGPU_RATE_SECONDS	3600ULL

/**
 * struct vgpu_rate - bucket of one guest for one kind of unit
 * @most: rate in units a second at @seen; 0: the bucket was not used yet
 * @given: number of units that were given out
 * @taken: number of units that calls have taken
 * @seen: time up to which units were given out
 */
struct vgpu_rate {
	u64 most;
	u64 given;
	u64 taken;
	u64 seen;
};

/* Give out the units of the time that has passed since the last look at the bucket. */
static inline void vgpu_rate_pass(struct vgpu_rate *rate, u64 most, u64 now)
{
	const u64 saved = rate->taken + max(most / VGPU_RATE_BURST, 1ULL);
	u64 least = min(rate->most, most), gone, rest, units = 0, part;

	if (!rate->most) {
		rate->given = saved;
		rate->seen = now;
	} else if (now > rate->seen) {
		gone = now - rate->seen;
		rest = gone % VGPU_RATE_SECOND;
		part = rest * least / VGPU_RATE_SECOND;
		units = min(gone / VGPU_RATE_SECOND, VGPU_RATE_SECONDS) * least + part;
		/* Time that is too short for a unit counts when the bucket is looked at again. */
		if (units)
			rate->seen = now - rest +
				(part * VGPU_RATE_SECOND + least - 1) / least;
	}
	rate->given = min(rate->given + units, saved);
	rate->most = most;
}

/**
 * vgpu_rate_take - take units for a call
 * @rate: bucket of the guest
 * @most: rate in units a second
 * @nr: number of units
 * @now: current time
 *
 * Return: the call's turn, for vgpu_rate_wait().
 */
static inline u64 vgpu_rate_take(struct vgpu_rate *rate, u64 most, u64 nr, u64 now)
{
	u64 turn;

	vgpu_rate_pass(rate, most, now);
	turn = rate->taken;
	rate->taken += nr;
	return turn;
}

/**
 * vgpu_rate_wait - compute how long a call has to wait
 * @rate: bucket of the guest
 * @most: rate in units a second
 * @turn: turn of the call
 * @now: current time
 *
 * Return: time in nanoseconds, a second at most, after which the caller asks again; 0: the call may
 * go on.
 */
static inline u64 vgpu_rate_wait(struct vgpu_rate *rate, u64 most, u64 turn, u64 now)
{
	u64 units;

	vgpu_rate_pass(rate, most, now);
	/*
	 * Calls that came earlier may have returned their units since, and the bucket does not give
	 * out many more units than are taken. So a turn beyond the units that are taken is due with
	 * the last of them.
	 */
	if (turn >= rate->taken)
		turn = rate->taken ? rate->taken - 1 : 0;
	if (turn < rate->given)
		return 0;
	units = turn - rate->given + 1;
	return units >= most ? VGPU_RATE_SECOND : units * VGPU_RATE_SECOND / most + 1;
}

/* Return the units of a call that does not go on. */
static inline void vgpu_rate_return(struct vgpu_rate *rate, u64 nr)
{
	rate->taken -= min(nr, rate->taken);
}

/**
 * struct vgpu_rates - buckets of one guest
 * @calls: bucket of calls
 * @opens: bucket of calls that open a device
 * @bytes: bucket of bytes of messages on lanes, in both directions
 */
struct vgpu_rates {
	struct vgpu_rate calls;
	struct vgpu_rate opens;
	struct vgpu_rate bytes;
};

/**
 * struct vgpu_turn - units that a call has taken of the buckets; only the call's thread uses it
 * @calls: turn of the call at the bucket of calls; as the next two fields, without a meaning if the
 *	number of units below is 0
 * @opens: turn of the call at the bucket of opens
 * @bytes: turn of the call at the bucket of bytes
 * @nr_calls: number of units of @calls
 * @nr_opens: number of units of @opens
 * @nr_bytes: number of units of @bytes
 */
struct vgpu_turn {
	u64 calls;
	u64 opens;
	u64 bytes;
	u32 nr_calls;
	u32 nr_opens;
	u32 nr_bytes;
};

/**
 * vgpu_turn_take - take what a call needs
 * @rates: buckets of the guest
 * @most: rates of the guest; 0: no limit
 * @open: true if the call opens a device
 * @bytes: length of the call's message in bytes, not 0
 * @now: current time
 * @turn: filled in
 */
static inline void vgpu_turn_take(struct vgpu_rates *rates, const struct vgpu_host_rates *most,
				  bool open, u32 bytes, u64 now, struct vgpu_turn *turn)
{
	*turn = (struct vgpu_turn) {};
	if (most->calls) {
		turn->nr_calls = 1;
		turn->calls = vgpu_rate_take(&rates->calls, most->calls, 1, now);
	}
	if (open && most->opens) {
		turn->nr_opens = 1;
		turn->opens = vgpu_rate_take(&rates->opens, most->opens, 1, now);
	}
	if (most->bytes) {
		turn->nr_bytes = bytes;
		turn->bytes = vgpu_rate_take(&rates->bytes, most->bytes, bytes, now);
	}
}

/* Return how long the call has to wait, as vgpu_rate_wait() does. @most may have changed. */
static inline u64 vgpu_turn_wait(struct vgpu_rates *rates, const struct vgpu_host_rates *most,
				 const struct vgpu_turn *turn, u64 now)
{
	u64 wait = 0;

	if (turn->nr_calls && most->calls)
		wait = vgpu_rate_wait(&rates->calls, most->calls, turn->calls, now);
	if (turn->nr_opens && most->opens)
		wait = max(wait, vgpu_rate_wait(&rates->opens, most->opens, turn->opens, now));
	if (turn->nr_bytes && most->bytes)
		wait = max(wait, vgpu_rate_wait(&rates->bytes, most->bytes, turn->bytes, now));
	return wait;
}

/* Return the units of a call that does not go on. */
static inline void vgpu_turn_return(struct vgpu_rates *rates, const struct vgpu_turn *turn)
{
	vgpu_rate_return(&rates->calls, turn->nr_calls);
	vgpu_rate_return(&rates->opens, turn->nr_opens);
	vgpu_rate_return(&rates->bytes, turn->nr_bytes);
}

/* Return true if the bucket is full, so that its state can be forgotten. */
static inline bool vgpu_rate_is_whole(struct vgpu_rate *rate, u64 now)
{
	if (!rate->most)
		return true;
	vgpu_rate_pass(rate, rate->most, now);
	return rate->given >= rate->taken + max(rate->most / VGPU_RATE_BURST, 1ULL);
}

/* Return true if all buckets of a guest are full. */
static inline bool vgpu_rates_are_whole(struct vgpu_rates *rates, u64 now)
{
	return vgpu_rate_is_whole(&rates->calls, now) && vgpu_rate_is_whole(&rates->opens, now) &&
	       vgpu_rate_is_whole(&rates->bytes, now);
}

/* Forget what a guest owes to rates that are not limited any more: it begins anew with a limit. */
static inline void vgpu_rates_forget(struct vgpu_rates *rates, const struct vgpu_host_rates *most)
{
	if (!most->calls)
		rates->calls.most = 0;
	if (!most->opens)
		rates->opens.most = 0;
	if (!most->bytes)
		rates->bytes.most = 0;
}

/* Return true if a guest has a limit to one of its rates. */
static inline bool vgpu_rates_any(const struct vgpu_host_rates *most)
{
	return most->calls || most->opens || most->bytes;
}

#endif /* VGPU_RATE_H */
