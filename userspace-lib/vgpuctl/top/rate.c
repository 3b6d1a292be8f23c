// SPDX-License-Identifier: MIT
/* Rates: what happened between two samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/metrics/sample.h"
#include "vgpuctl/top/rate.h"

#define NS	1e9

/* Return how much a counter has grown; a counter that has fallen has begun anew. */
static uint64_t grown(uint64_t before, uint64_t after)
{
	return after >= before ? after - before : after;
}

double rate_quantile(const uint64_t *buckets, double part)
{
	double all = 0, rank, below = 0, from, to;
	unsigned int i;

	for (i = 0; i < VGPU_HOST_BUCKETS; i++)
		all += buckets[i];
	if (!all)
		return NAN;
	rank = part * all;
	for (i = 0; i < VGPU_HOST_BUCKETS - 1; i++) {
		if (buckets[i] && below + buckets[i] >= rank)
			break;
		below += buckets[i];
	}
	from = i ? (double)((uint64_t)VGPU_HOST_BUCKET_NS << (i - 1)) : 0;
	/* The last class has no upper limit: what is known is the lower one. */
	if (i == VGPU_HOST_BUCKETS - 1)
		return from / NS;
	to = (double)((uint64_t)VGPU_HOST_BUCKET_NS << i);
	return (from + (to - from) * (rank - below) / buckets[i]) / NS;
}

static struct sample_calls calls_between(const struct sample_calls *before,
					 const struct sample_calls *after)
{
	static const struct sample_calls none;

	if (!before)
		before = &none;
	return (struct sample_calls) {
		.calls = grown(before->calls, after->calls),
		.errors = grown(before->errors, after->errors),
		.bytes_in = grown(before->bytes_in, after->bytes_in),
		.bytes_out = grown(before->bytes_out, after->bytes_out),
		.ns = grown(before->ns, after->ns),
	};
}

static struct rate *rate_new(struct rates *rates, enum rate_kind kind, const char *name,
			     const char *guest)
{
	struct rate *rate = &rates->list[rates->nr++];
	unsigned int i;

	rate->kind = kind;
	snprintf(rate->name, sizeof(rate->name), "%s", name);
	snprintf(rate->guest, sizeof(rate->guest), "%s", guest);
	for (i = 0; i < NR_RATE_VALUES; i++)
		rate->values[i] = NAN;
	return rate;
}

static void put_calls(struct rate *rate, const struct sample_calls *calls, double seconds)
{
	rate->values[RATE_CALLS] = calls->calls / seconds;
	rate->values[RATE_ERRORS] = calls->errors / seconds;
	rate->values[RATE_BYTES] = (calls->bytes_in + calls->bytes_out) / seconds;
	rate->values[RATE_BUSY] = calls->ns / NS / seconds;
	if (calls->calls)
		rate->values[RATE_MEAN] = calls->ns / NS / calls->calls;
}

static void put_times(struct rate *rate, const uint64_t *buckets)
{
	rate->values[RATE_P50] = rate_quantile(buckets, 0.5);
	rate->values[RATE_P99] = rate_quantile(buckets, 0.99);
}

/* Add an export. @sum: buckets of the guest, to which those of the export are added. */
static struct sample_calls add_export(struct rates *rates, const struct sample_guest *guest,
				      const struct sample_export *before,
				      const struct sample_export *after, uint64_t *sum)
{
	struct rate *rate = rate_new(rates, RATE_EXPORT, after->name, guest->name);
	struct sample_calls calls = calls_between(before ? &before->sums : NULL, &after->sums);
	uint64_t buckets[VGPU_HOST_BUCKETS];
	unsigned int i;

	for (i = 0; i < VGPU_HOST_BUCKETS; i++) {
		buckets[i] = grown(before ? before->buckets[i] : 0, after->buckets[i]);
		sum[i] += buckets[i];
	}
	put_calls(rate, &calls, rates->seconds);
	put_times(rate, buckets);
	return calls;
}

static void add_guest(struct rates *rates, const struct sample_guest *before,
		      const struct sample_guest *after)
{
	static const struct sample_guest none;
	const struct sample_totals *from = before ? &before->totals : &none.totals;
	struct rate *rate = rate_new(rates, RATE_GUEST, after->name, after->name);
	const struct sample_totals *to = &after->totals;
	uint64_t buckets[VGPU_HOST_BUCKETS] = { 0 };
	const struct sample_program *program;
	struct sample_calls all = { 0 }, calls;
	size_t i;

	for (i = 0; i < after->nr_exports; i++) {
		calls = add_export(rates, after, sample_export_in(before, after->exports[i].name),
				   &after->exports[i], buckets);
		all.errors += calls.errors;
		all.ns += calls.ns;
	}
	all.calls = grown(from->calls, to->calls);
	all.bytes_in = grown(from->bytes_in, to->bytes_in);
	all.bytes_out = grown(from->bytes_out, to->bytes_out);
	put_calls(rate, &all, rates->seconds);
	rate->values[RATE_MEAN] = NAN;
	put_times(rate, buckets);
	rate->values[RATE_DEVICE] = grown(from->device_ns, to->device_ns) / NS / rates->seconds;
	rate->values[RATE_WAITS] = (grown(from->delayed, to->delayed) +
				    grown(from->queued, to->queued)) / rates->seconds;
	rate->values[RATE_MEMORY] = after->now.mapped_bytes + after->now.kept_bytes +
				    after->now.owned_bytes;
	for (i = 0; i < after->nr_programs; i++) {
		program = sample_program_in(before, after->programs[i].number);
		calls = calls_between(program ? &program->sums : NULL, &after->programs[i].sums);
		rate = rate_new(rates, RATE_PROGRAM, after->programs[i].comm, after->name);
		put_calls(rate, &calls, rates->seconds);
		rate->values[RATE_PID] = after->programs[i].guest_pid;
	}
}

int rates_between(const struct sample *before, const struct sample *after, struct rates *rates)
{
	size_t i, nr = 0;

	for (i = 0; i < after->nr_guests; i++)
		nr += 1 + after->guests[i].nr_exports + after->guests[i].nr_programs;
	rates->list = calloc(nr + 1, sizeof(rates->list[0]));
	rates->nr = 0;
	if (!rates->list)
		return -1;
	rates->seconds = (after->ns - before->ns) / NS;
	/* Two samples of the same moment tell nothing, but must not divide by zero. */
	if (!(rates->seconds > 0))
		rates->seconds = 1 / NS;
	for (i = 0; i < after->nr_guests; i++)
		add_guest(rates, sample_guest_in(before, after->guests[i].name), &after->guests[i]);
	return 0;
}

static enum rate_value sort_by;

static int compare(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	double of_x = isnan(x->values[sort_by]) ? -1 : x->values[sort_by];
	double of_y = isnan(y->values[sort_by]) ? -1 : y->values[sort_by];
	int ret;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	ret = strcmp(x->guest, y->guest);
	return ret ? ret : strcmp(x->name, y->name);
}

void rates_sort(struct rates *rates, enum rate_value by)
{
	sort_by = by;
	qsort(rates->list, rates->nr, sizeof(rates->list[0]), compare);
}
