/* SPDX-License-Identifier: MIT */
/* Counters of engines and shadows. */
#ifndef VGPUD_COUNTERS_H
#define VGPUD_COUNTERS_H

#include <sys/queue.h>
#include <sys/types.h>

struct engine_counters;

/**
 * struct shadow_counters - the counters of a shadow
 * @node: entry of struct engine's list of shadows
 * @pid: process ID of the shadow
 * @counters: memory that the shadow writes and vgpud reads
 */
struct shadow_counters {
	LIST_ENTRY(shadow_counters) node;
	pid_t pid;
	const struct engine_counters *counters;
};

/* Add the values of all counters to sums, which saturate. */
void counters_sum(struct engine_counters *sum, const struct engine_counters *counters);
/* Free the counters of a shadow that has ended, and add their values to sums. */
void counters_free(struct shadow_counters *shadow, struct engine_counters *ended);

#endif /* VGPUD_COUNTERS_H */
