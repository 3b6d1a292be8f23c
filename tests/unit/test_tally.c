// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the counts of calls of engines' guests (userspace-lib/vgpud/engines/tally.c): they are
 * sums over shadows that run and shadows that have ended, by the names of exports.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "vgpud/engines/engine.h"
#include "vgpud/engines/shadow.h"
#include "vgpud/engines/tally.h"

static struct engine engine;
static struct guest_totals totals;
static struct engine_counts counts[2];
static struct shadow_counters shadows[2] = { { .pid = 71 }, { .pid = 72 } };

/* --- tests -------------------------------------------------------------------------------- */

/* Returns the tally of an export; calls of -1 if there is none. */
static struct vgpu_host_tally tally(const char *name, const struct engine *of)
{
	static struct vgpu_host_tally list[VGPU_HOST_TALLIES_MAX];
	size_t i, nr = tallies_fill(&totals, of, list, VGPU_HOST_TALLIES_MAX);

	for (i = 0; i < nr; i++)
		if (!strcmp(list[i].name, name))
			return list[i];
	return (struct vgpu_host_tally) { .calls = UINT64_MAX };
}

static void set(struct engine_counts *of, uint32_t at, uint32_t export, uint64_t calls)
{
	of->nr_tallies = at + 1;
	of->tallies[at] = (struct engine_tally) {
		.export = export, .calls = calls, .errors = 1, .ns = 10 * calls,
		.buckets = { [3] = calls },
	};
}

static void test_sums(void)
{
	struct vgpu_host_tally gpu;
	unsigned int i;

	tallies_name(&totals, 5, "gpu");
	tallies_name(&totals, 6, "video");
	set(&counts[0], 0, 5, 100);
	set(&counts[1], 0, 6, 1);
	set(&counts[1], 1, 5, 20);
	/* The guest has no such export. */
	set(&counts[1], 2, 9, 4000);
	for (i = 0; i < 2; i++) {
		shadows[i].counts = &counts[i];
		LIST_INSERT_HEAD(&engine.shadows, &shadows[i], node);
	}
	gpu = tally("gpu", &engine);
	tap_expect(gpu.calls == 120 && gpu.errors == 2 && gpu.ns == 1200 && gpu.buckets[3] == 120,
		   "%llu calls", (unsigned long long)gpu.calls);
	tap_expect(tally("video", &engine).calls == 1, "calls of the other export");
	tap_expect(tally("gpu", NULL).calls == 0, "calls without an engine");
	tap_subject("tallies of all shadows");
}

static void test_end(void)
{
	LIST_REMOVE(&shadows[0], node);
	tallies_add(&totals, &counts[0]);
	tap_expect(tally("gpu", &engine).calls == 120, "calls after the end of a shadow");
	LIST_REMOVE(&shadows[1], node);
	tallies_add(&totals, &counts[1]);
	tap_expect(tally("gpu", NULL).calls == 120 && tally("video", NULL).calls == 1,
		   "calls after the end of the engine");
	tap_subject("tallies outlast shadows");
}

static void test_again(void)
{
	tallies_name(&totals, 12, "gpu");
	set(&counts[0], 0, 12, 3);
	LIST_INSERT_HEAD(&engine.shadows, &shadows[0], node);
	tap_expect(tally("gpu", &engine).calls == 123, "%llu calls",
		   (unsigned long long)tally("gpu", &engine).calls);
	tap_expect(totals.nr == 2, "%zu exports", totals.nr);
	tap_subject("an export that is made again goes on");
}

static void test_lies(void)
{
	struct vgpu_host_session_stat stat;

	counts[0].tallies[0].calls = UINT64_MAX - 1;
	counts[0].nr_tallies = UINT32_MAX;
	tap_expect(tally("gpu", &engine).calls == UINT64_MAX, "the sum wraps around");
	counts[0].all.calls = 77;
	tap_expect(!tallies_session(&engine, 71, &stat) && stat.out_calls == 77, "a session");
	tap_expect(tallies_session(&engine, 99, &stat) == -ENOENT, "a session that is not there");
	tap_subject("shadows that lie");
}

static void test_many(void)
{
	char name[32];
	unsigned int i;

	for (i = 0; i < 2 * VGPU_HOST_TALLIES_MAX; i++) {
		snprintf(name, sizeof(name), "export-%u", i);
		tallies_name(&totals, 100 + i, name);
	}
	tap_expect(totals.nr == VGPU_HOST_TALLIES_MAX, "%zu exports", totals.nr);
	tap_expect(tally("export-3", NULL).calls == 0, "an early export");
	tap_subject("more exports than there is room for");
}

int main(void)
{
	test_sums();
	test_end();
	test_again();
	test_lies();
	test_many();
	return tap_done();
}
