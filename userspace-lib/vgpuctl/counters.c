// SPDX-License-Identifier: MIT
/* Counters, with the names that JSON, the screen and vgpuctl(1) use. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "vgpuctl.h"

/* Length of the longest line of counters. */
#define COLUMNS		96

#define COUNTER(type, member)	{ #member, offsetof(struct type, member), false }
#define BYTES(type, member)	{ #member, offsetof(struct type, member), true }

const struct counter guest_counters[] = {
	COUNTER(vgpu_counters, sessions),
	COUNTER(vgpu_counters, lanes),
	COUNTER(vgpu_counters, objects),
	COUNTER(vgpu_counters, mappings),
	BYTES(vgpu_counters, kept_bytes),
	BYTES(vgpu_counters, owned_bytes),
	COUNTER(vgpu_counters, calls),
	COUNTER(vgpu_counters, round_trips),
	BYTES(vgpu_counters, bytes_in),
	BYTES(vgpu_counters, bytes_out),
	COUNTER(vgpu_counters, fetched_pages),
	COUNTER(vgpu_counters, written_pages),
	COUNTER(vgpu_counters, fetch_timeouts),
	COUNTER(vgpu_counters, patience_ms),
	COUNTER(vgpu_counters, spent),
	COUNTER(vgpu_counters, refused),
	COUNTER(vgpu_counters, malformed),
	COUNTER(vgpu_counters, stray_fds),
	COUNTER(vgpu_counters, cancels),
	{ NULL, 0, false },
};

const struct counter window_counters[] = {
	BYTES(vgpu_window_status, size),
	BYTES(vgpu_window_status, bound_bytes),
	COUNTER(vgpu_window_status, bindings),
	COUNTER(vgpu_window_status, opens),
	COUNTER(vgpu_window_status, faults),
	COUNTER(vgpu_window_status, resolved),
	COUNTER(vgpu_window_status, dummies),
	COUNTER(vgpu_window_status, failures),
	COUNTER(vgpu_window_status, timeouts),
	COUNTER(vgpu_window_status, zaps),
	COUNTER(vgpu_window_status, huge),
	{ NULL, 0, false },
};

const struct counter node_counters[] = {
	COUNTER(vgpu_node_info, calls),
	COUNTER(vgpu_node_info, round_trips),
	BYTES(vgpu_node_info, bytes_in),
	BYTES(vgpu_node_info, bytes_out),
	COUNTER(vgpu_node_info, fetched_pages),
	COUNTER(vgpu_node_info, window_mappings),
	COUNTER(vgpu_node_info, copy_mappings),
	{ NULL, 0, false },
};

uint64_t counter_value(const struct counter *counter, const void *of)
{
	uint64_t value;

	memcpy(&value, (const char *)of + counter->offset, sizeof(value));
	return value;
}

void bytes_words(uint64_t bytes, char words[24])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t rest = 0;
	size_t i;

	for (i = 0; bytes >= 1024; i++) {
		rest = bytes % 1024;
		bytes /= 1024;
	}
	/* One digit after the point is precise enough. */
	if (rest * 10 / 1024)
		snprintf(words, 24, "%" PRIu64 ".%" PRIu64 " %s", bytes, rest * 10 / 1024, units[i]);
	else
		snprintf(words, 24, "%" PRIu64 " %s", bytes, units[i]);
}

void print_counters(const struct counter *counter, const void *of)
{
	char number[24], words[72], *underline;
	size_t column = 0, len;

	for (; counter->name; counter++) {
		if (counter->bytes)
			bytes_words(counter_value(counter, of), number);
		else
			snprintf(number, sizeof(number), "%" PRIu64, counter_value(counter, of));
		snprintf(words, sizeof(words), "%s %s", counter->name, number);
		while ((underline = strchr(words, '_')))
			*underline = ' ';
		len = strlen(words);
		if (column && column + len + 2 > COLUMNS) {
			printf(",\n");
			column = 0;
		}
		printf("%s%s", column ? ", " : "  ", words);
		column += len + 2;
	}
	putchar('\n');
}
