// SPDX-License-Identifier: MIT
/* Sums of calls by name, as of strace -c, and of the ioctls that the module has no schema for. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/make.h"
#include "vgpuctl/trace/trace.h"

/**
 * struct trace_sum - calls of one name
 * @name: name of the calls
 * @driver: name of the host's driver; ""
 * @cmd: command of the ioctls; 0: no ioctls
 * @class: class that the schema lacks; 0: none
 * @calls: number of calls
 * @errors: number of calls that have failed
 * @cost: cost of all of them; its numbers of round trips and pages are below
 * @trips: number of round trips
 * @pages: number of pages fetched
 */
struct trace_sum {
	char name[TRACE_NAME];
	char driver[65];
	uint32_t cmd;
	uint32_t class;
	uint64_t calls;
	uint64_t errors;
	struct trace_cost cost;
	uint64_t trips;
	uint64_t pages;
};

/**
 * struct trace_summary - calls by name
 * @unknown: true if only ioctls without a schema are counted
 * @sums: array of sums
 * @nr: number of entries of @sums
 * @lost: number of calls that were not seen
 */
struct trace_summary {
	bool unknown;
	struct trace_sum *sums;
	size_t nr;
	uint64_t lost;
};

struct trace_summary *trace_summary_new(bool unknown)
{
	struct trace_summary *summary = calloc(1, sizeof(*summary));

	if (summary)
		summary->unknown = unknown;
	return summary;
}

void trace_summary_free(struct trace_summary *summary)
{
	if (summary)
		free(summary->sums);
	free(summary);
}

void trace_summary_lost(struct trace_summary *summary, uint64_t lost)
{
	summary->lost += lost;
}

static struct trace_sum *sum_find(struct trace_summary *summary, const struct trace_call *call)
{
	const struct trace_ioctl *ioctl = &call->ioctl;
	struct trace_sum *sum, *more;
	char name[TRACE_NAME];

	trace_name(call, name);
	for (sum = summary->sums; sum < summary->sums + summary->nr; sum++)
		if (sum->cmd == ioctl->cmd && sum->class == ioctl->class &&
		    !strcmp(sum->name, name) && !strcmp(sum->driver, ioctl->driver))
			return sum;
	more = reallocarray(summary->sums, summary->nr + 1, sizeof(*more));
	if (!more)
		return NULL;
	summary->sums = more;
	sum = &more[summary->nr++];
	memset(sum, 0, sizeof(*sum));
	strcpy(sum->name, name);
	strcpy(sum->driver, ioctl->driver);
	sum->cmd = ioctl->cmd;
	sum->class = ioctl->class;
	return sum;
}

void trace_summary_add(struct trace_summary *summary, const struct trace_call *call)
{
	struct trace_sum *sum;

	if (summary->unknown && !trace_is_unknown(call))
		return;
	sum = sum_find(summary, call);
	if (!sum) {
		summary->lost++;
		return;
	}
	sum->calls++;
	sum->errors += call->result < 0 && call->result >= -4095;
	sum->cost.ns += call->cost.ns;
	sum->cost.out += call->cost.out;
	sum->cost.in += call->cost.in;
	sum->trips += call->cost.trips;
	sum->pages += call->cost.pages;
}

static int by_time(const void *a, const void *b)
{
	const struct trace_sum *one = a, *two = b;

	return one->cost.ns < two->cost.ns ? 1 : one->cost.ns > two->cost.ns ? -1 : 0;
}

static int by_calls(const void *a, const void *b)
{
	const struct trace_sum *one = a, *two = b;

	return one->calls < two->calls ? 1 : one->calls > two->calls ? -1 : 0;
}

static void add_up(const struct trace_summary *summary, struct trace_sum *total)
{
	const struct trace_sum *sum;

	memset(total, 0, sizeof(*total));
	strcpy(total->name, "total");
	for (sum = summary->sums; sum < summary->sums + summary->nr; sum++) {
		total->calls += sum->calls;
		total->errors += sum->errors;
		total->cost.ns += sum->cost.ns;
		total->cost.out += sum->cost.out;
		total->cost.in += sum->cost.in;
		total->trips += sum->trips;
		total->pages += sum->pages;
	}
}

