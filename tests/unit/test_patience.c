// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers wait for a guest for a limited time. The tests show how much of that time answers cost,
 * and for how long a hostile guest can make drivers wait.
 */
#include "patience.h"
#include "tap.h"

#define MS	1000ULL
#define S	1000000ULL
#define WHOLE	(2 * S)
#define LANES	1024U

/* Lets the guest take @wants for an answer to the call @call, or less. Return: the time it took. */
static u64 answer_to(struct vgpu_patience *patience, u64 *now, u64 call, u64 wants)
{
	struct vgpu_patience_wait wait;
	u64 may = vgpu_patience_begin(patience, *now, call, &wait), took = min(may, wants);

	if (!may)
		return 0;
	*now += took;
	vgpu_patience_end(patience, &wait, took, *now);
	return took;
}

/* Lets the guest take @wants for an answer to a new call, or less. Return: the time it took. */
static u64 answer(struct vgpu_patience *patience, u64 *now, u64 wants)
{
	return answer_to(patience, now, vgpu_patience_call(patience), wants);
}

static void test_honest(void)
{
	struct vgpu_patience patience;
	u64 now = 5 * S, i;
	bool ok = true;

	/* Eight threads wait for answers of a millisecond all the time. */
	vgpu_patience_init(&patience, WHOLE, now);
	for (i = 0; i < 100000; i++) {
		ok &= answer(&patience, &now, MS) == MS;
		now -= i % 8 ? MS : 0;
	}
	tap_expect(ok && patience.left == WHOLE && !patience.total, "fast answers are free");

	/* Memory has to be read from a disk, every two seconds. */
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

/* Waits at the same time count once, as a machine that stands still stops all its processors. */
static void test_together(void)
{
	struct vgpu_patience_wait wait[64];
	struct vgpu_patience patience;
	u64 now = 0, i;

	vgpu_patience_init(&patience, WHOLE, now);
	for (i = 0; i < 64; i++)
		vgpu_patience_begin(&patience, now, vgpu_patience_call(&patience), &wait[i]);
	now += S;
	for (i = 0; i < 64; i++)
		vgpu_patience_end(&patience, &wait[i], S, now);
	tap_expect(patience.left > WHOLE / 3 && !patience.spent, "waits at once are paid once");
	tap_expect(patience.waited == S, "and are one wait");
	vgpu_patience_begin(&patience, now, vgpu_patience_call(&patience), &wait[0]);
	/* Short waits within a long one pay only their own time. */
	for (i = 0; i < 300; i++) {
		vgpu_patience_begin(&patience, now, vgpu_patience_call(&patience), &wait[1]);
		now += 3 * MS;
		vgpu_patience_end(&patience, &wait[1], 3 * MS, now);
	}
	vgpu_patience_end(&patience, &wait[0], 900 * MS, now);
	tap_expect(patience.spent, "none is hidden behind shorter ones");
	tap_subject("waits at the same time");
}

/* Returns the time that a driver waits in a row, without giving its lock to other callers. */
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

/*
 * Simulates a lock that the guest's calls get in the order of their arrival, as with a mutex. Each
 * call makes the driver wait for @answers answers under the lock, and is followed by another call.
 * Return: the longest time for which another caller waits for the lock.
 */
static u64 contend(struct vgpu_patience *patience, u32 lanes, u32 answers, u64 wants, u32 late,
		   u64 lasts)
{
	u64 now = 77, since = 0, longest = 0, took, answered = 0;
	u64 ends = now + lasts, call[LANES] = { 0 };
	u32 turn, i;

	vgpu_patience_init(patience, WHOLE, now);
	while (now < ends) {
		/* Each lane gets the lock once between two turns of the other caller. */
		since = now;
		for (turn = 0; turn < lanes; turn++) {
			for (i = 0; i < answers; i++) {
				took = answer_to(patience, &now, call[turn],
						 late && !(++answered % late) ? 2 * S : wants);
				if (!took)
					break;
			}
			now += 10;
			call[turn] = vgpu_patience_call(patience);
		}
		longest = max(longest, now - since);
	}
	return longest;
}

static void test_contended(void)
{
	static const struct {
		u32 lanes, answers;
		u64 wants;
		/* Each @late-th answer takes as long as possible; 0: none does. */
		u32 late;
	} hostile[] = {
		{ 256, 4, 3900, 0 }, { 256, 40, 3900, 0 }, { 512, 10, MS, 0 },
		{ 1024, 100, 300, 0 }, { 256, 4, 6 * MS, 0 }, { 256, 4, 10 * MS, 0 },
		{ 128, 2, 20 * MS, 0 }, { 100, 1, 50 * MS, 0 },
		{ 256, 4, 3900, 85 }, { 256, 4, 3900, 500 }, { 8, 500, 3900, 0 },
	};
	struct vgpu_patience patience;
	u64 longest;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		longest = contend(&patience, hostile[i].lanes, hostile[i].answers,
				  hostile[i].wants, hostile[i].late, 60 * S);
		tap_expect(longest <= WHOLE + WHOLE / 4,
			   "%u calls with %u answers of %llu us, of %u one late: %llu ms",
			   hostile[i].lanes, hostile[i].answers, hostile[i].wants,
			   hostile[i].late, longest / MS);
	}
	tap_subject("many calls that want one lock");
}

