/* SPDX-License-Identifier: MIT */
/* References that calls of a shadow gave the guest. */
#ifndef ENGINE_GIVEN_H
#define ENGINE_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

struct shadow;

/*
 * Note that a call of a lane gives the guest a reference. Return: false if the shadow has as many
 * entries as one call of each lane can give, or if there is no memory.
 */
bool given_add(struct shadow *shadow, uint32_t lane, uint32_t object, uint32_t reference);
/* Forget the references that the lane's last call gave: the guest has acknowledged all of them. */
void givens_acked(struct shadow *shadow, uint32_t lane);
/*
 * Forget that a shadow has given the guest a reference, as the guest has dropped the reference,
 * or is not to get it.
 */
void given_forget(uint32_t object, uint32_t reference);
/* Take a reference back from a shadow that is gone. Return: false if there is none. */
bool given_take_back(struct shadow *shadow, uint32_t *object, uint32_t *reference);

#endif /* ENGINE_GIVEN_H */
