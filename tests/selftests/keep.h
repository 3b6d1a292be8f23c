/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings for tests of the pages that copy mode keeps: pages do not expire by time, but
 * stay until a call or an event makes them old. So a slow machine does not change results.
 */
#ifndef KEEP_H
#define KEEP_H

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

#define KEEP_EXPIRE	"/sys/module/vgpu_guest/parameters/expire_ms"

/* Return: pages do not expire by time. */
static inline bool keep_is_on(void)
{
	char line[16];

	tool_read_line(KEEP_EXPIRE, line, sizeof(line));
	return !strcmp(line, "0");
}

/* main() of such a program: it runs the tests with the setting and restores the old value. */
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
