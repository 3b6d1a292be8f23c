// SPDX-License-Identifier: MIT
/* Mistakes in files of exports. */
#include <stdarg.h>
#include <stdio.h>

#include "base/answer.h"
#include "reload/mistake.h"
#include "reload/plan.h"

void plan_mistake(struct text *words, struct plan_file *file, unsigned int line,
		  const char *section, const char *fmt, ...)
{
	struct answer what;
	va_list args;

	va_start(args, fmt);
	vsnprintf(what.text, sizeof(what.text), fmt, args);
	va_end(args);
	file->mistakes++;
	if (section[0])
		text_add(words, "%s:%u: [%s]: %s", file->name, line, section, what.text);
	else
		text_add(words, "%s:%u: %s", file->name, line, what.text);
}

