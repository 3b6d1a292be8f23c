/* SPDX-License-Identifier: MIT */
/* Text that is collected line by line. */
#ifndef VGPUD_TEXT_H
#define VGPUD_TEXT_H

#include <stddef.h>

/**
 * struct text - lines of text
 * @lines: lines, each with a newline at its end; NULL: none
 * @len: length of @lines in bytes
 */
struct text {
	char *lines;
	size_t len;
};

/* Add a line. It is left out if there is no memory. */
void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Call @log, a function of log.h, for each line. */
void text_log(const struct text *text,
	      void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
void text_free(struct text *text);

#endif /* VGPUD_TEXT_H */
