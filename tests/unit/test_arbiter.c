// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of arbiters (arbiter.h): which shares of a device guests get, and that no guest waits
 * for ever. The device and its programs are simulated. The device works for one submission after
 * the other, in the order in which they were admitted.
 */
#include <stdlib.h>

#include "arbiter.h"
#include "tap.h"

#define MS		1000000ULL
#define SECOND		(1000 * MS)
#define NEVER		VGPU_ARBITER_NEVER
#define PROGRAMS_MAX	64
#define FLOWS_MAX	4

enum state { THINKS, WAITS, RUNS, DEAD };

/**
 * struct program - program of a guest: it thinks, submits work, and waits for the end
 * @flow: number of its guest's flow
 * @takes: time that the device works for a submission; NEVER: the submission does not end
 * @thinks: time from the end of a submission to the next one
 * @state: what it does
 * @until: time until which it does so, or the device works for it
 * @came: time at which it has submitted its work
 * @submission: submission
 * @running: its place once it is admitted, as its driver does not wait for the device
 */
struct program {
	unsigned int flow;
	u64 takes;
	u64 thinks;
	enum state state;
	u64 until;
	u64 came;
	struct vgpu_submission submission;
	struct vgpu_submission running;
};

/**
 * struct world - a device and its users
 * @arbiter: arbiter of the device
 * @flows: flows of the guests
 * @worked: time for which the device has worked for each guest
 * @longest: longest time from a guest's submission to its end
 * @programs: all programs
 * @nr: number of programs
 * @now: time
 * @until: time at which the arbiter wants to be asked
 * @free: time from which on the device has no work
 * @most_running: largest number of submissions that were admitted at one time
 */
struct world {
	struct vgpu_arbiter arbiter;
	struct vgpu_flow flows[FLOWS_MAX];
	u64 worked[FLOWS_MAX];
	u64 longest[FLOWS_MAX];
	struct program programs[PROGRAMS_MAX];
	unsigned int nr;
	u64 now;
	u64 until;
	u64 free;
	u32 most_running;
};

static struct world world;

static void flow_change(unsigned int flow, u32 weight, u32 cap)
{
	const struct vgpu_terms terms = { .weight = weight, .cap = cap };

	vgpu_arbiter_change(&world.arbiter, &world.flows[flow], &terms, world.now);
}

static void world_begin(u32 first, u32 second)
{
	unsigned int i;

	world = (struct world) { .now = 5 * SECOND, .until = NEVER };
	for (i = 0; i < FLOWS_MAX; i++)
		vgpu_arbiter_add(&world.arbiter, &world.flows[i]);
	flow_change(0, first, 100);
	flow_change(1, second, 100);
}

static void programs_add(unsigned int nr, unsigned int flow, u64 takes, u64 thinks)
{
	while (nr--)
		world.programs[world.nr++] = (struct program) {
			.flow = flow, .takes = takes, .thinks = thinks,
			.state = THINKS, .until = world.now + nr,
		};
}

/* Has the device work for all submissions that may be admitted. */
static void admit(void)
{
	struct vgpu_submission *submission;
	struct program *program;

	while ((submission = vgpu_arbiter_next(&world.arbiter, world.now, &world.until))) {
		program = (void *)((char *)submission - offsetof(struct program, submission));
		vgpu_arbiter_move(&world.arbiter, submission, &program->running);
		program->state = RUNS;
		program->until = NEVER;
		if (program->takes == NEVER)
			continue;
		world.free = max(world.free, world.now) + program->takes;
		program->until = world.free;
		world.worked[program->flow] += program->takes;
	}
	world.most_running = max(world.most_running, world.arbiter.nr_running);
}

static void program_go_on(struct program *program)
{
	u64 took = world.now - program->came;

	if (program->state == RUNS) {
		vgpu_arbiter_end(&world.arbiter, &program->running, world.now);
		if (took > world.longest[program->flow])
			world.longest[program->flow] = took;
		program->state = THINKS;
		program->until = world.now + program->thinks;
		if (program->thinks)
			return;
	}
	vgpu_arbiter_begin(&world.arbiter, &world.flows[program->flow], world.now,
			   &program->submission);
	program->came = world.now;
	program->state = WAITS;
	program->until = NEVER;
}

/* A program dies while it waits or runs. */
static void program_kill(struct program *program)
{
	if (program->state == WAITS)
		vgpu_arbiter_end(&world.arbiter, &program->submission, world.now);
	if (program->state == RUNS)
		vgpu_arbiter_end(&world.arbiter, &program->running, world.now);
	program->state = DEAD;
	program->until = NEVER;
	admit();
}

