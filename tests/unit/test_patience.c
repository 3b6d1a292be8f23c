// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers wait for a guest for a limited time: the tests show what answers cost, and what a hostile
 * guest gets.
 */
#include "patience.h"
#include "tap.h"

#define MS	1000ULL
#define S	1000000ULL
#define WHOLE	(2 * S)

/* The guest takes so long, if it may. Return: what it took. */
static u64 answer(struct vgpu_patience *patience, u64 *now, u64 wants)
{
	u64 mark, may = vgpu_patience_begin(patience, *now, &mark), took = min(may, wants);

	if (!may)
		return 0;
	*now += took;
	vgpu_patience_end(patience, mark, took, *now);
	return took;
}

static void test_honest(void)
{
	struct vgpu_patience patience;
	u64 now = 5 * S, i;
	bool ok = true;

	/* Eight threads that do nothing else but wait for answers of a millisecond. */
	vgpu_patience_init(&patience, WHOLE, now);
	for (i = 0; i < 100000; i++) {
		ok &= answer(&patience, &now, MS) == MS;
		now -= i % 8 ? MS : 0;
	}
	tap_expect(ok && patience.left == WHOLE && !patience.total, "fast answers are free");

	/* Memory that has to be read from a disk, now and then. */
	for (i = 0; i < 1000; i++) {
		ok &= answer(&patience, &now, 50 * MS) == 50 * MS;
		now += 2 * S;
	}
	tap_expect(ok && !patience.total, "slow ones cost little if they are few");
	ok &= answer(&patience, &now, S) == S;
	now += 60 * S;
	ok &= answer(&patience, &now, S) == S;
	tap_expect(ok && !patience.total, "one that is very slow, a minute after another");
	tap_subject("a guest that does its best");
}

/* A machine that stands still does so for all its processors. */
static void test_together(void)
{
	struct vgpu_patience patience;
	u64 now = 0, mark[64], i;

	vgpu_patience_init(&patience, WHOLE, now);
	for (i = 0; i < 64; i++)
		vgpu_patience_begin(&patience, now, &mark[i]);
	now += S;
	for (i = 0; i < 64; i++)
		vgpu_patience_end(&patience, mark[i], S, now);
	tap_expect(patience.left > WHOLE / 3 && !patience.spent, "waits at once are paid once");
	for (i = 0; i < 64; i++)
		vgpu_patience_begin(&patience, now, &mark[0]);
	/* Short ones meanwhile pay no more than they cost. */
	for (i = 0; i < 300; i++) {
		vgpu_patience_begin(&patience, now, &mark[1]);
		now += 3 * MS;
		vgpu_patience_end(&patience, mark[1], 3 * MS, now);
	}
	vgpu_patience_end(&patience, mark[0], 900 * MS, now);
	tap_expect(patience.spent, "none is hidden behind shorter ones");
	tap_subject("waits at the same time");
}

/* The longest time that a driver waits without others getting its lock, and the sum. */
static u64 hold(struct vgpu_patience *patience, u64 *now, u64 wants)
{
	u64 took, held = 0;

	while (held < 100 * S && (took = answer(patience, now, wants)))
		held += took;
	return held;
}

static void test_hostile(void)
{
	static const u64 wants[] = { 1900 * MS, 2 * S, 5 * S, 1000 * MS, 300 * MS, 100 * MS };
	struct vgpu_patience patience;
	u64 now, held, most, all, i, round;

	for (i = 0; i < ARRAY_SIZE(wants); i++) {
		now = 77;
		most = 0;
		all = 0;
		vgpu_patience_init(&patience, WHOLE, now);
		for (round = 0; round < 60000; round++) {
			held = hold(&patience, &now, wants[i]);
			most = max(most, held);
			all += held;
			now += 10 * MS;
		}
		tap_expect(most >= WHOLE / 2 && most <= WHOLE + WHOLE / 4,
			   "answers of %llu ms hold a lock for %llu ms", wants[i] / MS, most / MS);
		tap_expect(all <= 4 * WHOLE, "and all in all, in ten minutes, for %llu ms", all / MS);
		tap_expect(vgpu_patience_is_cut_off(&patience), "it is cut off");
	}
	tap_subject("a guest that has drivers wait");
}

static void test_refill(void)
{
	struct vgpu_patience patience;
	u64 now = 0, mark, part;
	u32 i;

	vgpu_patience_init(&patience, WHOLE, now);
	tap_expect(vgpu_patience_is_whole(&patience, now), "nothing to remember");
	answer(&patience, &now, WHOLE);
	tap_expect(patience.spent && !vgpu_patience_begin(&patience, now, &mark), "all is used up");
	tap_expect(!vgpu_patience_is_whole(&patience, now), "which is remembered");
	now += WHOLE * VGPU_PATIENCE_REFILL / VGPU_PATIENCE_AGAIN / 2;
	tap_expect(!vgpu_patience_begin(&patience, now, &mark), "and a little is not enough");
	for (i = 0; i < 1000; i++)
		vgpu_patience_begin(&patience, now + i, &mark);
	now += WHOLE * VGPU_PATIENCE_REFILL / VGPU_PATIENCE_AGAIN / 2;
	part = vgpu_patience_begin(&patience, now, &mark);
	tap_expect(part >= WHOLE / VGPU_PATIENCE_AGAIN && part < WHOLE / 3, "a part of it is");
	now += WHOLE * VGPU_PATIENCE_REFILL;
	tap_expect(vgpu_patience_begin(&patience, now, &mark) == WHOLE, "all is there again");
	tap_expect(vgpu_patience_begin(&patience, now - 5 * S, &mark) == WHOLE, "a clock seen late");

	answer(&patience, &now, WHOLE);
	now += WHOLE * VGPU_PATIENCE_REFILL;
	answer(&patience, &now, WHOLE);
	tap_expect(patience.total == 3 && vgpu_patience_is_cut_off(&patience), "the third time");
	now += WHOLE * VGPU_PATIENCE_REFILL;
	tap_expect(!vgpu_patience_begin(&patience, now, &mark), "it is not there again");
	now += VGPU_PATIENCE_FORGET_US;
	tap_expect(vgpu_patience_begin(&patience, now, &mark) == WHOLE, "but ten minutes later");
	answer(&patience, &now, WHOLE);
	tap_expect(vgpu_patience_is_cut_off(&patience), "when once more is too often");
	now += 10 * VGPU_PATIENCE_FORGET_US;
	tap_expect(vgpu_patience_is_whole(&patience, now), "all is forgotten");
	tap_subject("what comes back");
}

int main(void)
{
	test_honest();
	test_together();
	test_hostile();
	test_refill();
	return tap_done();
}
