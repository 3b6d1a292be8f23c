// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of turns at devices (userspace-lib/vgpud/engines/submission.c): which engines vgpud admits,
 * and what it takes from engines that do not keep the rules. The engines, the device and the clock
 * are simulated. The device works for one submission after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "engines/engine.h"
#include "engines/submission.h"
#include "tap.h"

#define MS		1000000ULL
#define SECOND		(1000 * MS)
#define WORK_NS		(2 * MS)
#define GUESTS		3
#define DEVICE		7
#define BUSY		8

static struct engine *engines[GUESTS];
static struct engine_shared shared[GUESTS];
/* Time, and the time at which the timer expires; 0: it is not set. */
static uint64_t now = 1000 * SECOND, alarm_ns;
static struct source *alarm_source;
static struct timer *paced;
static unsigned int nr_unread;
/* Numbers of the submissions that each engine was told of last, and how many it was told of. */
static uint64_t admitted[GUESTS];
static unsigned int nr_admitted[GUESTS];
/* Engine that receives no message. */
static const struct engine *deaf;

static unsigned int guest_of(const struct engine *engine)
{
	return engine->number;
}

/* --- what vgpud has -------------------------------------------------------------------------- */

static void program_admitted(unsigned int guest, uint64_t number);

static int tell(struct engine *engine, const void *msg, size_t len, int fd)
{
	const struct engine_number *admit = msg;

	if (engine == deaf) {
		submissions_give_up(engine);
		return -ENODEV;
	}
	tap_expect(len == sizeof(*admit) && admit->type == ENGINE_ADMIT && fd < 0, "an ADMIT");
	admitted[guest_of(engine)] = admit->number;
	nr_admitted[guest_of(engine)]++;
	program_admitted(guest_of(engine), admit->number);
	return 0;
}

uint64_t now_ns(void)
{
	return now;
}

uint64_t now_ms(void)
{
	return now / MS;
}

int source_add(struct source *source, uint32_t events)
{
	alarm_source = source;
	return 0;
}

int source_set(struct source *source, uint32_t events)
{
	nr_unread += !events;
	return 0;
}

void source_close(struct source *source)
{
}

void timer_set(struct timer *timer, unsigned int ms)
{
	paced = timer;
}

void timer_cancel(struct timer *timer)
{
	paced = NULL;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *time,
			   struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *time,
			   struct itimerspec *old)
{
	alarm_ns = time->it_value.tv_sec * SECOND + time->it_value.tv_nsec;
	return 0;
}

/* --- guests ---------------------------------------------------------------------------------- */

static void come(unsigned int i)
{
	engines[i] = calloc(1, sizeof(*engines[i]));
	engines[i]->number = i;
	engines[i]->cid = 10 + i;
	shared[i].permits = 0;
	engines[i]->shared = &shared[i];
	nr_admitted[i] = 0;
	submissions_init(engines[i], tell);
	tap_expect(!submissions_grant(engines[i], DEVICE, 0), "the device");
}

static void go(unsigned int i)
{
	submissions_end(engines[i]);
	free(engines[i]);
	engines[i] = NULL;
}

static void limit(unsigned int i, uint32_t weight, uint32_t cap)
{
	const struct vgpu_host_peer_limit arg = {
		.flags = weight ? 0 : VGPU_HOST_LIMIT_FREEZE, .weight = weight,
		.cap = cap,
	};

	submissions_limit(engines[i], &arg);
}

static bool say(unsigned int i, uint32_t type, uint64_t number, uint32_t flags)
{
	const struct engine_number msg = { .type = type, .flags = flags, .number = number };

	engines[i]->submitter.nr_heard = 0;
	return submissions_hear(engines[i], &msg);
}

static bool ask(unsigned int i, uint64_t number)
{
	return say(i, ENGINE_SUBMIT, number, 0);
}

static bool over(unsigned int i, uint64_t number)
{
	return say(i, ENGINE_SUBMITTED, number, 0);
}

static bool has_permit(unsigned int i)
{
	return shared[i].permits & 1;
}

