/* SPDX-License-Identifier: MIT */
/*
 * Messages to the person who made a request or wrote a file: a single one (struct answer), or text
 * of many lines (struct text). request/json.h makes the JSON objects that answer a request.
 */
#ifndef VGPUD_ANSWER_H
#define VGPUD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct answer - a message
 * @text: words of the message, without a newline
 */
struct answer {
	char text[320];
};

/**
 * answer_say - format a message
 * @answer: the message
 * @error: negative errno that the message explains
 * @fmt: format of printf(); a message that is too long is cut off
 *
 * Return: @error.
 */
int answer_say(struct answer *answer, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * struct text - lines of text
 * @lines: lines, each with a newline at its end; NULL: none
 * @len: length of @lines in bytes
 * @lost: true if there was no memory for a line, which is not in @lines then
 */
struct text {
	char *lines;
	size_t len;
	bool lost;
};

/*
 * Add a line. If there is no memory, the line is lost: what it says must not depend on @lines alone.
 */
void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Call @log, a function of log.h, for each line, and to say that lines were lost. */
void text_log(const struct text *text,
	      void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
void text_free(struct text *text);

#endif /* VGPUD_ANSWER_H */
