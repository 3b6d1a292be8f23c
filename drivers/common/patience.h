/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a guest may keep drivers waiting for memory of its programs, over all its calls.
 *
 * A driver that waits may hold locks that everybody's calls need. So the time is a budget of the
 * guest: as much as one answer may take, refilled slowly. Answers that come as fast as those of a
 * guest that does its best cost nothing; the more one takes beyond that, the more of its time
 * counts. A guest that has used up nearly all gets no more until it has a part of it again, and one
 * that comes to that again and again only after a long time. What counts is not its connection but
 * who it is, or it would connect anew.
 *
 * Hundreds of calls may queue for one lock, and others wait for the sum of their waits, however
 * short each is. So answers are cheap only for calls that are young. A call's age is the time that
 * drivers have waited for the guest, one after the other, since it began. A lock is given in the
 * order in which it is wanted: somebody else waits only for calls that were there before. While
 * he waits these grow old, and from then on all that they take is paid, and the budget ends it.
 * Calls that have their answers at once age by one of these waits, and one that sleeps in a driver
 * does not age at all while nobody waits for the guest: what threads do does not grow
 * dearer by their number as long as they want no common lock.
 *
 * Times are microseconds, of a clock that does not go back. Whoever uses these functions makes
 * callers take turns.
 */
#ifndef VGPU_PATIENCE_H
#define VGPU_PATIENCE_H

#include "wire.h"

#ifdef __KERNEL__
#include <linux/minmax.h>
#endif

/* Answers that take no longer than this part of the whole cost nothing. */
#define VGPU_PATIENCE_FREE	500U
/* One that takes so much longer, again a part of the whole, counts by half. */
#define VGPU_PATIENCE_HALF	100U
/*
 * A call is young until drivers have waited for this part of the whole since it began. With the
 * whole after it, and what is refilled meanwhile, that is less than one and a quarter, as much as
 * late answers alone can take. All pages that a process may have come while it is young if each
 * answer takes half of the time that is free.
 */
#define VGPU_PATIENCE_YOUNG	6U
/* The budget grows by a microsecond for each period of this many microseconds. */
#define VGPU_PATIENCE_REFILL	20U
/* This part of the whole is as good as nothing, */
#define VGPU_PATIENCE_LEAST	8U
/* and with that much one may begin again. */
#define VGPU_PATIENCE_AGAIN	4U
/* A guest that has used up all of its budget this many times */
#define VGPU_PATIENCE_STRIKES	3U
/* has to wait until one of these times is forgotten, which takes so long. */
#define VGPU_PATIENCE_FORGET_US	600000000ULL

/**
 * struct vgpu_patience - what a guest has left
 * @whole: the budget when it is full
 * @left: what is left of it
 * @seen: when that was
 * @strike: when the oldest of the times was at which all was used up
 * @strikes: number of these times
 * @total: likewise, since the beginning
 * @spent: all was used up, and it has too little again
 * @paid: all that answers have cost
 * @waited: for how long drivers have waited, one after the other: of waits that overlap one counts
 */
struct vgpu_patience {
	u64 whole;
	u64 left;
	u64 seen;
	u64 strike;
	u32 strikes;
	u32 total;
	u32 spent;
	u64 paid;
	u64 waited;
};

/**
 * struct vgpu_patience_wait - a driver waits for the guest
 * @call: of vgpu_patience_call(), when its call began
 * @paid: all that answers had cost when the wait began
 * @waited: for how long drivers had waited then
 */
struct vgpu_patience_wait {
	u64 call;
	u64 paid;
	u64 waited;
};

static inline void vgpu_patience_init(struct vgpu_patience *patience, u64 whole, u64 now)
{
	*patience = (struct vgpu_patience) { .whole = whole, .left = whole, .seen = now };
}

/* The guest does not even get more when it has waited for the refill. */
static inline bool vgpu_patience_is_cut_off(const struct vgpu_patience *patience)
{
	return patience->spent && patience->strikes >= VGPU_PATIENCE_STRIKES;
}

