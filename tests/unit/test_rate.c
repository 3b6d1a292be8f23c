// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the rates of a guest (rate.h): how much may begin in a time, however often callers ask,
 * and in which order calls go on.
 */
#include "rate.h"
#include "tap.h"

#define SECOND	VGPU_RATE_SECOND
#define MS	(SECOND / 1000)

/* Runs calls of @nr units one after the other for @time. Return: number of calls that began. */
static u64 run(struct vgpu_rate *rate, u64 most, u64 nr, u64 *now, u64 time, u64 step)
{
	u64 end = *now + time, turn = vgpu_rate_take(rate, most, nr, *now), calls = 0, wait;

	while (*now < end) {
		wait = vgpu_rate_wait(rate, most, turn, *now);
		if (wait) {
			tap_expect(wait <= SECOND, "a wait of %llu ns", (unsigned long long)wait);
			*now += step ? step : wait;
			continue;
		}
		calls++;
		turn = vgpu_rate_take(rate, most, nr, *now);
	}
	vgpu_rate_return(rate, nr);
	return calls;
}

/* The bound of calls in a time, and no less than it without the burst. */
static void expect_calls(u64 calls, u64 most, u64 nr, u64 time)
{
	u64 least = most * (time / MS) / 1000 / nr;
	u64 bound = (most * (time / MS) / 1000 + most / VGPU_RATE_BURST + 1) / nr + 2;

	tap_expect(calls <= bound && calls + calls / 100 + 2 >= least,
		   "%llu calls, not %llu to %llu, at %llu a second", (unsigned long long)calls,
		   (unsigned long long)least, (unsigned long long)bound,
		   (unsigned long long)most);
}

static void test_bound(void)
{
	static const u64 rates[] = { 1, 2, 7, 8, 9, 100, 1000, 999983, 1ULL << 30,
				     VGPU_HOST_RATE_MAX };
	struct vgpu_rate rate;
	u64 now, calls, nr;
	unsigned int i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		rate = (struct vgpu_rate) {};
		now = 12345678901234ULL;
		nr = max(rates[i] / 1000, 1ULL);
		calls = run(&rate, rates[i], nr, &now, 20 * SECOND, 0);
		expect_calls(calls, rates[i], nr, 20 * SECOND);
		/* A caller that asks much too often gets no more. */
		if (rates[i] <= 1000) {
			calls = run(&rate, rates[i], nr, &now, 4 * SECOND, 10007);
			expect_calls(calls, rates[i], nr, 4 * SECOND);
		}
	}
	tap_subject("no more than the rate and a burst");
}

static void test_idle(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, calls;

	run(&rate, 80, 1, &now, SECOND, 0);
	now += 100000 * SECOND;
	calls = run(&rate, 80, 1, &now, 1, 0);
	tap_expect(calls == 10, "%llu calls at once after a long time, not 10",
		   (unsigned long long)calls);
	tap_expect(vgpu_rate_is_whole(&rate, now + SECOND), "the bucket does not fill up");
	tap_subject("an idle guest saves up an eighth of a second");
}

static void test_large(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, turn = vgpu_rate_take(&rate, 1000, 5000, now), end = now;

	tap_expect(!vgpu_rate_wait(&rate, 1000, turn, now), "a large call waits for itself");
	turn = vgpu_rate_take(&rate, 1000, 1, now);
	while (vgpu_rate_wait(&rate, 1000, turn, end))
		end += vgpu_rate_wait(&rate, 1000, turn, end);
	tap_expect(end - now >= 4850 * MS && end - now <= 5001 * MS,
		   "the next call waits for %llu ms", (unsigned long long)((end - now) / MS));
	tap_subject("a call of any size goes on, and the next one waits for it");
}

static void test_order(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, first, second, third;

	vgpu_rate_take(&rate, 10, 100, now);
	first = vgpu_rate_take(&rate, 10, 1, now);
	second = vgpu_rate_take(&rate, 10, 1, now);
	third = vgpu_rate_take(&rate, 10, 1, now);
	for (; vgpu_rate_wait(&rate, 10, first, now); now += MS)
		tap_expect(vgpu_rate_wait(&rate, 10, second, now) &&
			   vgpu_rate_wait(&rate, 10, third, now), "a later call overtakes");
	tap_expect(vgpu_rate_wait(&rate, 10, third, now), "two calls go on at once");
	tap_subject("calls go on in the order in which they came");
}

