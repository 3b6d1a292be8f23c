// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the slots by which guests share a card of NVIDIA's driver: vgpud divides a period
 * (vgpud/engines/slots.c).
 */
#include <stdlib.h>

#include "engines/slots.h"
#include "tap.h"

#define MS	1000000ULL

static struct slot_guest guest(uint32_t weight, uint32_t cap, bool busy)
{
	return (struct slot_guest) { .weight = weight, .cap = cap, .busy = busy };
}

static bool is_on(const struct card_slot *slot, uint64_t at)
{
	if (!slot->period)
		return true;
	return (at + slot->period - slot->start) % slot->period < slot->length;
}

/* Return: the guest's part of the period in percent, without the time that slots have in common. */
static double part(const struct slot_guest *guest)
{
	if (!guest->slot.period)
		return 100;
	if (!guest->slot.length)
		return 0;
	return 100.0 * (guest->slot.length - SLOTS_EARLY_NS) / guest->slot.period;
}

static bool is_about(double one, double other)
{
	return one > other - 0.01 && one < other + 0.01;
}

/* At any time one of the busy guests runs, and two do so only while they take turns. */
static void check_turns(const struct slot_guest *guests, unsigned int nr, const char *what)
{
	uint64_t at, period = 0, both = 0, none = 0;
	unsigned int i, on, nr_busy = 0;

	for (i = 0; i < nr; i++) {
		if (!guests[i].busy || !guests[i].weight)
			continue;
		nr_busy++;
		period = guests[i].slot.period;
	}
	for (at = 0; at < period; at += 10000) {
		for (i = 0, on = 0; i < nr; i++)
			on += guests[i].busy && guests[i].weight && is_on(&guests[i].slot, at);
		both += on > 1;
		none += !on;
	}
	tap_expect(!none, "%s: no guest runs for %d of 10 us", what, (int)none);
	tap_expect(both * 10000 == nr_busy * SLOTS_EARLY_NS, "%s: several run for %d of 10 us", what,
		   (int)both);
}

static void test_weights(void)
{
	static const uint32_t weights[][2] = { { 100, 100 }, { 300, 100 }, { 900, 100 }, { 1, 3 } };
	struct slot_guest guests[2];
	unsigned int i;

	for (i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		const uint32_t *w = weights[i];

		guests[0] = guest(w[0], 100, true);
		guests[1] = guest(w[1], 100, true);
		slots_share(guests, 2);
		tap_expect(is_about(part(&guests[0]), 100.0 * w[0] / (w[0] + w[1])) &&
			   is_about(part(&guests[1]), 100.0 * w[1] / (w[0] + w[1])),
			   "%u:%u are %f and %f", w[0], w[1], part(&guests[0]), part(&guests[1]));
		check_turns(guests, 2, "two guests");
	}
	tap_subject("shares follow the weights");
}

/* A guest without another one that wants the card is never taken off. */
static void test_alone(void)
{
	struct slot_guest guests[3] = {
		guest(100, 100, true), guest(900, 100, false), guest(0, 100, true),
	};

	slots_share(guests, 1);
	tap_expect(!guests[0].slot.period, "one guest");
	slots_share(guests, 3);
	tap_expect(!guests[0].slot.period, "beside one that is idle, and one that is frozen");
	tap_expect(!guests[1].slot.period, "the idle one may begin at any time");
	guests[0].busy = false;
	slots_share(guests, 3);
	tap_expect(!guests[0].slot.period && !guests[1].slot.period, "no guest is busy");
	slots_share(guests, 0);
	tap_subject("a guest that is alone has the whole card");
}

static void test_frozen(void)
{
	struct slot_guest guests[3] = {
		guest(100, 100, true), guest(0, 100, true), guest(100, 50, true),
	};

	slots_share(guests, 3);
	tap_expect(guests[1].slot.period && !guests[1].slot.length, "never runs");
	tap_expect(is_about(part(&guests[0]), 50) && is_about(part(&guests[2]), 50),
		   "the others share the rest");
	guests[1].busy = false;
	slots_share(guests + 1, 1);
	tap_expect(guests[1].slot.period && !guests[1].slot.length, "alone, and idle");
	tap_subject("a guest that is frozen never runs");
}

static void test_caps(void)
{
	struct slot_guest guests[3] = {
		guest(100, 10, true), guest(100, 100, true), guest(300, 100, true),
	};

	slots_share(guests, 3);
	tap_expect(is_about(part(&guests[0]), 10) && is_about(part(&guests[1]), 22.5) &&
		   is_about(part(&guests[2]), 67.5), "%f, %f, %f", part(&guests[0]),
		   part(&guests[1]), part(&guests[2]));
	check_turns(guests, 3, "three guests");
	guests[1].busy = guests[2].busy = false;
	slots_share(guests, 3);
	tap_expect(guests[0].slot.length * 10 == guests[0].slot.period, "alone");
	guests[1] = guest(100, 30, true);
	slots_share(guests, 2);
	tap_expect(is_about(part(&guests[0]), 10) && is_about(part(&guests[1]), 30),
		   "all are capped: %f, %f", part(&guests[0]), part(&guests[1]));
	tap_subject("no guest gets more than its cap");
}

/* Slots are never shorter than the time that it takes to change guests. */
static void test_least(void)
{
	static struct slot_guest guests[256];
	unsigned int i;

	guests[0] = guest(10000, 100, true);
	guests[1] = guest(1, 100, true);
	slots_share(guests, 2);
	tap_expect(guests[1].slot.length == SLOTS_LEAST_NS + SLOTS_EARLY_NS, "weight 1 of 10000");
	check_turns(guests, 2, "weight 1 of 10000");
	for (i = 0; i < 256; i++)
		guests[i] = guest(100, 100, true);
	slots_share(guests, 256);
	tap_expect(guests[0].slot.period == 256 * SLOTS_LEAST_NS, "the period becomes longer");
	check_turns(guests, 256, "many guests");
	tap_subject("slots have a least length");
}

int main(void)
{
	test_weights();
	test_alone();
	test_frozen();
	test_caps();
	test_least();
	return tap_done();
}
