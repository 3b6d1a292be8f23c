// SPDX-License-Identifier: MIT
/* References that calls of shadows gave the guest. */
#include <stdlib.h>

#include "engine/base/agent.h"
#include "engine/process/given.h"
#include "engine/process/shadow.h"

/**
 * struct given - a reference of the guest whose receipt the guest has not acknowledged yet
 * @lane: index of the lane whose call gave the reference
 * @object: number of the object
 * @reference: number of the reference
 */
struct given {
	LIST_ENTRY(given) node;
	uint32_t lane;
	uint32_t object;
	uint32_t reference;
};

bool given_add(struct shadow *shadow, uint32_t lane, uint32_t object, uint32_t reference)
{
	struct given *given;

	if (shadow->nr_givens >= start.limits.lanes * VGPU_FDS_MAX)
		return false;
	given = malloc(sizeof(*given));
	if (!given)
		return false;
	*given = (struct given) {
		.lane = lane, .object = object, .reference = reference,
	};
	LIST_INSERT_HEAD(&shadow->givens, given, node);
	shadow->nr_givens++;
	return true;
}

static void given_free(struct shadow *shadow, struct given *given)
{
	LIST_REMOVE(given, node);
	free(given);
	shadow->nr_givens--;
}

void givens_acked(struct shadow *shadow, uint32_t lane)
{
	struct given *given, *next;

	for (given = LIST_FIRST(&shadow->givens); given; given = next) {
		next = LIST_NEXT(given, node);
		if (given->lane == lane)
			given_free(shadow, given);
	}
}

void given_forget(uint32_t object, uint32_t reference)
{
	struct shadow *shadow;
	struct given *given;

	LIST_FOREACH(shadow, &shadows, node)
		LIST_FOREACH(given, &shadow->givens, node)
			if (given->object == object && given->reference == reference) {
				given_free(shadow, given);
				return;
			}
}

bool given_take_back(struct shadow *shadow, uint32_t *object, uint32_t *reference)
{
	struct given *given = LIST_FIRST(&shadow->givens);

	if (!given)
		return false;
	*object = given->object;
	*reference = given->reference;
	given_free(shadow, given);
	return true;
}
