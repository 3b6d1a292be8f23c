/* SPDX-License-Identifier: GPL-2.0-only */
/* Reports of errors in the kernel's log. */
#ifndef KMSG_H
#define KMSG_H

#include <stdbool.h>

/* Begins to read the log at its end. */
bool kmsg_open(void);
/* Return: the first line of a report that has come since the last call; NULL: none has. */
const char *kmsg_report(void);

#endif /* KMSG_H */
