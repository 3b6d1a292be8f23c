// SPDX-License-Identifier: MIT
/* Rates as lines of text, and as JSON. */
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/make.h"
#include "vgpuctl/top/view.h"
#include "vgpuctl/vgpuctl.h"

/* Numbers that lines can be sorted by, with their names. */
static const struct {
	const char *name;
	enum rate_value value;
} keys[] = {
	{ "calls", RATE_CALLS }, { "errors", RATE_ERRORS }, { "bytes", RATE_BYTES },
	{ "p50", RATE_P50 }, { "p99", RATE_P99 }, { "device", RATE_DEVICE },
	{ "busy", RATE_BUSY }, { "waits", RATE_WAITS }, { "memory", RATE_MEMORY },
};

#define NR_KEYS	(sizeof(keys) / sizeof(keys[0]))

/**
 * struct column - a column of numbers
 * @head: head of the column
 * @value: number that it shows
 */
struct column {
	const char *head;
	enum rate_value value;
};

/* Columns of each kind; an entry without a head ends them. */
static const struct {
	const char *head;
	struct column columns[9];
} kinds[NR_RATE_KINDS] = {
	[RATE_GUEST] = { "GUEST", {
		{ "CALLS/S", RATE_CALLS }, { "ERR/S", RATE_ERRORS }, { "MB/S", RATE_BYTES },
		{ "P50", RATE_P50 }, { "P99", RATE_P99 }, { "DEVICE", RATE_DEVICE },
		{ "MEMORY", RATE_MEMORY }, { "WAITS/S", RATE_WAITS }, { NULL, 0 } } },
	[RATE_EXPORT] = { "EXPORT", {
		{ "CALLS/S", RATE_CALLS }, { "ERR/S", RATE_ERRORS }, { "MB/S", RATE_BYTES },
		{ "P50", RATE_P50 }, { "P99", RATE_P99 }, { "MEAN", RATE_MEAN },
		{ "BUSY", RATE_BUSY }, { NULL, 0 } } },
	[RATE_PROGRAM] = { "PROGRAM", {
		{ "CALLS/S", RATE_CALLS }, { "ERR/S", RATE_ERRORS }, { "MB/S", RATE_BYTES },
		{ "MEAN", RATE_MEAN }, { "BUSY", RATE_BUSY }, { "PID", RATE_PID }, { NULL, 0 } } },
};

enum rate_value view_key(const char *name)
{
	size_t i;

	for (i = 0; i < NR_KEYS; i++)
		if (!strcmp(keys[i].name, name))
			return keys[i].value;
	return NR_RATE_VALUES;
}

enum rate_value view_next_key(enum rate_value by)
{
	size_t i;

	for (i = 0; i < NR_KEYS - 1; i++)
		if (keys[i].value == by)
			return keys[i + 1].value;
	return keys[0].value;
}

const char *view_keys(void)
{
	static char words[128];
	size_t i, len = 0;

	for (i = 0; i < NR_KEYS; i++)
		len += snprintf(words + len, sizeof(words) - len, "%s%s", i ? ", " : "",
				keys[i].name);
	return words;
}

static const char *key_name(enum rate_value by)
{
	size_t i;

	for (i = 0; i < NR_KEYS; i++)
		if (keys[i].value == by)
			return keys[i].name;
	return "";
}

/* Format a time in seconds with a unit. */
static void put_time(char *words, size_t size, double seconds)
{
	if (seconds < 1e-3)
		snprintf(words, size, "%.1fus", seconds * 1e6);
	else if (seconds < 1)
		snprintf(words, size, "%.1fms", seconds * 1e3);
	else
		snprintf(words, size, "%.1fs", seconds);
}

/* Format a size in bytes with a unit. */
static void put_size(char *words, size_t size, double bytes)
{
	static const char units[] = "KMGTP";
	int i = -1;

	while (bytes >= 1024 && i < 4) {
		bytes /= 1024;
		i++;
	}
	if (i < 0)
		snprintf(words, size, "%.0f", bytes);
	else
		snprintf(words, size, "%.1f%c", bytes, units[i]);
}

static void put_value(char *words, size_t size, enum rate_value what, double value)
{
	if (isnan(value)) {
		snprintf(words, size, "-");
		return;
	}
	switch (what) {
	case RATE_MEAN:
	case RATE_P50:
	case RATE_P99:
		put_time(words, size, value);
		break;
	case RATE_DEVICE:
		snprintf(words, size, "%.1f%%", value * 100);
		break;
	case RATE_BYTES:
		snprintf(words, size, "%.2f", value / 1e6);
		break;
	case RATE_BUSY:
		snprintf(words, size, "%.2f", value);
		break;
	case RATE_MEMORY:
		put_size(words, size, value);
		break;
	case RATE_PID:
		snprintf(words, size, "%.0f", value);
		break;
	default:
		snprintf(words, size, value < 100 ? "%.1f" : "%.0f", value);
	}
}

