// SPDX-License-Identifier: MIT
/*
 * The command monitor: events of guests, as lines or as JSON. They are what has changed between two
 * samples: a guest or program that came and went in between is not seen, but what was counted is.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vgpuctl/make.h"
#include "vgpuctl/metrics/sample.h"
#include "vgpuctl/top/top.h"
#include "vgpuctl/vgpuctl.h"

/**
 * struct monitor - state of the command
 * @json: true: events are printed as JSON
 * @left: number of events until the end; negative: no limit
 * @time: time of the sample, as text
 */
struct monitor {
	bool json;
	long left;
	char time[32];
};

/**
 * struct event - an event
 * @name: name of the event, which later versions keep
 * @guest: name of the guest
 * @key: name of @what in JSON; NULL: the event has none
 * @what: name of the export or program
 * @pid: process ID in the guest; 0: none
 * @count: how often it happened; 0: once
 */
struct event {
	const char *name;
	const char *guest;
	const char *key;
	const char *what;
	uint64_t pid;
	uint64_t count;
};

/* Counters whose growth is an event, with the names of the events. */
static const struct {
	const char *name;
	size_t offset;
} counted[] = {
	{ "refused", offsetof(struct sample_totals, refused) },
	{ "malformed", offsetof(struct sample_totals, malformed) },
	{ "fetch-timeout", offsetof(struct sample_totals, fetch_timeouts) },
	{ "stray-file", offsetof(struct sample_totals, stray_fds) },
};

static void print_json_line(const struct monitor *monitor, const struct event *event)
{
	struct json_object *object = make_object();

	make_member(object, "schema", make_number(JSON_SCHEMA));
	make_member(object, "time", make_string(monitor->time));
	make_member(object, "event", make_string(event->name));
	make_member(object, "guest", make_string(event->guest));
	if (event->key)
		make_member(object, event->key, make_string(event->what));
	if (event->pid)
		make_member(object, "guest_pid", make_number(event->pid));
	if (event->count)
		make_member(object, "count", make_number(event->count));
	make_print(stdout, object, JSON_C_TO_STRING_PLAIN);
}

static void print_event(struct monitor *monitor, const struct event *event)
{
	if (!monitor->left)
		return;
	if (monitor->left > 0)
		monitor->left--;
	if (monitor->json) {
		print_json_line(monitor, event);
	} else {
		printf("%s %s %s", monitor->time, event->name, event->guest);
		if (event->key)
			printf(" %s", event->what);
		if (event->pid)
			printf(" (pid %" PRIu64 ")", event->pid);
		if (event->count)
			printf(" +%" PRIu64, event->count);
		putchar('\n');
	}
	fflush(stdout);
}

/* Print an event for each program of @guest that @other does not have. */
static void compare_programs(struct monitor *monitor, const char *name,
			     const struct sample_guest *guest, const struct sample_guest *other)
{
	size_t i;

	for (i = 0; guest && i < guest->nr_programs; i++)
		if (!sample_program_in(other, guest->programs[i].number))
			print_event(monitor, &(struct event) {
				.name = name, .guest = guest->name, .key = "program",
				.what = guest->programs[i].comm,
				.pid = guest->programs[i].guest_pid,
			});
}

static void compare_counters(struct monitor *monitor, const struct sample_guest *before,
			     const struct sample_guest *after)
{
	static const struct sample_totals none;
	const char *from = (const char *)(before ? &before->totals : &none);
	const char *to = (const char *)&after->totals;
	uint64_t old, new;
	size_t i;

	for (i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		old = *(const uint64_t *)(from + counted[i].offset);
		new = *(const uint64_t *)(to + counted[i].offset);
		if (new > old)
			print_event(monitor, &(struct event) {
				.name = counted[i].name, .guest = after->name, .count = new - old,
			});
	}
}

static void compare_guest(struct monitor *monitor, const struct sample_guest *before,
			  const struct sample_guest *after)
{
	const bool was = before && before->now.connected;
	const bool again = was && after->totals.connections > before->totals.connections;
	size_t i;

	compare_programs(monitor, "program-ended", before, after);
	if (was && (again || !after->now.connected))
		print_event(monitor, &(struct event) { .name = "guest-gone", .guest = after->name });
	if (after->now.connected && (!was || again))
		print_event(monitor, &(struct event) {
			.name = "guest-connected", .guest = after->name,
		});
	for (i = 0; i < after->nr_exports; i++)
		if (!sample_export_in(before, after->exports[i].name))
			print_event(monitor, &(struct event) {
				.name = "export-new", .guest = after->name, .key = "export",
				.what = after->exports[i].name,
			});
	compare_programs(monitor, "program-started", after, before);
	compare_counters(monitor, before, after);
}

static void compare(struct monitor *monitor, const struct sample *before,
		    const struct sample *after)
{
	const time_t now = time(NULL);
	struct tm tm;
	size_t i;

	strftime(monitor->time, sizeof(monitor->time), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	for (i = 0; i < after->nr_guests; i++)
		compare_guest(monitor, sample_guest_in(before, after->guests[i].name),
			      &after->guests[i]);
}

int cmd_monitor(const char *unused, const struct options *options)
{
	struct monitor monitor = { .json = option_given(options, OPT_JSON), .left = -1 };
	struct sample *before, *after;
	struct timespec rest;
	double delay = 1;
	int ret;

	(void)unused;
	ret = take_step_options(options, &delay, &monitor.left);
	if (!ret)
		ret = sample_take(options, &before);
	if (ret)
		return ret;
	while (monitor.left) {
		rest.tv_sec = delay;
		rest.tv_nsec = (delay - rest.tv_sec) * 1e9;
		nanosleep(&rest, NULL);
		ret = sample_take(options, &after);
		if (ret)
			break;
		compare(&monitor, before, after);
		sample_free(before);
		before = after;
	}
	sample_free(before);
	return ret;
}
