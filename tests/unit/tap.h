/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test results as TAP on standard output. One result stands for a subject (a
 * message, an ioctl) with any number of single expectations; each one that is
 * not met is told on a line of its own.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/* Part of the subject at hand: counted, and told when it does not hold. Return: @ok. */
bool tap_expect(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends the subject. One with no expectation at all has failed. */
void tap_subject(const char *name);

/* Return: the program's exit status. */
int tap_done(void);

#endif /* TAP_H */