static void world_run(u64 time)
{
	u64 end = world.now + time, next;
	unsigned int i;

	for (;;) {
		next = min(world.until, end);
		for (i = 0; i < world.nr; i++)
			next = min(next, world.programs[i].until);
		if (next >= end)
			break;
		world.now = next;
		for (i = 0; i < world.nr; i++)
			if (world.programs[i].until <= world.now)
				program_go_on(&world.programs[i]);
		admit();
	}
	world.now = end;
}

static void world_forget(void)
{
	memset(world.worked, 0, sizeof(world.worked));
	memset(world.longest, 0, sizeof(world.longest));
	world.most_running = 0;
}

/* Return the share of the first guest of the work for the first two, in tenths of a percent. */
static unsigned int share(void)
{
	u64 all = world.worked[0] + world.worked[1];

	return all ? world.worked[0] * 1000 / all : 0;
}

static void expect_share(const char *what, unsigned int wanted)
{
	unsigned int is = share();

	tap_expect(is + 50 >= wanted && is <= wanted + 50, "%s: %u.%u %%, not %u.%u %%", what,
		   is / 10, is % 10, wanted / 10, wanted % 10);
}

static const struct {
	u32 first, second;
	unsigned int share;
} weights[] = {
	{ 100, 100, 500 }, { 300, 100, 750 }, { 100, 300, 250 }, { 900, 100, 900 },
	{ 100, 900, 100 }, { 10000, 5000, 667 }, { 1, 1, 500 },
};

/* Both guests have eight programs that submit all the time. */
static void test_greedy(void)
{
	static const u64 takes[][2] = {
		{ 10 * MS, 10 * MS }, { MS, 16 * MS }, { 16 * MS, MS }, { 20000, 20000 },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		for (k = 0; k < ARRAY_SIZE(takes); k++) {
			world_begin(weights[i].first, weights[i].second);
			programs_add(8, 0, takes[k][0], 0);
			programs_add(8, 1, takes[k][1], 0);
			world_run(30 * SECOND);
			expect_share("8 and 8 programs", weights[i].share);
		}
	}
	tap_subject("shares follow the weights, whatever the lengths of submissions");
}

/* The first guest has one program, the next work of which comes after a short time. */
static void test_one_program(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		world_begin(weights[i].first, weights[i].second);
		programs_add(1, 0, 20 * MS, MS);
		programs_add(8, 1, 20 * MS, MS);
		world_run(60 * SECOND);
		expect_share("1 and 8 programs", weights[i].share);
	}
	tap_subject("a guest of one program gets its share beside one of eight");
}

/* A guest that needs a quarter of the device gets it, and the other one gets the rest. */
static void test_modest(void)
{
	world_begin(100, 100);
	programs_add(1, 0, 5 * MS, 15 * MS);
	programs_add(8, 1, 8 * MS, 0);
	world_run(SECOND);
	world_forget();
	world_run(20 * SECOND);
	/* Its submissions begin as soon as the one that runs has ended. */
	tap_expect(world.longest[0] <= (5 + 8) * MS, "it waits %llu us for its end",
		   (unsigned long long)world.longest[0] / 1000);
	tap_expect(world.worked[0] >= 20 * SECOND * 5 / (5 + 15 + 8) - 20 * MS,
		   "it gets %llu ms", (unsigned long long)(world.worked[0] / MS));
	tap_expect(world.worked[0] + world.worked[1] >= 20 * SECOND - 20 * MS,
		   "the device is idle for %llu ms", (unsigned long long)
		   ((20 * SECOND - world.worked[0] - world.worked[1]) / MS));
	tap_subject("a modest guest waits for one submission at most, and wastes no time");
}

static void test_alone(void)
{
	world_begin(1, 100);
	programs_add(8, 0, 10 * MS, 0);
	world_run(10 * SECOND);
	tap_expect(world.most_running == 8, "%u submissions are admitted at once",
		   world.most_running);
	tap_expect(!world.arbiter.kept_for && world.until == NEVER, "the arbiter waits");
	tap_subject("a guest that is alone does not wait");
}

/* A guest cannot save up time. */
static void test_idle(void)
{
	world_begin(100, 100);
	programs_add(8, 0, 10 * MS, 0);
	world_run(100 * SECOND);
	world_forget();
	programs_add(8, 1, 10 * MS, 0);
	world_run(2 * SECOND);
	expect_share("after a guest was idle", 500);
	tap_subject("an idle guest saves up no time");
}

/* The first guest was alone, with many submissions at once, and owes nothing for that. */
static void test_comes_late(void)
{
	world_begin(300, 100);
	programs_add(32, 0, 10 * MS, 0);
	world_run(10 * SECOND);
	programs_add(1, 1, 10 * MS, MS);
	world_run(SECOND / 2);
	world_forget();
	world_run(10 * SECOND);
	expect_share("beside a guest that came later", 750);
	tap_subject("a guest that was alone is charged what it has used");
}

