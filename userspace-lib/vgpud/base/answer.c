// SPDX-License-Identifier: MIT
/* Messages to the person who made a request or wrote a file: single ones, or text of many lines. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"

int answer_say(struct answer *answer, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(answer->text, sizeof(answer->text), fmt, args);
	va_end(args);
	return error;
}

void text_add(struct text *text, const char *fmt, ...)
{
	char *line = NULL, *larger;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&line, fmt, args);
	va_end(args);
	if (len < 0) {
		text->lost = true;
		return;
	}
	larger = realloc(text->lines, text->len + len + 2);
	if (larger) {
		text->lines = larger;
		memcpy(larger + text->len, line, len);
		text->len += len;
		memcpy(larger + text->len++, "\n", 2);
	} else {
		text->lost = true;
	}
	free(line);
}

void text_log(const struct text *text, void (*log)(const char *fmt, ...))
{
	const char *line = text->lines, *end;

	for (; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		log("%.*s", (int)(end - line), line);
	}
	if (text->lost)
		log("out of memory: lines are missing here");
}

void text_free(struct text *text)
{
	free(text->lines);
	*text = (struct text) { 0 };
}
