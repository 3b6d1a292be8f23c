// SPDX-License-Identifier: GPL-2.0-only
/* Prints test results as TAP on standard output. */
#include <stdarg.h>
#include <stdio.h>

#include "tap.h"

static unsigned int tests, failed;
static unsigned int expected, unmet;	/* counts of the current subject */

bool tap_expect(bool ok, const char *fmt, ...)
{
	va_list ap;

	expected++;
	if (ok)
		return true;
	unmet++;
	printf("# not met: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return false;
}

void tap_subject(const char *name)
{
	bool ok = expected && !unmet;

	tests++;
	if (!ok)
		failed++;
	printf("%sok %u - %s (%u expectations)\n", ok ? "" : "not ", tests, name, expected);
	expected = 0;
	unmet = 0;
}

int tap_done(void)
{
	printf("1..%u\n", tests);
	return failed || !tests ? 1 : 0;
}