/* Let the time pass, and the timer expire. */
static void pass_until(uint64_t until)
{
	while (alarm_ns && alarm_ns <= until) {
		now = alarm_ns > now ? alarm_ns : now;
		alarm_ns = 0;
		alarm_source->ready(alarm_source, 0);
	}
	now = until;
}

/* Let guests come that owe nothing, to a device that no one uses. */
static void begin(unsigned int nr)
{
	unsigned int i;

	pass_until(now + 100 * SECOND);
	for (i = 0; i < nr; i++)
		come(i);
}

static void end(unsigned int nr)
{
	while (nr)
		go(--nr);
}

/* --- programs that have work all the time ---------------------------------------------------- */

/**
 * struct program - program of a guest, by the number of its submission
 * @runs: true if it has its turn, and the driver its work
 * @admitted: time at which its turn began
 */
struct program {
	bool runs;
	uint64_t admitted;
};

static struct program programs[GUESTS][BUSY];
static bool busy;

static void program_admitted(unsigned int guest, uint64_t number)
{
	if (busy)
		programs[guest][number] = (struct program) { .runs = true, .admitted = now };
}

/* Find the work that came to the device first. */
static bool first_work(unsigned int *guest, unsigned int *number)
{
	uint64_t first = UINT64_MAX;
	unsigned int i, j;

	for (i = 0; i < GUESTS; i++)
		for (j = 0; j < BUSY; j++)
			if (programs[i][j].runs && programs[i][j].admitted < first) {
				first = programs[i][j].admitted;
				*guest = i;
				*number = j;
			}
	return first != UINT64_MAX;
}