/* Programs of an honest guest that use the device as much as allowed lose no patience. */
static void test_busy(void)
{
	struct vgpu_patience_wait wait[256];
	struct vgpu_patience patience;
	u64 now = 0, call = 0, longest;
	u32 i, j;

	longest = contend(&patience, 256, 2, 600, 0, 60 * S);
	tap_expect(patience.left == WHOLE && longest > WHOLE / 8,
		   "hundreds of threads that want one lock, each with two answers");

	/* 131 answers fetch all pages that a process may have. */
	vgpu_patience_init(&patience, WHOLE, now);
	for (i = 0; i < 131 * 100; i++) {
		if (!(i % 131))
			call = vgpu_patience_call(&patience);
		answer_to(&patience, &now, call, 2 * MS);
	}
	tap_expect(patience.left == WHOLE, "a buffer of 16 MiB, again and again");

	/* All threads wait for each other on a machine with fewer processors. */
	for (i = 0; i < 100 * 256; i++) {
		if (!(i % 80))
			call = vgpu_patience_call(&patience);
		for (j = 0; j < 256; j++)
			vgpu_patience_begin(&patience, now, call, &wait[j]);
		for (j = 0; j < 256; j++)
			vgpu_patience_end(&patience, &wait[j], 3 * MS + j,
					  now + 3 * MS + j);
		now += 4 * MS;
	}
	tap_expect(patience.left == WHOLE, "buffers of hundreds of threads that want no lock");

	/* A call that waits for the device ages by the waits of other calls meanwhile. */
	for (i = 0; i < 1000; i++) {
		call = vgpu_patience_call(&patience);
		for (j = 0; j < 1000; j++)
			answer(&patience, &now, MS);
		for (j = 0; j < 32; j++)
			answer_to(&patience, &now, call, MS);
		tap_expect(patience.left > WHOLE / 2, "round %u", i);
	}
	vgpu_patience_init(&patience, WHOLE, now);
	call = vgpu_patience_call(&patience);
	now += 3600 * S;
	answer_to(&patience, &now, call, 3 * MS);
	tap_expect(patience.left == WHOLE, "one that sleeps does not age");
	tap_subject("a guest that does its best, and much");
}

static void test_refill(void)
{
	struct vgpu_patience patience;
	u64 now = 0, part;
	u32 i;

	vgpu_patience_init(&patience, WHOLE, now);
	tap_expect(vgpu_patience_is_whole(&patience, now), "nothing to remember");
	answer(&patience, &now, WHOLE);
	tap_expect(patience.spent && !vgpu_patience_left(&patience, now), "all is used up");
	tap_expect(!vgpu_patience_is_whole(&patience, now), "which is remembered");
	now += WHOLE * VGPU_PATIENCE_REFILL / VGPU_PATIENCE_AGAIN / 2;
	tap_expect(!vgpu_patience_left(&patience, now), "and a little is not enough");
	for (i = 0; i < 1000; i++)
		vgpu_patience_left(&patience, now + i);
	now += WHOLE * VGPU_PATIENCE_REFILL / VGPU_PATIENCE_AGAIN / 2;
	part = vgpu_patience_left(&patience, now);
	tap_expect(part >= WHOLE / VGPU_PATIENCE_AGAIN && part < WHOLE / 3, "a part of it is");
	now += WHOLE * VGPU_PATIENCE_REFILL;
	tap_expect(vgpu_patience_left(&patience, now) == WHOLE, "all is there again");
	tap_expect(vgpu_patience_left(&patience, now - 5 * S) == WHOLE, "a clock seen late");

	answer(&patience, &now, WHOLE);
	now += WHOLE * VGPU_PATIENCE_REFILL;
	answer(&patience, &now, WHOLE);
	tap_expect(patience.total == 3 && vgpu_patience_is_cut_off(&patience), "the third time");
	now += WHOLE * VGPU_PATIENCE_REFILL;
	tap_expect(!vgpu_patience_left(&patience, now), "it is not there again");
	now += VGPU_PATIENCE_FORGET_US;
	tap_expect(vgpu_patience_left(&patience, now) == WHOLE, "but ten minutes later");
	answer(&patience, &now, WHOLE);
	tap_expect(vgpu_patience_is_cut_off(&patience), "when once more is too often");
	now += 10 * VGPU_PATIENCE_FORGET_US;
	tap_expect(vgpu_patience_is_whole(&patience, now), "all is forgotten");
	tap_subject("what comes back");
}

/* A budget of another size keeps what the guest has used of it. */
static void test_resize(void)
{
	struct vgpu_patience patience;
	u64 now = 5 * S;

	vgpu_patience_init(&patience, WHOLE, now);
	patience.left -= S / 2;
	vgpu_patience_resize(&patience, S);
	tap_expect(vgpu_patience_left(&patience, now) == S / 2, "%llu us are left, not half of all",
		   (unsigned long long)patience.left);
	vgpu_patience_resize(&patience, S / 4);
	tap_expect(!vgpu_patience_left(&patience, now), "more is left than the budget has");
	vgpu_patience_resize(&patience, 3 * S);
	tap_expect(patience.left <= 3 * S && patience.left >= 2 * S, "%llu us are left",
		   (unsigned long long)patience.left);
	tap_expect(vgpu_patience_left(&patience, now + 100 * S) == 3 * S, "no refill");
	tap_subject("a budget of another size");
}

int main(void)
{
	test_honest();
	test_together();
	test_hostile();
	test_contended();
	test_busy();
	test_refill();
	test_resize();
	return tap_done();
}
