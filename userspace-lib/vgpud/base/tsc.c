// SPDX-License-Identifier: MIT
/* Rate of the processor's time-stamp counter, measured against CLOCK_MONOTONIC. */
#include <time.h>

#include "base/tsc.h"
#include "shared/loop.h"

/* Length of the measurement in nanoseconds. */
#define MEASURED_NS	10000000
/* Number of attempts to read both clocks. The quickest counts: others may have been interrupted. */
#define LOOKS		8

static uint32_t khz;

/**
 * struct look - values of the counter and the clock at the same time
 * @tsc: value of the counter in ticks
 * @ns: value of CLOCK_MONOTONIC in nanoseconds
 */
struct look {
	uint64_t tsc;
	uint64_t ns;
};

static struct look look(void)
{
	uint64_t before, after, took, least = UINT64_MAX;
	struct look one, best = { 0 };
	int i;

	for (i = 0; i < LOOKS; i++) {
		before = __builtin_ia32_rdtsc();
		one.ns = now_ns();
		after = __builtin_ia32_rdtsc();
		took = after - before;
		one.tsc = before + took / 2;
		if (took < least) {
			least = took;
			best = one;
		}
	}
	return best;
}

void tsc_init(void)
{
	const struct timespec pause = { .tv_nsec = MEASURED_NS };
	struct look from = look(), to;

	nanosleep(&pause, NULL);
	to = look();
	if (to.ns > from.ns)
		khz = (to.tsc - from.tsc) * 1000000 / (to.ns - from.ns);
}

uint32_t tsc_khz(void)
{
	return khz;
}
