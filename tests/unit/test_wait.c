// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the time for which drivers wait (userspace-lib/engine/shadow/memory/wait.c): it counts
 * for the call that has waited, and is read and written under demand.lock only. The clock and the
 * lock are simulated.
 */
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/wait.h"
#include "tap.h"

#define TIMEOUT_MS	2000ULL

static struct engine_shared numbers = {
	.fetch_timeout_ms = TIMEOUT_MS,
	.patience_us = 3600 * 1000 * 1000ULL,
};
const struct engine_shared *shared = &numbers;
static struct engine_patience budget;
struct engine_patience *patience = &budget;
struct demand demand;

static struct lane lane;
static u64 clock_ns;
static bool held;
/* Time that was counted when the lock was last dropped. */
static u64 counted;

/* --- functions that wait.c calls ------------------------------------------------------------ */

void lock_take(struct lock *lock)
{
	tap_expect(lock == &demand.lock && !held, "the lock of pages is free");
	tap_expect(lane.fetch.upcall_ns == counted, "nothing was counted without the lock");
	held = true;
}

void lock_drop(struct lock *lock)
{
	tap_expect(held, "the lock is held");
	counted = lane.fetch.upcall_ns;
	held = false;
}

u64 now_ns(void)
{
	return clock_ns;
}

void guest_lock_take(void)
{
	tap_expect(!budget.lock, "the budget's lock is free");
	budget.lock = 1;
}

void guest_lock_drop(void)
{
	tap_expect(budget.lock, "the budget's lock is held");
	budget.lock = 0;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void begin_call(u64 number)
{
	lock_take(&demand.lock);
	lane.seq = number;
	wait_call_begins(&lane);
	lock_drop(&demand.lock);
}

/* Returns the time in milliseconds that the driver of the lane's call may wait now. */
static u64 may_ms(struct vgpu_patience_wait *wait)
{
	u64 may;

	lock_take(&demand.lock);
	may = wait_begin(&lane, wait);
	lock_drop(&demand.lock);
	return may / NSEC_PER_MS;
}

static void count_ms(u64 call, const struct vgpu_patience_wait *wait, u64 ms)
{
	clock_ns += ms * NSEC_PER_MS;
	wait_count(&lane, call, wait, ms * NSEC_PER_MS);
	tap_expect(lane.fetch.upcall_ns == counted, "nothing is counted without the lock");
	tap_expect(!budget.lock, "the budget's lock is free");
}

static void begin(void)
{
	clock_ns = 1000 * NSEC_PER_MS;
	/* The budget is so large that only the time limit of a call counts. */
	budget.patience = (struct vgpu_patience) { };
	vgpu_patience_init(&budget.patience, 3600 * 1000 * 1000ULL, clock_ns / NSEC_PER_US);
}

static void test_limit(void)
{
	struct vgpu_patience_wait wait;

	begin();
	begin_call(1);
	tap_expect(may_ms(&wait) > TIMEOUT_MS, "a call may wait");
	count_ms(1, &wait, TIMEOUT_MS);
	tap_expect(may_ms(&wait), "up to its limit");
	count_ms(1, &wait, 1);
	tap_expect(!may_ms(&wait), "and no longer");
	begin_call(2);
	tap_expect(may_ms(&wait), "the next call has a limit of its own");
	tap_subject("the waits of a call have one limit");
}

/* A signal has ended a wait, and the pager counts it when the lane has the next call. */
static void test_late_count(void)
{
	struct vgpu_patience_wait first, second;

	begin();
	begin_call(1);
	tap_expect(may_ms(&first), "a call may wait");
	begin_call(2);
	tap_expect(may_ms(&second), "the next call may wait");
	count_ms(1, &first, TIMEOUT_MS + 1);
	tap_expect(!lane.fetch.upcall_ns, "%llu ns of the earlier call count for the next one",
		   (unsigned long long)lane.fetch.upcall_ns);
	tap_expect(may_ms(&second), "the next call has all of its time");
	count_ms(2, &second, 5);
	tap_expect(lane.fetch.upcall_ns == 5 * NSEC_PER_MS, "its own wait counts");
	tap_expect(budget.patience.waited, "all waits count for the guest");
	tap_subject("a wait that is counted late");
}

int main(void)
{
	test_limit();
	test_late_count();
	return tap_done();
}
