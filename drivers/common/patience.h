/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Patience: a budget of the time for which a guest may keep drivers of the host waiting for
 * memory of its programs, over all calls of the guest.
 *
 * A waiting driver may hold locks that other guests' calls need. So each guest has a budget of
 * waiting time. The full budget is the time that one answer may take; the budget is refilled
 * slowly. An answer costs nothing if it comes as fast as a well-behaved guest can send it. The
 * longer an answer takes beyond that, the larger the part of its time that is charged. A guest
 * that has used up nearly all of its budget gets no more waiting time until a part of the
 * budget is refilled. A guest that uses up the budget repeatedly is cut off for a long time.
 * The budget belongs to the guest's identity, not to its connection; otherwise a guest could
 * get a new budget by a new connection.
 *
 * Hundreds of calls may queue for one lock, and another waiter of the lock waits for the sum of
 * their waits, however short each one is. So answers are cheap only for young calls. The age of
 * a call is the time for which drivers have waited for the guest, one after the other, since
 * the call began. A lock is given in the order of requests, so another waiter waits only for
 * calls that queued before it. These calls grow old meanwhile: from then on all of their waits
 * are charged, until the budget is used up. Calls that wait at the same time age by one of
 * these waits. A call that sleeps in a driver does not age while no driver waits for the guest.
 * So answers do not get dearer by the number of threads, unless the threads need a common lock.
 *
 * Times are microseconds of a monotonic clock. The callers serialize these functions.
 */
#ifndef VGPU_PATIENCE_H
#define VGPU_PATIENCE_H

#include "wire.h"

/* Divisor of the whole: an answer that takes no longer than whole / 500 costs nothing. */
#define VGPU_PATIENCE_FREE	500U
/*
 * Divisor of the whole: if an answer takes whole / 100 longer than the time that costs nothing,
 * half of this excess is charged.
 */
#define VGPU_PATIENCE_HALF	100U
/*
 * Divisor of the whole: a call is young until drivers have waited for whole / 6 since the call
 * began. A guest can delay others for this part, the whole, and the refill meanwhile: less than
 * 1.25 times the whole, which late answers alone can take as well. All pages that a process may
 * have can be fetched by young calls if each answer takes half of the free time.
 */
#define VGPU_PATIENCE_YOUNG	6U
/* Number of microseconds in which the budget grows by one microsecond. */
#define VGPU_PATIENCE_REFILL	20U
/* Divisor of the whole: the budget counts as used up if less than whole / 8 is left. */
#define VGPU_PATIENCE_LEAST	8U
/* Divisor of the whole: drivers wait again once whole / 4 is left. */
#define VGPU_PATIENCE_AGAIN	4U
/* Number of strikes (times that the budget was used up) that cut a guest off. */
#define VGPU_PATIENCE_STRIKES	3U
/* Time in microseconds after which a strike is forgotten. */
#define VGPU_PATIENCE_FORGET_US	600000000ULL

/**
 * struct vgpu_patience - budget of waiting time of one guest
 * @whole: size of the full budget in microseconds
 * @left: rest of the budget in microseconds at @seen
 * @seen: time of the last refill
 * @strike: time of the oldest strike that is not forgotten
 * @strikes: number of strikes that are not forgotten
 * @total: number of strikes since the beginning
 * @spent: 1 if the budget was used up and is not refilled far enough, else 0
 * @paid: sum of the costs of all answers in microseconds
 * @waited: time in microseconds for which drivers have waited, one after the other: of waits
 *	that overlap one counts
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
 * struct vgpu_patience_wait - one wait of a driver for the guest
 * @call: vgpu_patience->waited at the beginning of the driver's call, from vgpu_patience_call()
 * @paid: vgpu_patience->paid at the beginning of the wait
 * @waited: vgpu_patience->waited at the beginning of the wait
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

/*
 * Change the size of the full budget. What the guest has used up of it stays used up.
 */
static inline void vgpu_patience_resize(struct vgpu_patience *patience, u64 whole)
{
	u64 used = patience->whole - min(patience->left, patience->whole);

	patience->whole = whole;
	patience->left = whole - min(used, whole);
}

/*
 * Return: true if a refill alone does not let drivers wait again: a strike has to be forgotten.
 */
static inline bool vgpu_patience_is_cut_off(const struct vgpu_patience *patience)
{
	return patience->spent && patience->strikes >= VGPU_PATIENCE_STRIKES;
}

static inline void vgpu_patience_pass(struct vgpu_patience *patience, u64 now)
{
	u64 refill;

	/* A caller that read the clock earlier may come later. */
	if (now <= patience->seen)
		return;
	refill = (now - patience->seen) / VGPU_PATIENCE_REFILL;
	patience->left = min(patience->left + refill, patience->whole);
	/* A remainder that is too short to refill a microsecond counts for the next refill. */
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
 * vgpu_patience_left - refill the budget and get the rest of it
 * @patience: budget of the guest
 * @now: current time
 *
 * Return: time in microseconds for which a driver may wait; 0: drivers may not wait.
 */
static inline u64 vgpu_patience_left(struct vgpu_patience *patience, u64 now)
{
	vgpu_patience_pass(patience, now);
	return patience->spent ? 0 : patience->left;
}

/**
 * vgpu_patience_call - get the starting point of the age of a new call
 * @patience: budget of the guest
 *
 * Return: value for @call of vgpu_patience_begin().
 */
static inline u64 vgpu_patience_call(const struct vgpu_patience *patience)
{
	return patience->waited;
}

/**
 * vgpu_patience_begin - begin a wait of a driver for an answer of the guest
 * @patience: budget of the guest
 * @now: current time
 * @call: value of vgpu_patience_call() at the beginning of the driver's call
 * @wait: out: state for vgpu_patience_end()
 *
 * Return: time in microseconds for which the driver may wait; 0: the driver may not wait.
 */
static inline u64 vgpu_patience_begin(struct vgpu_patience *patience, u64 now, u64 call,
				      struct vgpu_patience_wait *wait)
{
	*wait = (struct vgpu_patience_wait) {
		.call = call, .paid = patience->paid, .waited = patience->waited,
	};
	return vgpu_patience_left(patience, now);
}

/* Compute the part of the budget that an answer after @took microseconds costs. */
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
	/* The limit of one hour keeps the square in 64 bits; no budget is that large. */
	over = min_t(u64, took - free, 3600000000ULL);
	return max(old, over * over / (over + patience->whole / VGPU_PATIENCE_HALF));
}

/**
 * vgpu_patience_end - end a wait of a driver and charge its cost
 * @patience: budget of the guest
 * @wait: state of vgpu_patience_begin()
 * @took: duration of the wait in microseconds
 * @now: current time
 *
 * Several drivers may wait at once, for example while the whole guest stands still for a
 * moment. That time is charged once: the cost of a wait is reduced by the costs that other
 * waits have paid while it lasted.
 *
 * Return: true if this wait has used up the budget.
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

/* Return: true if the budget is full and no strike is remembered, so the state can be freed. */
static inline bool vgpu_patience_is_whole(struct vgpu_patience *patience, u64 now)
{
	vgpu_patience_pass(patience, now);
	return patience->left == patience->whole && !patience->strikes;
}

#endif /* VGPU_PATIENCE_H */