static inline void vgpu_patience_pass(struct vgpu_patience *patience, u64 now)
{
	u64 refill;

	/* Others may have looked at the clock later, and come earlier. */
	if (now <= patience->seen)
		return;
	refill = (now - patience->seen) / VGPU_PATIENCE_REFILL;
	patience->left = min(patience->left + refill, patience->whole);
	/* Time that is too short to refill a microsecond is not lost: it counts next time. */
	patience->seen = patience->left == patience->whole ? now :
		patience->seen + refill * VGPU_PATIENCE_REFILL;
	while (patience->strikes && now > patience->strike &&
	       now - patience->strike >= VGPU_PATIENCE_FORGET_US) {
		patience->strikes--;
		patience->strike += VGPU_PATIENCE_FORGET_US;
	}
	if (patience->left >= patience->whole / VGPU_PATIENCE_AGAIN &&
	    !vgpu_patience_is_cut_off(patience))
		patience->spent = 0;
}

/**
 * vgpu_patience_left - what is left of the guest's time
 * @patience: the guest's
 * @now: the time
 *
 * Return: for how long a driver may wait; 0: not at all.
 */
static inline u64 vgpu_patience_left(struct vgpu_patience *patience, u64 now)
{
	vgpu_patience_pass(patience, now);
	return patience->spent ? 0 : patience->left;
}

/**
 * vgpu_patience_call - a call of the guest begins
 * @patience: the guest's
 *
 * Return: what tells the call's age later, for vgpu_patience_begin().
 */
static inline u64 vgpu_patience_call(const struct vgpu_patience *patience)
{
	return patience->waited;
}

/**
 * vgpu_patience_begin - may a driver wait for an answer of the guest?
 * @patience: the guest's
 * @now: the time
 * @call: of vgpu_patience_call(), when the driver's call began
 * @wait: for vgpu_patience_end()
 *
 * Return: how long; 0: not at all.
 */
static inline u64 vgpu_patience_begin(struct vgpu_patience *patience, u64 now, u64 call,
				      struct vgpu_patience_wait *wait)
{
	*wait = (struct vgpu_patience_wait) {
		.call = call, .paid = patience->paid, .waited = patience->waited,
	};
	return vgpu_patience_left(patience, now);
}

/* An answer that took @took microseconds costs the returned part of the budget. */
static inline u64 vgpu_patience_cost(const struct vgpu_patience *patience,
				     const struct vgpu_patience_wait *wait, u64 took)
{
	u64 free = patience->whole / VGPU_PATIENCE_FREE;
	u64 young = patience->whole / VGPU_PATIENCE_YOUNG;
	u64 age = wait->waited + took - wait->call;
	u64 old = age > young ? min(took, age - young) : 0;
	u64 over;

	if (took <= free)
		return old;
	/* An hour, whose square has room, is more than anybody has. */
	over = min_t(u64, took - free, 3600000000ULL);
	return max(old, over * over / (over + patience->whole / VGPU_PATIENCE_HALF));
}

/**
 * vgpu_patience_end - a driver has waited
 * @patience: the guest's
 * @wait: of vgpu_patience_begin()
 * @took: how long
 * @now: the time
 *
 * Several drivers may wait at once, as when the whole guest stands still for a moment. That time is
 * paid once: each wait costs what others have not paid while it lasted.
 *
 * Return: with this all is used up.
 */
static inline bool vgpu_patience_end(struct vgpu_patience *patience,
				     const struct vgpu_patience_wait *wait, u64 took, u64 now)
{
	u64 cost = vgpu_patience_cost(patience, wait, took);

	patience->waited = max(patience->waited, wait->waited + took);
	cost -= min(cost, patience->paid - wait->paid);
	patience->paid += cost;
	vgpu_patience_pass(patience, now);
	patience->left -= min(cost, patience->left);
	if (!cost || patience->spent || patience->left >= patience->whole / VGPU_PATIENCE_LEAST)
		return false;
	patience->spent = 1;
	patience->total++;
	if (!patience->strikes++)
		patience->strike = now;
	return true;
}

/* Nothing has to be remembered of the guest. */
static inline bool vgpu_patience_is_whole(struct vgpu_patience *patience, u64 now)
{
	vgpu_patience_pass(patience, now);
	return patience->left == patience->whole && !patience->strikes;
}

#endif /* VGPU_PATIENCE_H */
