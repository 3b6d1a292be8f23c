// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the shares of cards of NVIDIA's driver (userspace-lib/vgpud/engines/share.c): which
 * guests vgpud takes for busy, and which slots it tells their engines. The engines, the driver and
 * the clock are simulated.
 */
#include <stdlib.h>

#include "device/exporter.h"
#include "engines/engine.h"
#include "engines/shadow.h"
#include "engines/slots.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "tap.h"

/* RM's number of the card, and the number of its device file. */
#define CARD		3
#define MINOR		3
#define LOOK_MS		500
/* Time between two samples of the simulated driver. */
#define SAMPLE_NS	140000000ULL

struct engine_list all_engines = LIST_HEAD_INITIALIZER(all_engines);
static struct engine engines[4];
static struct engine_shared shared[4];
static struct shadow_counters shadows[4];
static unsigned int nr_told, nr_asked;
static uint64_t time_ms = 1000000;
static struct timer *timer;

int engine_tell(struct engine *engine, const void *msg, size_t len, int fd)
{
	const struct engine_slot *slot = msg;

	nr_told++;
	tap_expect(len == sizeof(*slot) && slot->type == ENGINE_SLOT && fd < 0, "a slot");
	return 0;
}

struct engine *engine_find(uint32_t number)
{
	return &engines[number];
}

void log_debug(const char *fmt, ...)
{
}

void exporters_sample(void)
{
	nr_asked++;
}

uint64_t now_ms(void)
{
	return time_ms;
}

void timer_set(struct timer *set, unsigned int ms)
{
	tap_expect(ms == LOOK_MS, "the next look is in %u ms", ms);
	timer = set;
}

void timer_cancel(struct timer *cancelled)
{
	timer = NULL;
}

/* --- guests ---------------------------------------------------------------------------------- */

static void come(unsigned int i)
{
	engines[i].shared = &shared[i];
	shared[i].cards = 0;
	LIST_INIT(&engines[i].shadows);
	share_init(&engines[i].share);
	share_grant(&engines[i].share, makedev(RM_MAJOR, 0));
	share_grant(&engines[i].share, makedev(RM_MAJOR, MINOR));
	shadows[i].pid = 100 + i;
	LIST_INSERT_HEAD(&engines[i].shadows, &shadows[i], node);
	LIST_INSERT_HEAD(&all_engines, &engines[i], node);
	share_limit(&(struct vgpu_host_peer_limit) { .peer = i, .weight = 100, .cap = 100 });
}

static void go(unsigned int i)
{
	LIST_REMOVE(&engines[i], node);
	share_look();
}

static void limit(unsigned int i, uint32_t weight, uint32_t cap)
{
	const struct vgpu_host_peer_limit arg = {
		.flags = weight ? 0 : VGPU_HOST_LIMIT_FREEZE, .peer = i, .weight = weight,
		.cap = cap,
	};

	share_limit(&arg);
}

static void pass(uint64_t ms)
{
	for (; ms >= LOOK_MS; ms -= LOOK_MS) {
		time_ms += LOOK_MS;
		if (timer)
			timer->expired(timer);
	}
}

/* Samples of the last ten seconds, which say that the card worked for these processes in turns. */
static void sample(const uint32_t *pids, unsigned int nr)
{
	static struct card_usage usage;
	unsigned int i;

	usage = (struct card_usage) { .card = CARD, .minor = MINOR, .nr = RM_SAMPLES };
	for (i = 0; i < RM_SAMPLES; i++)
		usage.samples[i] = (struct card_sample) {
			.time_ns = time_ms * 1000000 - i * SAMPLE_NS,
			.pid = nr ? pids[i % nr] : ~0U,
			.used = nr && pids[i % nr] ? 9000 : 0,
		};
	share_sampled(&usage);
}

static const struct card_slot *slot(unsigned int i)
{
	return &engines[i].share.sent[CARD];
}

static bool is_always(unsigned int i)
{
	return !slot(i)->period;
}