/* Let the programs work for a time. Return: share of guest 1 in percent, which has one program. */
static unsigned int work(uint64_t ns)
{
	uint64_t until = now + ns, worked[GUESTS] = { 0 };
	unsigned int guest, number, i;

	busy = true;
	for (i = 0; i < BUSY; i++)
		ask(0, i);
	ask(1, 0);
	while (now < until) {
		if (!first_work(&guest, &number)) {
			pass_until(alarm_ns && alarm_ns > now ? alarm_ns : now + MS / 10);
			continue;
		}
		pass_until(now + WORK_NS);
		worked[guest] += WORK_NS;
		programs[guest][number].runs = false;
		over(guest, number);
		pass_until(now + MS / 20);
		ask(guest, number);
	}
	busy = false;
	memset(programs, 0, sizeof(programs));
	return worked[1] * 100 / (worked[0] + worked[1]);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_alone(void)
{
	begin(2);
	tap_expect(!has_permit(0), "none before the first turn");
	tap_expect(ask(0, 3) && nr_admitted[0] == 1 && admitted[0] == 3, "admitted at once");
	tap_expect(has_permit(0) && !has_permit(1), "a guest that is alone gets a permit");
	tap_expect(over(0, 3) && has_permit(0), "and keeps it");
	pass_until(now + 10 * SECOND);
	tap_expect(ask(1, 0) && nr_admitted[1] == 1, "another one is admitted");
	tap_expect(!has_permit(0) && !has_permit(1), "no one is alone");
	tap_expect(ask(0, 3) && nr_admitted[0] == 1, "one at a time");
	tap_expect(over(1, 0) && nr_admitted[0] == 2, "the next one");
	tap_expect(over(0, 3), "its end");
	pass_until(now + SECOND);
	tap_expect(ask(1, 0) && has_permit(1), "alone again");
	tap_expect(engines[0]->submitter.queued == 1 && !engines[1]->submitter.queued, "counted");
	end(2);
	tap_subject("a guest that is alone");
}

static void test_weights(void)
{
	unsigned int share;
	uint64_t used;

	begin(2);
	share = work(10 * SECOND);
	tap_expect(share >= 47 && share <= 53, "equal weights: %u %%", share);
	end(2);
	begin(2);
	limit(1, 300, 100);
	used = submissions_used(engines[1]);
	share = work(10 * SECOND);
	used = submissions_used(engines[1]) - used;
	tap_expect(share >= 72 && share <= 78, "weight 300 beside 100: %u %%", share);
	tap_expect(used > 65 * SECOND / 10 && used < 85 * SECOND / 10, "charged %llu ms",
		   (unsigned long long)(used / MS));
	end(2);
	begin(2);
	limit(0, 300, 100);
	share = work(10 * SECOND);
	tap_expect(share >= 22 && share <= 28, "weight 100 beside 300: %u %%", share);
	end(2);
	tap_subject("weights");
}

static void test_freeze(void)
{
	begin(2);
	ask(0, 0);
	over(0, 0);
	tap_expect(has_permit(0), "alone");
	limit(0, 0, 100);
	tap_expect(!has_permit(0), "a frozen guest has no permit");
	tap_expect(ask(0, 0) && nr_admitted[0] == 1, "its submission waits");
	tap_expect(ask(1, 0) && nr_admitted[1] == 1, "another guest's does not");
	over(1, 0);
	pass_until(now + SECOND);
	ask(1, 0);
	over(1, 0);
	tap_expect(has_permit(1), "it is alone");
	limit(0, 100, 100);
	tap_expect(nr_admitted[0] == 2 && !has_permit(1), "thawed");
	over(0, 0);
	end(2);
	tap_subject("a frozen guest");
}

static void test_cap(void)
{
	unsigned int i;
	uint64_t start, used;

	begin(1);
	limit(0, 100, 25);
	start = now;
	used = submissions_used(engines[0]);
	for (i = 0; i < 200; i++) {
		ask(0, 0);
		while (nr_admitted[0] <= i)
			pass_until(alarm_ns);
		pass_until(now + WORK_NS);
		over(0, 0);
	}
	used = submissions_used(engines[0]) - used;
	tap_expect(used == 200 * WORK_NS, "charged");
	tap_expect(now - start > 3 * used && now - start < 5 * used, "%llu ms in %llu ms",
		   (unsigned long long)(used / MS), (unsigned long long)((now - start) / MS));
	tap_expect(!has_permit(0), "no permit");
	end(1);
	tap_subject("a cap");
}

/* An engine that does not say that a submission is over keeps others waiting for a second. */
static void test_hold(void)
{
	uint64_t start;

	begin(2);
	ask(0, 0);
	start = now;
	ask(1, 0);
	pass_until(start + SECOND - MS);
	tap_expect(!nr_admitted[1], "the other one waits");
	pass_until(start + SECOND);
	tap_expect(nr_admitted[1] == 1, "the turn is taken back");
	over(1, 0);
	pass_until(now + 3 * SECOND);
	tap_expect(ask(1, 0) && over(1, 0), "the other one goes on");
	tap_expect(submissions_used(engines[0]) >= 3 * SECOND, "and is charged further on");
	tap_expect(over(0, 0), "it may still say so");
	end(2);
	tap_subject("a submission that does not end");
}

static void test_rules(void)
{
	begin(2);
	tap_expect(!over(0, 0), "the end of nothing");
	tap_expect(ask(0, 0) && !ask(0, 0), "a number that is in use");
	tap_expect(!say(0, ENGINE_SUBMIT, 1, 1), "a device that the guest does not have");
	tap_expect(!ask(0, ENGINE_SUBMISSIONS) && !over(0, ENGINE_SUBMISSIONS) &&
		   !over(0, ~0ULL), "a number beyond the range");
	tap_expect(over(0, 0) && !over(0, 0), "an end that comes twice");
	end(2);
	tap_subject("engines that break the rules");
}

static void test_give_up(void)
{
	begin(2);
	ask(0, 0);
	ask(1, 5);
	tap_expect(!nr_admitted[1], "it waits");
	tap_expect(over(1, 5) && nr_admitted[1] == 1 && admitted[1] == 5, "the answer comes once");
	over(0, 0);
	pass_until(now + SECOND);
	tap_expect(nr_admitted[1] == 1 && !submissions_used(engines[1]), "and no turn");
	tap_expect(ask(1, 5), "the number is free");
	end(2);
	tap_subject("a submission that is given up");
}

/* The turns of an engine end with it. A guest that connects anew owes what it owed. */
static void test_gone(void)
{
	unsigned int i;

	begin(2);
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		ask(0, i);
	ask(1, 0);
	pass_until(now + SECOND / 2);
	go(0);
	tap_expect(nr_admitted[1] == 1, "another guest goes on");
	come(0);
	tap_expect(submissions_used(engines[0]) >= SECOND / 2, "debts stay");
	tap_expect(ask(0, 0) && !nr_admitted[0], "the new engine's submission waits");
	over(1, 0);
	tap_expect(nr_admitted[0] == 1, "and is admitted");
	end(2);
	tap_subject("an engine that ends");
}

/* Submissions of an engine that is to end do not wait for turns that no lane would use. */
static void test_ending(void)
{
	unsigned int i;

	begin(2);
	ask(1, 0);
	for (i = 0; i < BUSY; i++)
		ask(0, i);
	ask(1, 1);
	tap_expect(nr_admitted[1] == 1 && !nr_admitted[0], "one turn");
	submissions_give_up(engines[0]);
	pass_until(now);
	tap_expect(nr_admitted[1] == 2 && has_permit(1), "the other guest is alone at once");
	over(1, 0);
	over(1, 1);
	pass_until(now + SECOND);
	tap_expect(!nr_admitted[0] && !submissions_used(engines[0]), "and no turn comes");
	end(2);

	/* An engine that turns out to be at its end when its turn comes. */
	begin(2);
	ask(1, 0);
	for (i = 0; i < BUSY; i++)
		ask(0, i);
	ask(1, 1);
	deaf = engines[0];
	pass_until(now + MS);
	over(1, 0);
	pass_until(now + SECOND);
	tap_expect(nr_admitted[1] == 2, "one turn is lost");
	tap_expect(submissions_used(engines[0]) <= SECOND, "%llu ms were charged",
		   (unsigned long long)(submissions_used(engines[0]) / MS));
	over(1, 1);
	go(0);

	/* The same when it gives up a submission that waits. */
	come(0);
	pass_until(now + 100 * SECOND);
	ask(1, 0);
	ask(0, 3);
	ask(0, 5);
	deaf = engines[0];
	tap_expect(over(0, 3) && !over(0, 5), "all are given up");
	deaf = NULL;
	over(1, 0);
	pass_until(now + SECOND);
	tap_expect(!nr_admitted[0] && ask(1, 0) && has_permit(1), "and nothing runs");
	end(2);
	tap_subject("an engine that is to end");
}

/* An engine may not keep vgpud busy by asking again and again. */
static void test_pace(void)
{
	struct engine_number msg = { .type = ENGINE_SUBMIT };
	unsigned int nr = 0;

	begin(1);
	nr_unread = 0;
	while (!nr_unread && nr++ < 1000) {
		msg.type = msg.type == ENGINE_SUBMIT ? ENGINE_SUBMITTED : ENGINE_SUBMIT;
		if (nr == 1)
			msg.type = ENGINE_SUBMIT;
		submissions_hear(engines[0], &msg);
	}
	tap_expect(nr < 1000 && paced, "vgpud stops to read after %u messages", nr);
	paced->expired(paced);
	now += MS;
	nr_unread = 0;
	msg.type = ENGINE_SUBMIT;
	say(0, ENGINE_SUBMITTED, 0, 0);
	tap_expect(!nr_unread, "and reads again");
	end(1);
	tap_expect(!paced, "no timer is left");
	tap_subject("an engine that says much");
}

static void test_devices(void)
{
	unsigned int i;

	begin(1);
	tap_expect(!submissions_grant(engines[0], DEVICE, 5), "another node of the device");
	for (i = 1; i < ENGINE_DEVICES; i++)
		tap_expect(submissions_grant(engines[0], 0, i) == (int)i, "device %u", i);
	tap_expect(submissions_grant(engines[0], 0, 1) == 1, "the same device again");
	tap_expect(submissions_grant(engines[0], 0, i) == -ENOSPC, "too many");
	tap_expect(say(0, ENGINE_SUBMIT, 0, i - 1) && shared[0].permits == 1ULL << (i - 1),
		   "a permit for the last one");
	end(1);
	tap_subject("numbers of devices");
}

int main(void)
{
	test_alone();
	test_weights();
	test_freeze();
	test_cap();
	test_hold();
	test_rules();
	test_give_up();
	test_gone();
	test_ending();
	test_pace();
	test_devices();
	return tap_done();
}
