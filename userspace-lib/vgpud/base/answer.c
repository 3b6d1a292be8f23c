// SPDX-License-Identifier: MIT
/* Messages to the person who made a request or wrote a file. */
#include <stdarg.h>
#include <stdio.h>

#include "base/answer.h"

int answer_say(struct answer *answer, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(answer->text, sizeof(answer->text), fmt, args);
	va_end(args);
	return error;
}
