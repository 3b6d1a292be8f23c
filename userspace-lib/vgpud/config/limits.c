// SPDX-License-Identifier: MIT
/* Limits of guests: table of their names and ranges. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "base/answer.h"
#include "config/config.h"
#include "config/limits.h"
#include "shared/number.h"
#include "shared/word.h"

/* PART: a percentage of the machine's memory can be given; GROUP: the kernel limits a group. */
enum { BYTES = 1, WIDE = 2, PART = 4, GROUP = 8 };

/* Table of all limits: name, place in struct limits, and valid range. */
static const struct row {
	const char *name;
	unsigned int flags;
	size_t offset;
	uint64_t min, max;
} rows[] = {
#define ROW(name, flags, member, min, max) \
	{ name, flags, offsetof(struct limits, member), min, max }
	ROW("sessions", 0, host.sessions, 1, 65536),
	ROW("session-rate", 0, session_rate, 1, 1000),
	ROW("lanes", 0, host.lanes, 2, 512),
	ROW("objects", 0, host.objects, 1, 1 << 20),
	ROW("fds-per-call", 0, host.fds_per_call, 1, VGPU_FDS_MAX),
	ROW("call-bytes", BYTES, host.call_bytes, VGPU_CALL_BYTES_MIN, VGPU_CALL_BYTES_MAX),
	ROW("pages", 0, host.pages, 16, 1 << 20),
	ROW("mappings", 0, host.mappings, 1, 32768),
	ROW("all-pages", 0, all_pages, 0, UINT32_MAX),
	ROW("all-mappings", 0, all_mappings, 0, UINT32_MAX),
	ROW("mapped-bytes", BYTES | WIDE, host.mapped_bytes, 4096, 1ULL << 46),
	ROW("kept-bytes", BYTES | WIDE, host.kept_bytes, 4096, 1ULL << 46),
	ROW("call-rate", WIDE, rates.calls, 0, VGPU_HOST_RATE_MAX),
	ROW("open-rate", WIDE, rates.opens, 0, VGPU_HOST_RATE_MAX),
	ROW("byte-rate", BYTES | WIDE, rates.bytes, 0, VGPU_HOST_RATE_MAX),
	ROW("device-weight", 0, device_weight, 0, VGPU_HOST_WEIGHT_MAX),
	ROW("device-cap", 0, device_cap, 1, 100),
	ROW("device-priority", 0, device_priority, 0, VGPU_HOST_PRIORITY_MAX),
	ROW("patience-ms", 0, patience_ms, 0, 3600000),
	ROW("memory", BYTES | WIDE | PART | GROUP, group.memory, 0, 1ULL << 46),
	ROW("device-memory", BYTES | WIDE | GROUP, group.device_memory, 0, 1ULL << 46),
	ROW("tasks", GROUP, group.tasks, 0, GROUP_TASKS_MAX),
	ROW("cpu-weight", GROUP, group.cpu_weight, 1, 10000),
	ROW("io-weight", GROUP, group.io_weight, 1, 10000),
#undef ROW
};

#define NR_ROWS	(sizeof(rows) / sizeof(rows[0]))

_Static_assert(NR_ROWS <= LIMITS_MAX, "bits of struct limits_given");

int limits_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return i;
	return -1;
}

const char *limits_name(unsigned int limit)
{
	return limit < NR_ROWS ? rows[limit].name : NULL;
}

bool limits_in_bytes(unsigned int limit)
{
	return rows[limit].flags & BYTES;
}

bool limits_of_group(unsigned int limit)
{
	return rows[limit].flags & GROUP;
}

uint64_t limits_get(const struct limits *limits, unsigned int limit)
{
	const void *member = (const char *)limits + rows[limit].offset;

	return rows[limit].flags & WIDE ? *(const uint64_t *)member : *(const uint32_t *)member;
}

static void set(struct limits *limits, unsigned int limit, uint64_t value)
{
	void *member = (char *)limits + rows[limit].offset;

	if (rows[limit].flags & WIDE)
		*(uint64_t *)member = value;
	else
		*(uint32_t *)member = value;
}

int limits_say_unknown(const char *name, const char *what, struct answer *words)
{
	const char *names[LIMITS_MAX + 1], *near;
	unsigned int i;

	for (i = 0; limits_name(i); i++)
		names[i] = limits_name(i);
	names[i] = NULL;
	near = word_near(name, names);
	return answer_say(words, -EINVAL, "%s%s%s%s (vgpud(8) has all)", what,
			  near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int limits_parse(struct limits *limits, unsigned int limit, const char *text,
		 struct answer *words)
{
	const struct row *row = &rows[limit];
	unsigned long long number;

	if (row->flags & PART && config_memory(text, row->min, row->max, &number))
		return answer_say(words, -EINVAL, "'%s' is neither a number from %llu to %llu nor a percentage of memory up to 100%%",
				  text, (unsigned long long)row->min,
				  (unsigned long long)row->max);
	if (!(row->flags & PART) &&
	    (!number_parse_size(text, &number) || number < row->min || number > row->max))
		return answer_say(words, -EINVAL, "'%s' is not a number from %llu to %llu%s", text,
				  (unsigned long long)row->min, (unsigned long long)row->max,
				  limits_in_bytes(limit) ? " (K, M, G or T may follow it)" : "");
	set(limits, limit, number);
	return 0;
}

const char *limits_text(const struct limits *limits, unsigned int limit)
{
	static char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limits_get(limits, limit));
	return text;
}

void limits_copy(struct limits *limits, unsigned int limit, const struct limits *from)
{
	set(limits, limit, limits_get(from, limit));
}

bool limits_equal(const struct limits *a, const struct limits *b)
{
	unsigned int i;

	for (i = 0; i < NR_ROWS; i++)
		if (limits_get(a, i) != limits_get(b, i))
			return false;
	return true;
}

void limits_change(struct limits *limits, const struct limits_given *given)
{
	unsigned int i;

	for (i = 0; i < NR_ROWS; i++)
		if (given->given & 1U << i)
			set(limits, i, limits_get(&given->values, i));
}
