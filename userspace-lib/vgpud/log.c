// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "log.h"
#include "loop.h"

#define GUEST_LINES	10
#define GUEST_PERIOD_MS	60000

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

	vsnprintf(line, sizeof(line), fmt, args);
	/* One write a line: a child that fails to start logs here as well. */
	if (journal)
		dprintf(2, "<%d>%s\n", priority, line);
	else
		dprintf(2, "vgpud: %s\n", line);
	errno = saved;
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

void log_debug(const char *fmt, ...)
{
	va_list args;

	if (!debug)
		return;
	va_start(args, fmt);
	log_line(LOG_DEBUG, fmt, args);
	va_end(args);
}

void log_guest(const char *fmt, ...)
{
	static uint64_t period_start;
	static unsigned int lines, dropped;
	uint64_t now = now_ms();
	va_list args;

	if (now - period_start >= GUEST_PERIOD_MS) {
		if (dropped)
			log_info("%u lines about guests were left out", dropped);
		period_start = now;
		lines = dropped = 0;
	}
	if (lines++ >= GUEST_LINES) {
		dropped++;
		return;
	}
	va_start(args, fmt);
	log_line(LOG_NOTICE, fmt, args);
	va_end(args);
}
