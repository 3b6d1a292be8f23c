// SPDX-License-Identifier: MIT
/*
 * Tallies: counts and times of calls that shadows of engines report. A shadow that its guest has
 * taken over can report anything, but of its own guest alone: sums saturate.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engines/engine.h"
#include "engines/shadow.h"
#include "engines/tally.h"

static void add(__u64 *sum, const __u64 *value)
{
	uint64_t more = __atomic_load_n(value, __ATOMIC_RELAXED);

	*sum = more > UINT64_MAX - *sum ? UINT64_MAX : *sum + more;
}

static void tally_add(struct engine_tally *sum, const struct engine_tally *tally)
{
	size_t i;

	add(&sum->calls, &tally->calls);
	add(&sum->errors, &tally->errors);
	add(&sum->bytes_in, &tally->bytes_in);
	add(&sum->bytes_out, &tally->bytes_out);
	add(&sum->ns, &tally->ns);
	for (i = 0; i < VGPU_HOST_BUCKETS; i++)
		add(&sum->buckets[i], &tally->buckets[i]);
}

void tallies_name(struct guest_totals *totals, uint32_t export, const char *name)
{
	struct guest_tally *tally;
	size_t i;

	for (i = 0; i < totals->nr; i++) {
		tally = &totals->tallies[i];
		if (!strcmp(tally->name, name)) {
			tally->past.export = export;
			return;
		}
	}
	if (totals->nr == VGPU_HOST_TALLIES_MAX)
		return;
	tally = &totals->tallies[totals->nr++];
	snprintf(tally->name, sizeof(tally->name), "%s", name);
	tally->past.export = export;
}

/* Find what a shadow has counted of an export; NULL: nothing. */
static const struct engine_tally *tally_in(const struct engine_counts *counts, uint32_t export)
{
	uint32_t i, nr = __atomic_load_n(&counts->nr_tallies, __ATOMIC_ACQUIRE);

	for (i = 0; i < nr && i < ENGINE_TALLIES_MAX; i++)
		if (__atomic_load_n(&counts->tallies[i].export, __ATOMIC_RELAXED) == export)
			return &counts->tallies[i];
	return NULL;
}

void tallies_add(struct guest_totals *totals, const struct engine_counts *counts)
{
	const struct engine_tally *tally;
	size_t i;

	for (i = 0; i < totals->nr; i++) {
		tally = tally_in(counts, totals->tallies[i].past.export);
		if (tally)
			tally_add(&totals->tallies[i].past, tally);
	}
}

static void tally_fill(const struct guest_tally *tally, const struct engine *engine,
		       struct vgpu_host_tally *to)
{
	const struct shadow_counters *shadow;
	struct engine_tally sum = tally->past;
	const struct engine_tally *more;

	if (engine)
		LIST_FOREACH(shadow, &engine->shadows, node) {
			more = tally_in(shadow->counts, sum.export);
			if (more)
				tally_add(&sum, more);
		}
	memset(to, 0, sizeof(*to));
	memcpy(to->name, tally->name, sizeof(to->name));
	to->calls = sum.calls;
	to->errors = sum.errors;
	to->bytes_in = sum.bytes_in;
	to->bytes_out = sum.bytes_out;
	to->ns = sum.ns;
	memcpy(to->buckets, sum.buckets, sizeof(to->buckets));
}

size_t tallies_fill(const struct guest_totals *totals, const struct engine *engine,
		    struct vgpu_host_tally *to, size_t nr)
{
	size_t i;

	for (i = 0; i < totals->nr && i < nr; i++)
		tally_fill(&totals->tallies[i], engine, &to[i]);
	return totals->nr;
}

int tallies_session(const struct engine *engine, pid_t pid, struct vgpu_host_session_stat *stat)
{
	const struct shadow_counters *shadow;
	struct engine_tally sum = { 0 };

	LIST_FOREACH(shadow, &engine->shadows, node)
		if (shadow->pid == pid)
			break;
	if (!shadow)
		return -ENOENT;
	tally_add(&sum, &shadow->counts->all);
	stat->out_calls = sum.calls;
	stat->out_errors = sum.errors;
	stat->out_bytes_in = sum.bytes_in;
	stat->out_bytes_out = sum.bytes_out;
	stat->out_ns = sum.ns;
	return 0;
}
