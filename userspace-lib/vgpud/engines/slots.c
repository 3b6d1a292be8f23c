// SPDX-License-Identifier: MIT
/*
 * Slots of a card: the guests that are busy run one after the other, each for its share of a
 * period. It is logic without clocks and memory of its own, which tests/unit/test_slots.c tests.
 */
#include "engines/slots.h"

/* Shares are counted in parts of this. */
#define WHOLE	1000000ULL

static uint64_t cap_of(const struct slot_guest *guest)
{
	return WHOLE / 100 * (guest->cap < 100 ? guest->cap : 100);
}

static bool is_busy(const struct slot_guest *guest)
{
	return guest->busy && guest->weight;
}

/*
 * Divide what is left of @rest among the busy guests without a share yet, by weight. Return: a
 * guest that would get more than its cap, or NULL.
 */
static struct slot_guest *divide(struct slot_guest *guests, unsigned int nr, uint64_t rest)
{
	uint64_t weights = 0, share;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (is_busy(&guests[i]) && !guests[i].slot.start)
			weights += guests[i].weight;
	for (i = 0; i < nr; i++) {
		if (!is_busy(&guests[i]) || guests[i].slot.start)
			continue;
		share = rest * guests[i].weight / weights;
		if (share > cap_of(&guests[i]))
			return &guests[i];
		guests[i].slot.length = share;
	}
	return NULL;
}

/*
 * Set the length of each busy guest's slot to its share. What a cap takes from a guest goes to the
 * others. A guest whose share is its cap is marked by @start meanwhile.
 */
static void divide_all(struct slot_guest *guests, unsigned int nr)
{
	struct slot_guest *capped;
	uint64_t rest = WHOLE;
	unsigned int i;

	while ((capped = divide(guests, nr, rest))) {
		capped->slot.length = cap_of(capped);
		capped->slot.start = 1;
		rest -= capped->slot.length < rest ? capped->slot.length : rest;
	}
	for (i = 0; i < nr; i++)
		guests[i].slot.start = 0;
}

/* Turn shares into times. Return: the length of the period. */
static uint64_t to_times(struct slot_guest *guests, unsigned int nr)
{
	uint64_t sum = 0, length;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!is_busy(&guests[i]))
			continue;
		length = guests[i].slot.length * SLOTS_PERIOD_NS / WHOLE;
		if (length < SLOTS_LEAST_NS)
			length = SLOTS_LEAST_NS;
		guests[i].slot.start = sum;
		guests[i].slot.length = length;
		sum += length;
	}
	return sum > SLOTS_PERIOD_NS ? sum : SLOTS_PERIOD_NS;
}

/* The slot of a guest that shares the card with no other guest at the moment. */
static struct card_slot slot_alone(const struct slot_guest *guest)
{
	if (!guest->weight)
		return (struct card_slot) { .period = SLOTS_PERIOD_NS };
	if (guest->cap >= 100)
		return (struct card_slot) { 0 };
	return (struct card_slot) {
		.period = SLOTS_PERIOD_NS,
		.length = SLOTS_PERIOD_NS / 100 * guest->cap,
	};
}

void slots_share(struct slot_guest *guests, unsigned int nr)
{
	unsigned int i, nr_busy = 0;
	uint64_t period, early;

	for (i = 0; i < nr; i++) {
		guests[i].slot = (struct card_slot) { 0 };
		nr_busy += is_busy(&guests[i]);
	}
	if (nr_busy > 1)
		divide_all(guests, nr);
	period = nr_busy > 1 ? to_times(guests, nr) : SLOTS_PERIOD_NS;
	for (i = 0; i < nr; i++) {
		if (nr_busy < 2 || !is_busy(&guests[i])) {
			guests[i].slot = slot_alone(&guests[i]);
			continue;
		}
		early = guests[i].slot.start ? 0 : period;
		guests[i].slot.period = period;
		guests[i].slot.start += early - SLOTS_EARLY_NS;
		guests[i].slot.length += SLOTS_EARLY_NS;
	}
}