/* Add a line. Return: 0 or -1: no memory. */
static int add_line(struct view *view, bool head, const char *text)
{
	size_t size = view->size ? 2 * view->size : 64;
	void *lines, *heads;

	if (view->nr == view->size) {
		lines = realloc(view->lines, size * sizeof(view->lines[0]));
		if (!lines)
			return -1;
		view->lines = lines;
		heads = realloc(view->heads, size * sizeof(view->heads[0]));
		if (!heads)
			return -1;
		view->heads = heads;
		view->size = size;
	}
	snprintf(view->lines[view->nr], VIEW_WIDTH, "%s", text);
	view->heads[view->nr++] = head;
	return 0;
}

/* Add the line of a rate, or with NULL the heads of a kind. */
static int add_rate(struct view *view, enum rate_kind kind, const struct rate *rate)
{
	const struct column *column;
	char line[VIEW_WIDTH], words[32];
	int len;

	len = snprintf(line, sizeof(line), "%-16.31s", rate ? rate->name : kinds[kind].head);
	if (kind != RATE_GUEST)
		len += snprintf(line + len, sizeof(line) - len, " %-12.31s",
				rate ? rate->guest : "GUEST");
	for (column = kinds[kind].columns; column->head; column++) {
		if (rate)
			put_value(words, sizeof(words), column->value,
				  rate->values[column->value]);
		len += snprintf(line + len, sizeof(line) - len, " %8.20s",
				rate ? words : column->head);
	}
	return add_line(view, !rate, line);
}

int view_make(struct view *view, const struct rates *rates, enum rate_value by,
	      bool programs_hidden)
{
	enum rate_kind kind;
	char line[VIEW_WIDTH];
	bool any;
	size_t i;

	view->nr = 0;
	snprintf(line, sizeof(line), "vgpuctl top: %.1f s, sorted by %s", rates->seconds,
		 key_name(by));
	if (add_line(view, false, line))
		return -1;
	for (kind = 0; kind < NR_RATE_KINDS; kind++) {
		any = false;
		for (i = 0; i < rates->nr; i++) {
			if (rates->list[i].kind != kind)
				continue;
			if (!any && (add_line(view, false, "") || add_rate(view, kind, NULL)))
				return -1;
			any = true;
			if (add_rate(view, kind, &rates->list[i]))
				return -1;
		}
		if (!any && kind == RATE_GUEST && add_line(view, false, "no guest has connected"))
			return -1;
	}
	if (programs_hidden && rates->nr &&
	    add_line(view, false, "programs: only root and the group of vgpud may see them"))
		return -1;
	return 0;
}

void view_free(struct view *view)
{
	free(view->lines);
	free(view->heads);
}

static void add_number(struct json_object *object, const char *key, double value)
{
	make_member(object, key, isnan(value) ? NULL : make_double(value));
}

void view_print_json(const struct rates *rates)
{
	static const char *const lists[NR_RATE_KINDS] = {
		[RATE_GUEST] = "guests", [RATE_EXPORT] = "exports", [RATE_PROGRAM] = "programs",
	};
	struct json_object *step = make_object(), *arrays[NR_RATE_KINDS], *object;
	const struct rate *rate;
	unsigned int kind;
	size_t i;

	make_member(step, "schema", make_number(JSON_SCHEMA));
	add_number(step, "seconds", rates->seconds);
	for (kind = 0; kind < NR_RATE_KINDS; kind++) {
		arrays[kind] = make_array();
		make_member(step, lists[kind], arrays[kind]);
	}
	for (i = 0; i < rates->nr; i++) {
		rate = &rates->list[i];
		object = make_object();
		make_member(object, "name", make_string(rate->name));
		make_member(object, "guest", make_string(rate->guest));
		add_number(object, "calls_per_second", rate->values[RATE_CALLS]);
		add_number(object, "errors_per_second", rate->values[RATE_ERRORS]);
		add_number(object, "bytes_per_second", rate->values[RATE_BYTES]);
		add_number(object, "mean_seconds", rate->values[RATE_MEAN]);
		add_number(object, "p50_seconds", rate->values[RATE_P50]);
		add_number(object, "p99_seconds", rate->values[RATE_P99]);
		add_number(object, "device_part", rate->values[RATE_DEVICE]);
		add_number(object, "busy", rate->values[RATE_BUSY]);
		add_number(object, "waits_per_second", rate->values[RATE_WAITS]);
		add_number(object, "memory_bytes", rate->values[RATE_MEMORY]);
		add_number(object, "guest_pid", rate->values[RATE_PID]);
		make_element(arrays[rate->kind], object);
	}
	make_print(stdout, step, JSON_C_TO_STRING_PLAIN);
	fflush(stdout);
}
