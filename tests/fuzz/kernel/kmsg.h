/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of errors in the kernel's log. */
#ifndef KMSG_H
#define KMSG_H

#include <stdbool.h>

#define KMSG_READERS	2

/* Begins to read the log at its end. */
bool kmsg_open(void);
/*
 * Return: the first line of a report that has come since the last call of this reader, a number
 * below KMSG_READERS; NULL: none has. Threads that read at the same time are different readers.
 */
const char *kmsg_report(unsigned int reader);

#endif /* KMSG_H */