/* Submissions that never end stall others for a limited time each. */
static void test_never_ends(void)
{
	world_begin(100, 100);
	programs_add(16, 0, NEVER, 0);
	programs_add(1, 1, 10 * MS, MS);
	world_run(60 * SECOND);
	tap_expect(world.longest[1] <= VGPU_ARBITER_HOLD_NS + 11 * MS, "it waits %llu ms",
		   (unsigned long long)(world.longest[1] / MS));
	tap_expect(world.worked[1] >= 20 * SECOND, "it gets %llu ms of 60 s",
		   (unsigned long long)(world.worked[1] / MS));
	tap_subject("submissions that never end do not stall others");
}

/* The first guest has a submission that never ends, and does not save up time meanwhile. */
static void test_late_idle(void)
{
	world_begin(300, 100);
	programs_add(1, 0, NEVER, 0);
	programs_add(8, 1, 10 * MS, 0);
	world_run(60 * SECOND);
	world_forget();
	programs_add(8, 0, 10 * MS, 0);
	/* The work that does not end is charged half of the time, at a third. */
	world_run(5 * SECOND);
	tap_expect(world.worked[1] >= SECOND, "the other one gets %llu ms of 5 s",
		   (unsigned long long)(world.worked[1] / MS));
	tap_subject("a guest with work that does not end saves up no time");
}

/* After submissions that took too long a guest waits, but not for ever. */
static void test_debt(void)
{
	unsigned int i;
	u64 paid;

	world_begin(100, 100);
	programs_add(4, 0, NEVER, 0);
	programs_add(1, 1, 10 * MS, MS);
	world_run(3600 * SECOND);
	for (i = 0; i < 4; i++)
		program_kill(&world.programs[i]);
	programs_add(1, 0, 10 * MS, MS);
	paid = world.worked[0];
	world_run(15 * SECOND);
	tap_expect(world.worked[0] > paid, "it waits for more than 15 s");
	tap_subject("debts are limited");
}

/* Programs die in all states, and the others go on. */
static void test_deaths(void)
{
	unsigned int i, round;
	u64 before;

	srandom(1);
	world_begin(100, 100);
	programs_add(24, 0, 5 * MS, 0);
	programs_add(24, 1, 5 * MS, MS);
	for (round = 0; round < 40; round++) {
		world_run(random() % 20 * MS);
		program_kill(&world.programs[random() % 48]);
	}
	for (i = 0; i < 47; i++)
		program_kill(&world.programs[i]);
	world.programs[47].state = world.programs[47].state == DEAD ? THINKS :
				   world.programs[47].state;
	if (world.programs[47].state == THINKS)
		world.programs[47].until = world.now;
	world_run(SECOND);
	before = world.worked[1];
	world_run(SECOND);
	tap_expect(world.worked[1] - before >= 800 * MS, "the last program gets %llu ms",
		   (unsigned long long)((world.worked[1] - before) / MS));
	program_kill(&world.programs[47]);
	tap_expect(!world.arbiter.nr_running && !world.arbiter.holders.first &&
		   !world.flows[0].waiting.first && !world.flows[1].waiting.first,
		   "something is left");
	vgpu_arbiter_remove(&world.arbiter, &world.flows[1]);
	vgpu_arbiter_remove(&world.arbiter, &world.flows[3]);
	vgpu_arbiter_remove(&world.arbiter, &world.flows[0]);
	tap_expect(world.arbiter.flows == &world.flows[2], "wrong flows are left");
	tap_subject("waiters and holders that die leave the queues");
}

/* A flow with a debt is remembered for some time. */
static void test_forget(void)
{
	world_begin(100, 100);
	programs_add(1, 0, 400 * MS, 0);
	world_run(SECOND);
	program_kill(&world.programs[0]);
	tap_expect(!vgpu_arbiter_may_forget(&world.arbiter, &world.flows[0], world.now),
		   "a debt is forgotten");
	tap_expect(vgpu_arbiter_may_forget(&world.arbiter, &world.flows[0],
					   world.now + VGPU_ARBITER_FORGET_NS),
		   "a debt is kept for ever");
	programs_add(1, 1, 10 * MS, 0);
	world_run(5 * SECOND);
	tap_expect(vgpu_arbiter_may_forget(&world.arbiter, &world.flows[0], world.now),
		   "a debt is kept that was paid");
	tap_subject("debts of guests that went are remembered");
}

/* A frozen guest gets nothing, takes nothing from others, and goes on when it is thawed. */
static void test_freeze(void)
{
	world_begin(100, 100);
	programs_add(4, 0, 10 * MS, 0);
	programs_add(4, 1, 10 * MS, 0);
	world_run(SECOND);
	flow_change(0, 0, 100);
	world_run(SECOND);
	world_forget();
	world_run(10 * SECOND);
	tap_expect(!world.worked[0], "it gets %llu ms", (unsigned long long)(world.worked[0] / MS));
	tap_expect(world.most_running == 4, "the other guest is not alone");
	flow_change(0, 300, 100);
	admit();
	world_forget();
	world_run(20 * SECOND);
	expect_share("after it was frozen", 750);
	tap_subject("a frozen guest waits until it is thawed");
}

