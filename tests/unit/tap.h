/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test results as TAP on standard output. One result stands for a subject (a
 * message, an ioctl) with any number of expectations; each unmet one is printed
 * on a line of its own.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/* Counts an expectation of the current subject, and prints it if @ok is false. Return: @ok. */
bool tap_expect(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends the subject. A subject without any expectation has failed. */
void tap_subject(const char *name);

/* Return: the program's exit status. */
int tap_done(void);

#endif /* TAP_H */
