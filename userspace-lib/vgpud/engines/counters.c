// SPDX-License-Identifier: MIT
/* Counters of engines and shadows. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engines/counters.h"
#include "engines/page.h"
#include "shared/proto.h"

/*
 * Add a counter to a sum that saturates: no true counter gets that far, and a false one cannot
 * make the sum wrap around to a small value.
 */
static void counter_add(uint64_t *sum, const uint64_t *counter)
{
	uint64_t value = __atomic_load_n(counter, __ATOMIC_RELAXED);

	*sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

void counters_sum(struct engine_counters *sum, const struct engine_counters *counters)
{
	const uint64_t *from = (const uint64_t *)counters;
	uint64_t *to = (uint64_t *)sum;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		counter_add(&to[i], &from[i]);
}

void counters_free(struct shadow_counters *shadow, struct engine_counters *ended)
{
	counters_sum(ended, shadow->counters);
	LIST_REMOVE(shadow, node);
	munmap((void *)(uintptr_t)shadow->counters, PAGE);
	free(shadow);
}
