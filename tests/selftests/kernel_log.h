/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions to search the log of this machine's kernel. */
#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

/* Commands of the kernel's syslog(), see syslog(2). */
enum { LOG_READ_ALL = 3, LOG_CLEAR = 5, LOG_SIZE = 10 };

/* Counts the lines that match the regular expression @words since the log was cleared. */
static inline int said(const char *words)
{
	int size = klogctl(LOG_SIZE, NULL, 0), len, nr = 0;
	char *text = size > 0 ? malloc(size + 1) : NULL, *rest = text, *line;
	regex_t regex;

	len = text ? klogctl(LOG_READ_ALL, text, size) : -1;
	if (len < 0 || regcomp(&regex, words, REG_NOSUB)) {
		free(text);
		return -1;
	}
	text[len] = '\0';
	while ((line = strsep(&rest, "\n")))
		nr += !regexec(&regex, line, 0, NULL, 0);
	regfree(&regex);
	free(text);
	return nr;
}

static inline bool forget_said(void)
{
	return !klogctl(LOG_CLEAR, NULL, 0);
}

#endif /* KERNEL_LOG_H */
