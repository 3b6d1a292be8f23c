/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of what copy mode keeps: it keeps pages until a call or an event says that
 * they are old, and not for a time only, so that a slow machine changes nothing.
 */
#ifndef KEEP_H
#define KEEP_H

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

#define KEEP_EXPIRE	"/sys/module/vgpu_guest/parameters/expire_ms"

/* Whether pages are kept for as long as no call is made. */
static inline bool keep_is_on(void)
{
	char line[16];

	tool_read_line(KEEP_EXPIRE, line, sizeof(line));
	return !strcmp(line, "0");
}

/* The tests of this program run with the setting, which is afterwards as before. */
#define KEEP_MAIN							\
int main(int argc, char **argv)						\
{									\
	char before[16];						\
	int status = KSFT_FAIL;						\
	bool set;							\
	pid_t pid;							\
									\
	tool_read_line(KEEP_EXPIRE, before, sizeof(before));		\
	set = before[0] && tool_write(KEEP_EXPIRE, "0");		\
	pid = fork();							\
	if (!pid)							\
		return test_harness_run(argc, argv);			\
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||		\
	    (set && !tool_write(KEEP_EXPIRE, before)))			\
		return KSFT_FAIL;					\
	return WIFEXITED(status) ? WEXITSTATUS(status) : KSFT_FAIL;	\
}

#endif /* KEEP_H */
