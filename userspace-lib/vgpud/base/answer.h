/* SPDX-License-Identifier: MIT */
/* Messages to the person who made a request or wrote a file. */
#ifndef VGPUD_ANSWER_H
#define VGPUD_ANSWER_H

/**
 * struct answer - a message
 * @text: words of the message, without a newline
 */
struct answer {
	char text[256];
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

#endif /* VGPUD_ANSWER_H */