static void put_sum(FILE *to, const struct trace_sum *sum, uint64_t all_ns)
{
	fprintf(to, "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
		" %11" PRIu64 " %s\n", all_ns ? 100.0 * sum->cost.ns / all_ns : 0.0,
		sum->cost.ns / 1e9, sum->calls ? sum->cost.ns / 1000 / sum->calls : 0, sum->calls,
		sum->errors, sum->trips, sum->pages, sum->cost.out + sum->cost.in, sum->name);
}

static void print_text(FILE *to, const struct trace_summary *summary)
{
	static const char line[] =
		"------ ----------- ----------- --------- --------- --------- --------- ----------- ----------------\n";
	struct trace_sum total;
	size_t i;

	add_up(summary, &total);
	fputs("% time     seconds  usecs/call     calls    errors     trips     pages       bytes call\n",
	      to);
	fputs(line, to);
	for (i = 0; i < summary->nr; i++)
		put_sum(to, &summary->sums[i], total.cost.ns);
	fputs(line, to);
	put_sum(to, &total, total.cost.ns);
}

static void print_unknown(FILE *to, const struct trace_summary *summary)
{
	const struct trace_sum *sum;

	if (!summary->nr) {
		fputs("All ioctls have a schema.\n", to);
		return;
	}
	fputs("    calls    errors     trips     pages command    driver           ioctl\n", to);
	for (sum = summary->sums; sum < summary->sums + summary->nr; sum++) {
		fprintf(to, "%9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " 0x%08x ",
			sum->calls, sum->errors, sum->trips, sum->pages, sum->cmd);
		trace_put_string(to, *sum->driver ? sum->driver : "-");
		fprintf(to, "%*s %s", (int)(strlen(sum->driver) < 16 ? 16 - strlen(sum->driver) -
					    !*sum->driver : 0), "", sum->name);
		if (sum->class)
			fprintf(to, " class 0x%x", sum->class);
		fputc('\n', to);
	}
}

static void put_number(struct json_object *to, const char *key, uint64_t number)
{
	make_member(to, key, make_unsigned(number));
}

static void print_json(FILE *to, const struct trace_summary *summary)
{
	struct json_object *object = make_object(), *array = make_array();
	const struct trace_sum *sum;
	struct json_object *entry;

	make_member(object, "schema", make_number(TRACE_SCHEMA));
	make_member(object, "type", make_string(summary->unknown ? "unknown" : "summary"));
	for (sum = summary->sums; sum < summary->sums + summary->nr; sum++) {
		entry = make_object();
		make_element(array, entry);
		make_member(entry, "name", make_string(sum->name));
		make_member(entry, "driver", make_string(sum->driver));
		put_number(entry, "cmd", sum->cmd);
		put_number(entry, "class", sum->class);
		put_number(entry, "calls", sum->calls);
		put_number(entry, "errors", sum->errors);
		put_number(entry, "ns", sum->cost.ns);
		put_number(entry, "round_trips", sum->trips);
		put_number(entry, "pages", sum->pages);
		put_number(entry, "bytes_out", sum->cost.out);
		put_number(entry, "bytes_in", sum->cost.in);
	}
	make_member(object, "calls", array);
	put_number(object, "lost", summary->lost);
	make_print(to, object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void trace_summary_print(FILE *to, struct trace_summary *summary, bool json)
{
	if (summary->nr)
		qsort(summary->sums, summary->nr, sizeof(*summary->sums),
		      summary->unknown ? by_calls : by_time);
	if (json) {
		print_json(to, summary);
		return;
	}
	if (summary->unknown)
		print_unknown(to, summary);
	else
		print_text(to, summary);
	if (summary->lost)
		fprintf(to, "%" PRIu64 " more calls were not seen: the kernel's buffer was full\n",
			summary->lost);
}
