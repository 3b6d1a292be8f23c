// SPDX-License-Identifier: MIT
/* The log: lines go to stderr, and lines that guests can cause are limited. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "shared/log.h"
#include "shared/loop.h"

#define LIMIT_PERIOD_MS	10000

static bool journal;
static bool debug;

void log_init(bool with_debug)
{
	journal = getenv("JOURNAL_STREAM") != NULL;
	debug = with_debug;
}

static void __attribute__((format(printf, 2, 0)))
log_line(int priority, const char *fmt, va_list args)
{
	char line[512];
	int saved = errno;

	if (priority == LOG_DEBUG && !debug)
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	/* Write a line by one call: a child that fails to start writes to the same file. */
	if (journal)
		dprintf(2, "<%d>%s\n", priority, line);
	else
		dprintf(2, "vgpud: %s\n", line);
	errno = saved;
}

static void __attribute__((format(printf, 2, 3)))
log_text(int priority, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line(priority, fmt, args);
	va_end(args);
}

#define DEFINE_LOG(name, priority)			\
void log_##name(const char *fmt, ...)			\
{							\
	va_list args;					\
							\
	va_start(args, fmt);				\
	log_line(priority, fmt, args);			\
	va_end(args);					\
}

DEFINE_LOG(error, LOG_ERR)
DEFINE_LOG(warning, LOG_WARNING)
DEFINE_LOG(info, LOG_INFO)
DEFINE_LOG(debug, LOG_DEBUG)

/*
 * Find the slot of a guest, or take a free one. Slots in use are not given to other guests,
 * however many guests there are. A guest has at most LOG_PORTS slots, however many ports it
 * uses.
 */
static struct log_slot *log_slot(struct log_limit *limit, uint32_t cid, uint32_t port, uint64_t now)
{
	struct log_slot *slot, *unused = NULL, *of_guest = NULL;
	unsigned int nr = 0;

	for (slot = limit->guests; slot < limit->guests + LOG_GUESTS; slot++) {
		if (slot->start && slot->cid == cid && slot->port == port)
			return slot;
		if (!slot->start || now - slot->start >= LIMIT_PERIOD_MS) {
			if (!unused)
				unused = slot;
		} else if (slot->cid == cid) {
			of_guest = slot;
			nr++;
		}
	}
	if (nr >= LOG_PORTS)
		return of_guest;
	if (!unused)
		return &limit->others;
	*unused = (struct log_slot){ .cid = cid, .port = port };
	return unused;
}

/* Find the slot of a guest, as log_slot(), and begin its next period if it is time. */
static struct log_slot *log_slot_now(struct log_limit *limit, uint32_t cid, uint32_t port)
{
	uint64_t now = now_ms();
	struct log_slot *slot = log_slot(limit, cid, port, now);

	if (!slot->start || now - slot->start >= LIMIT_PERIOD_MS) {
		slot->start = now;
		slot->lines = 0;
	}
	return slot;
}

bool log_has_room(struct log_limit *limit, uint32_t cid, uint32_t port)
{
	struct log_slot *slot = log_slot_now(limit, cid, port);

	if (slot->lines < limit->burst)
		return true;
	slot->dropped++;
	return false;
}

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority,
		const char *fmt, ...)
{
	struct log_slot *slot = log_slot_now(limit, cid, port);
	char line[480];
	va_list args;

	if (slot->lines++ >= limit->burst) {
		slot->dropped++;
		return;
	}
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (slot->dropped)
		log_text(priority, "%s (%u similar messages were left out)", line, slot->dropped);
	else
		log_text(priority, "%s", line);
	slot->dropped = 0;
}