/* Return: part of the period in percent, without what slots have in common. */
static unsigned int part(unsigned int i)
{
	return slot(i)->period ? (slot(i)->length - SLOTS_EARLY_NS) * 100 / slot(i)->period : 100;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_alone(void)
{
	come(0);
	shared[0].cards = 1 << CARD;
	tap_expect(!timer && !nr_told, "no timer and no message");
	come(1);
	pass(LOOK_MS);
	tap_expect(timer && !nr_told && !nr_asked, "beside a guest without channels");
	go(1);
	tap_expect(!timer && !nr_told, "alone again");
	go(0);
	tap_subject("a guest that is alone");
}

/* Two cards may have other numbers than their files; the first sample tells them. */
static void test_number(void)
{
	come(0);
	come(1);
	engines[0].share.granted = engines[1].share.granted = 1;
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(LOOK_MS);
	tap_expect(part(0) == 50 && part(1) == 50, "a card of an unknown file is shared");
	go(0);
	go(1);
	nr_told = 0;
	tap_subject("a card whose number is not that of its file");
}

static void test_weights(void)
{
	nr_asked = 0;
	come(0);
	come(1);
	shared[0].cards = 1 << CARD;
	pass(LOOK_MS);
	limit(0, 300, 100);
	tap_expect(is_always(0), "alone on the card");
	shared[1].cards = 1 << CARD | 1;
	pass(LOOK_MS);
	tap_expect(part(0) == 75 && part(1) == 25, "%u and %u", part(0), part(1));
	tap_expect(nr_asked == 1, "the driver is asked who is busy");
	tap_expect(!engines[1].share.sent[0].period, "another card is not shared");
	limit(1, 300, 100);
	tap_expect(part(0) == 50 && part(1) == 50, "a change applies at once");
	nr_told = 0;
	pass(10 * LOOK_MS);
	tap_expect(!nr_told, "nothing is told twice");
	shared[1].cards = 1;
	pass(LOOK_MS);
	tap_expect(is_always(0) && is_always(1), "the last channel is gone");
	go(0);
	go(1);
	tap_subject("weights");
}

static void test_idle(void)
{
	const uint32_t both[] = { 100, 101 }, one[] = { 100 }, seldom[] = {
		100, 100, 100, 100, 100, 100, 100, 100, 100, 101,
	};

	come(0);
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(LOOK_MS);
	sample(one, 1);
	tap_expect(part(0) == 50, "a guest with new channels counts as busy");
	time_ms += 5000;
	sample(one, 1);
	tap_expect(is_always(0) && is_always(1), "the other one was not seen");
	sample(both, 2);
	tap_expect(part(0) == 50 && part(1) == 50, "both were seen");
	limit(0, 900, 100);
	sample(seldom, 10);
	tap_expect(part(0) == 90 && part(1) == 10, "one with a small share is seldom seen");
	sample(both, 0);
	tap_expect(is_always(0) && is_always(1), "no guest was seen");
	go(0);
	go(1);
	tap_subject("guests that have nothing to do");
}

/* No guest escapes its share because the driver does not say who is busy. */
static void test_unknown(void)
{
	const uint32_t strange[] = { 77 }, one[] = { 100 };
	const struct card_usage failed = { .error = -5, .card = CARD };

	come(0);
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(5000);
	tap_expect(part(0) == 50, "the driver has said nothing");
	sample(strange, 1);
	tap_expect(part(0) == 50, "it says that it works for nobody who is known");
	share_sampled(&failed);
	share_sampled(&(struct card_usage) { .card = RM_DEVICES });
	tap_expect(part(0) == 50, "it fails");
	sample(one, 1);
	tap_expect(is_always(0), "it works for one");
	pass(5000);
	tap_expect(part(0) == 50, "it says nothing any more");
	go(0);
	go(1);
	tap_subject("a driver that does not say who is busy");
}

/* A guest uses a client whose process has ended: the driver names that process. */
static void test_ended(void)
{
	const uint32_t one[] = { 100 }, both[] = { 100, 77 };

	come(0);
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(5000);
	sample(one, 1);
	tap_expect(is_always(0), "it works for one");
	sample(both, 2);
	tap_expect(part(0) == 50 && part(1) == 50, "and for a process that is nobody's");
	sample(one, 1);
	tap_expect(is_always(0) && is_always(1), "for one again");
	go(0);
	go(1);
	tap_subject("a process that has ended");
}

/* A guest that frees its channels and makes them anew does not count as busy for ever. */
static void test_anew(void)
{
	const uint32_t one[] = { 100 };

	come(0);
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(5000);
	shared[1].cards = 0;
	pass(LOOK_MS);
	shared[1].cards = 1 << CARD;
	pass(LOOK_MS);
	sample(one, 1);
	tap_expect(is_always(0), "not again so soon");
	shared[1].cards = 0;
	pass(30000);
	shared[1].cards = 1 << CARD;
	pass(LOOK_MS);
	sample(one, 1);
	tap_expect(part(0) == 50, "later");
	go(0);
	go(1);
	tap_subject("channels that are made anew");
}

/* A guest that does little, or whose engine tells a lie, takes nothing of a card from others. */
static void test_little(void)
{
	uint32_t pids[24];
	unsigned int i;

	come(0);
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	pass(5000);
	for (i = 0; i < 24; i++)
		pids[i] = i == 5 ? 101 : 100;
	sample(pids, 24);
	tap_expect(is_always(0) && is_always(1), "seen once in 24 samples");
	pids[7] = pids[9] = pids[11] = 101;
	sample(pids, 24);
	tap_expect(part(0) == 50 && part(1) == 50, "seen more often");
	pass(5000);
	engines[1].share.granted = 1;
	pass(LOOK_MS);
	tap_expect(is_always(0), "a guest that does not have the card");
	go(0);
	go(1);
	tap_subject("guests that do little");
}

static void test_freeze(void)
{
	come(0);
	limit(0, 0, 100);
	tap_expect(slot(0)->period && !slot(0)->length, "before it has channels");
	limit(0, 100, 25);
	tap_expect(slot(0)->length * 4 == slot(0)->period, "a cap applies to a guest that is alone");
	limit(0, 100, 100);
	tap_expect(is_always(0), "thawed");
	come(1);
	shared[0].cards = shared[1].cards = 1 << CARD;
	limit(0, 0, 100);
	tap_expect(!slot(0)->length && is_always(1), "the other one has the whole card");
	go(0);
	tap_expect(is_always(1), "and keeps it");
	go(1);
	tap_subject("freeze and cap");
}

/* The end of an engine leaves no other guest cut. */
static void test_death(void)
{
	come(0);
	come(1);
	come(2);
	shared[0].cards = shared[1].cards = shared[2].cards = 1 << CARD;
	pass(LOOK_MS);
	tap_expect(part(0) == 33 && part(1) == 33 && part(2) == 33, "three guests");
	engines[2].agent_fd = -1;
	pass(LOOK_MS);
	tap_expect(part(0) == 50 && part(1) == 50, "one of them is ending");
	engines[2].agent_fd = 0;
	go(2);
	go(1);
	tap_expect(is_always(0) && !timer, "the last one");
	go(0);
	tap_subject("engines that end");
}

int main(void)
{
	test_alone();
	test_number();
	test_weights();
	test_idle();
	test_unknown();
	test_ended();
	test_anew();
	test_little();
	test_freeze();
	test_death();
	return tap_done();
}