/* A guest with a cap gets no more, even if it is alone, and the rest is for others. */
static void test_cap(void)
{
	static const unsigned int caps[] = { 1, 10, 50, 99 };
	unsigned int i;
	u64 most;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		world_begin(100, 100);
		flow_change(0, 100, caps[i]);
		/* Time without work is not saved up. */
		world_run(10 * SECOND);
		programs_add(8, 0, MS, 0);
		world_run(20 * SECOND);
		/* The burst, and submissions that begin at one time, come on top. */
		most = (20 * SECOND + VGPU_ARBITER_BURST_NS) / 100 * caps[i] + 8 * MS;
		tap_expect(world.worked[0] <= most && world.worked[0] >= most * 8 / 10,
			   "%u %%: %llu ms of 20 s", caps[i],
			   (unsigned long long)(world.worked[0] / MS));
	}
	/* Programs that do not wait for the device queue much before it is charged. */
	world_begin(100, 100);
	flow_change(0, 100, 25);
	programs_add(PROGRAMS_MAX, 0, 100 * MS, 0);
	world_run(20 * SECOND);
	tap_expect(world.most_running == 1, "%u submissions are admitted", world.most_running);
	world_begin(900, 100);
	flow_change(0, 900, 20);
	programs_add(8, 0, 5 * MS, 0);
	programs_add(8, 1, 5 * MS, 0);
	world_run(20 * SECOND);
	expect_share("of a guest with a cap", 200);
	tap_expect(world.worked[0] + world.worked[1] >= 19 * SECOND, "the device is idle");
	world_forget();
	flow_change(0, 900, 100);
	admit();
	world_run(20 * SECOND);
	expect_share("without the cap", 900);
	tap_subject("caps");
}

static void flow_rank(unsigned int flow, u32 priority)
{
	const struct vgpu_terms terms = { .weight = 100, .cap = 100, .priority = priority };

	vgpu_arbiter_change(&world.arbiter, &world.flows[flow], &terms, world.now);
}

/* A guest of a high priority gets what it wants, and others share the rest by their weights. */
static void test_priority(void)
{
	u64 rest;

	world_begin(100, 300);
	programs_add(1, 2, 10 * MS, 30 * MS);
	programs_add(8, 0, 10 * MS, 0);
	programs_add(8, 1, 10 * MS, 0);
	flow_rank(2, VGPU_HOST_PRIORITY_MAX);
	world_run(20 * SECOND);
	rest = world.worked[0] + world.worked[1];
	tap_expect(world.longest[2] <= 20 * MS, "it waits for one submission at most, not %llu ms",
		   (unsigned long long)(world.longest[2] / MS));
	tap_expect(rest + world.worked[2] >= 19 * SECOND, "the device is idle");
	expect_share("of the rest", 250);
	/* A guest that got nothing may not make up for that. */
	flow_change(1, 100, 100);
	flow_rank(0, 1);
	world_run(SECOND);
	world_forget();
	world_run(20 * SECOND);
	expect_share("of a higher priority", 1000);
	flow_rank(0, 0);
	world_forget();
	world_run(20 * SECOND);
	expect_share("of the same priority", 500);
	/* A guest whose work does not end has no priority. */
	world_begin(100, 100);
	programs_add(PROGRAMS_MAX / 2, 0, NEVER, 0);
	programs_add(8, 1, 10 * MS, 0);
	flow_rank(0, VGPU_HOST_PRIORITY_MAX);
	world_run(20 * SECOND);
	tap_expect(world.worked[1] >= 5 * SECOND, "others get %llu ms of 20 s",
		   (unsigned long long)(world.worked[1] / MS));
	tap_subject("priorities");
}

/* A guest whose submissions come just before the device is given to others is charged the time. */
static void test_wasteful(void)
{
	world_begin(900, 100);
	programs_add(1, 0, 10 * MS, 49 * MS / 10);
	programs_add(8, 1, 10 * MS, 0);
	world_run(60 * SECOND);
	tap_expect(world.worked[1] >= 60 * SECOND * 95 / 1000, "the other guest gets %llu ms",
		   (unsigned long long)(world.worked[1] / MS));
	tap_subject("the time for which a device is kept free is charged");
}

int main(void)
{
	test_greedy();
	test_one_program();
	test_modest();
	test_alone();
	test_idle();
	test_comes_late();
	test_never_ends();
	test_late_idle();
	test_debt();
	test_deaths();
	test_forget();
	test_freeze();
	test_cap();
	test_priority();
	test_wasteful();
	return tap_done();
}
