/* SPDX-License-Identifier: MIT */
/* Slots of a card: the parts of a period in which each guest's channels may run. See slots.c. */
#ifndef VGPUD_SLOTS_H
#define VGPUD_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/proto.h"

/*
 * Length of a period in nanoseconds. Each change of guests costs the card a part of a millisecond,
 * and a guest waits for its turn for a period at most. The driver's samples, by which vgpud sees who is
 * busy, are 200 ms apart (measured on an H200 with 580.159.04). At 40 ms, samples fell into the slot of
 * the same guest for seconds, and the others seemed idle. 200 ms are 4.62 of these periods, so that
 * samples fall into all parts of the period in turn.
 */
#define SLOTS_PERIOD_NS		43300000ULL
/* Shortest slot. The period becomes longer if a guest's share is less. */
#define SLOTS_LEAST_NS		1000000ULL
/*
 * Time by which a slot begins before that of the guest before ends. Both calls of the driver take
 * some time, and the card would have nothing to do if the first one took a guest off.
 */
#define SLOTS_EARLY_NS		200000ULL

/**
 * struct slot_guest - a guest of a card
 * @weight: the guest's share is its weight among those of all busy guests; 0: frozen
 * @cap: largest part of the time in percent, 1 to 100
 * @busy: true if the guest gives the card work
 * @slot: result
 */
struct slot_guest {
	uint32_t weight;
	uint32_t cap;
	bool busy;
	struct card_slot slot;
};

/**
 * slots_share - share a card
 * @guests: the guests
 * @nr: number of guests
 *
 * A guest that is not busy is not kept from the card, as far as its cap allows, and no other guest
 * is kept from the card for it.
 */
void slots_share(struct slot_guest *guests, unsigned int nr);

#endif /* VGPUD_SLOTS_H */
