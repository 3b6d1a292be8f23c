/* SPDX-License-Identifier: MIT */
/* Lines of text that are collected for somebody. */
#ifndef VGPUD_TEXT_H
#define VGPUD_TEXT_H

#include <stddef.h>

/**
 * struct text - lines
 * @lines: each ends with a newline; NULL: there are none
 * @len: bytes of them
 */
struct text {
	char *lines;
	size_t len;
};

/* Adds a line. Without memory for it there is none. */
void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Calls @log, which is one of log.h, for each line. */
void text_log(const struct text *text,
	      void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
void text_free(struct text *text);

#endif /* VGPUD_TEXT_H */
