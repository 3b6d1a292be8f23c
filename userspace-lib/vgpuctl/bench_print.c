// SPDX-License-Identifier: MIT
/* Figures of the command bench, and its verdict. */
#include <json-c/json.h>
#include <stdio.h>

#include "vgpuctl/bench.h"
#include "vgpuctl/make.h"

/* Greatest ratio of a call to a round trip of the transport that is called good. */
#define CALL_GOOD	4.0
/* Least part of the speed of ordinary memory that is called good. */
#define MEMORY_GOOD	0.5

/* Return how many times as long as @beside an operation takes. */
static double ratio(const struct bench_times *times, const struct bench_times *beside)
{
	return beside->median > 0 ? times->median / beside->median : 0;
}

/* Return bytes per microsecond, which are megabytes a second. */
static double rate(const struct bench *bench, const struct bench_times *times)
{
	return times->median > 0 ? bench->size / times->median : 0;
}

static bool call_good(const struct bench *bench)
{
	return ratio(&bench->call, &bench->round_trip) <= CALL_GOOD;
}

static bool memory_good(const struct bench *bench)
{
	return rate(bench, &bench->to_device) >= MEMORY_GOOD * rate(bench, &bench->plain);
}

static void print_words(const struct bench *bench)
{
	printf("%s:\n", bench->path);
	if (bench->raw)
		printf("  round trip of vsock   %8.1f us (99 of 100: %.1f us), %zu times\n",
		       bench->round_trip.median, bench->round_trip.p99, bench->round_trip.nr);
	printf("  call of the device    %8.1f us (99 of 100: %.1f us), %zu times\n",
	       bench->call.median, bench->call.p99, bench->call.nr);
	if (bench->mapped)
		printf("  copy, plain memory    %8.0f MB/s\n"
		       "  copy to the device    %8.0f MB/s\n"
		       "  copy from the device  %8.0f MB/s\n",
		       rate(bench, &bench->plain), rate(bench, &bench->to_device),
		       rate(bench, &bench->from_device));
	if (!bench->raw)
		puts("calls: no verdict, because the host's kernel did not answer on vsock port 1");
	else if (call_good(bench))
		printf("calls: good, %.1f times a round trip of vsock\n",
		       ratio(&bench->call, &bench->round_trip));
	else
		printf("calls: slow, %.1f times a round trip of vsock (good: up to %.0f): is the host busy, or the guest limited ('vgpuctl limit' on the host)?\n",
		       ratio(&bench->call, &bench->round_trip), CALL_GOOD);
	if (!bench->mapped)
		puts("memory: no verdict, because bench knows no memory of this device that it can map");
	else if (memory_good(bench))
		printf("memory: good, %.0f %% of the speed of plain memory\n",
		       100 * rate(bench, &bench->to_device) / rate(bench, &bench->plain));
	else
		printf("memory: slow, %.0f %% of the speed of plain memory (good: from %.0f): 'vgpuctl doctor' says whether a window is missing\n",
		       100 * rate(bench, &bench->to_device) / rate(bench, &bench->plain),
		       100 * MEMORY_GOOD);
}

static struct json_object *times_json(const struct bench_times *times)
{
	struct json_object *object = make_object();

	make_member(object, "median_us", make_double(times->median));
	make_member(object, "p99_us", make_double(times->p99));
	make_member(object, "operations", make_number(times->nr));
	return object;
}

static struct json_object *verdict_json(bool known, bool good)
{
	return known ? make_string(good ? "good" : "slow") : NULL;
}

static void print_json(const struct bench *bench)
{
	struct json_object *object = make_object();
	const bool mapped = bench->mapped;

	make_member(object, "device", make_string(bench->path));
	make_member(object, "vsock", bench->raw ? times_json(&bench->round_trip) : NULL);
	make_member(object, "call", times_json(&bench->call));
	make_member(object, "copied_bytes", make_number(bench->size));
	make_member(object, "plain", mapped ? times_json(&bench->plain) : NULL);
	make_member(object, "to_device", mapped ? times_json(&bench->to_device) : NULL);
	make_member(object, "from_device", mapped ? times_json(&bench->from_device) : NULL);
	make_member(object, "calls", verdict_json(bench->raw, call_good(bench)));
	make_member(object, "memory", verdict_json(mapped, memory_good(bench)));
	make_member(object, "schema", make_number(JSON_SCHEMA));
	make_print(stdout, object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void bench_print(const struct bench *bench, bool json)
{
	if (json)
		print_json(bench);
	else
		print_words(bench);
}
