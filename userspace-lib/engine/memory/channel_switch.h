/* SPDX-License-Identifier: MIT */
/*
 * The thread that takes channels of NVIDIA's driver off a card, and lets them run again.
 */
#ifndef ENGINE_CHANNEL_SWITCH_H
#define ENGINE_CHANNEL_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

struct card_slot;

/* Wake the thread, as there may be something to switch. */
void channels_changed(void);
/**
 * channel_slot - set when the guest's channels of a card may run
 * @card: RM's number of the card
 * @slot: the times
 */
void channel_slot(uint32_t card, const struct card_slot *slot);

/**
 * slot_at - tell what a slot says of a time
 * @slot: the slot
 * @now: time of CLOCK_MONOTONIC in nanoseconds
 * @next: out: time at which the result changes; UINT64_MAX: never
 *
 * Return: true if channels may run.
 */
bool slot_at(const struct card_slot *slot, uint64_t now, uint64_t *next);

#endif /* ENGINE_CHANNEL_SWITCH_H */