/* A program with a timer gives its call up again and again, and begins it anew. */
static void test_return(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, turn, end;

	turn = vgpu_rate_take(&rate, 1, 1, now);
	tap_expect(!vgpu_rate_wait(&rate, 1, turn, now), "the first call waits");
	end = now + 3 * SECOND;
	do {
		turn = vgpu_rate_take(&rate, 1, 1, now);
		if (!vgpu_rate_wait(&rate, 1, turn, now))
			break;
		vgpu_rate_return(&rate, 1);
		now += 10 * MS;
	} while (now < end);
	tap_expect(now < end, "a call that is given up and repeated never goes on");
	tap_subject("a call that is given up returns its units");
}

/* A large call is given up, and no other call comes after the one that waits behind it. */
static void test_return_before(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, turn, end = now + 5 * SECOND, wait;

	vgpu_rate_take(&rate, 100, 1, now);
	vgpu_rate_take(&rate, 100, 10000, now);
	turn = vgpu_rate_take(&rate, 100, 1, now);
	tap_expect(vgpu_rate_wait(&rate, 100, turn, now), "a call overtakes a large one");
	vgpu_rate_return(&rate, 10000);
	while (now < end && (wait = vgpu_rate_wait(&rate, 100, turn, now)))
		now += wait;
	tap_expect(now < end, "a call waits for units that were returned");
	tap_subject("a call does not wait for units that were returned before it");
}

static void test_change(void)
{
	struct vgpu_rate rate = {};
	u64 now = SECOND, turn;

	vgpu_rate_take(&rate, 10, 1000, now);
	turn = vgpu_rate_take(&rate, 10, 1, now);
	tap_expect(vgpu_rate_wait(&rate, 10, turn, now + 50 * SECOND), "100 s have passed too soon");
	/* The time before the change counts by the lower rate. */
	now += 60 * SECOND;
	tap_expect(vgpu_rate_wait(&rate, 1000, turn, now), "the new rate counts for the past");
	tap_expect(!vgpu_rate_wait(&rate, 1000, turn, now + SECOND), "the new rate does not count");
	/* A lower rate takes effect at once. */
	now += 2 * SECOND;
	run(&rate, 1000, 1, &now, SECOND, 0);
	expect_calls(run(&rate, 10, 1, &now, 10 * SECOND, 0), 10, 1, 10 * SECOND);
	tap_subject("a rate that changes");
}

static void test_turn(void)
{
	struct vgpu_host_rates most = { .calls = 1000, .opens = 1, .bytes = 1000 };
	struct vgpu_rates rates = {};
	struct vgpu_turn first, second, third;
	u64 now = SECOND;

	vgpu_turn_take(&rates, &most, true, 10, now, &first);
	vgpu_turn_take(&rates, &most, false, 10, now, &second);
	vgpu_turn_take(&rates, &most, true, 10, now, &third);
	tap_expect(!vgpu_turn_wait(&rates, &most, &first, now), "the first open waits");
	tap_expect(!vgpu_turn_wait(&rates, &most, &second, now), "a call waits for an open");
	tap_expect(vgpu_turn_wait(&rates, &most, &third, now), "the second open does not wait");
	most.opens = 0;
	tap_expect(!vgpu_turn_wait(&rates, &most, &third, now), "an open waits without a limit");
	vgpu_turn_return(&rates, &third);
	tap_expect(rates.opens.taken == 1 && rates.calls.taken == 2 && rates.bytes.taken == 20,
		   "not all units were returned");
	vgpu_turn_take(&rates, &most, false, 100000, now, &second);
	vgpu_turn_take(&rates, &most, false, 10, now, &third);
	tap_expect(!vgpu_turn_wait(&rates, &most, &second, now) &&
		   vgpu_turn_wait(&rates, &most, &third, now), "bytes do not count");
	tap_expect(!vgpu_rates_are_whole(&rates, now) &&
		   vgpu_rates_are_whole(&rates, now + 200 * SECOND), "the buckets' state");
	most.bytes = 0;
	vgpu_rates_forget(&rates, &most);
	most.bytes = 1000;
	vgpu_turn_take(&rates, &most, false, 10, now, &third);
	tap_expect(!vgpu_turn_wait(&rates, &most, &third, now), "a debt outlasts its limit");
	tap_subject("calls, opens and bytes");
}

int main(void)
{
	test_bound();
	test_idle();
	test_large();
	test_order();
	test_return();
	test_return_before();
	test_change();
	test_turn();
	return tap_done();
}
