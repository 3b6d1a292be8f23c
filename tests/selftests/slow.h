/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions for reproducible races: the first call of a function of the kernel or of a module
 * is stopped until the test lets the call go on (tests/mock/slow.c).
 */
#ifndef VGPU_SLOW_H
#define VGPU_SLOW_H

#include "tool.h"

#define SLOW_PARAMETERS	"/sys/module/vgpu_slow/parameters/"

/* Return: the kernel has kprobes, and the processor has no indirect branch tracking. */
static inline bool slow_can(void)
{
	return !tool_run("grep -qw register_kprobe /proc/kallsyms && "
			 "! grep -qw ibt /proc/cpuinfo")->status;
}

/*
 * Loads vgpu_slow for @function. @more holds other parameters of the module: null=1 makes the call
 * return NULL, as without memory; error=N makes it return -N; go=1 keeps it from being stopped;
 * comm=NAME counts only calls of tasks with this name; skip=N lets N calls pass before.
 */
static inline bool slow_start_with(const char *function, const char *more)
{
	/* A test that failed may have left the module loaded. */
	tool_run("modprobe -qr vgpu_slow");
	return !tool_run("modprobe vgpu_slow symbol=%s %s", function, more)->status;
}

static inline bool slow_start(const char *function)
{
	return slow_start_with(function, "");
}

static inline bool slow_stop(void)
{
	return !tool_run("modprobe -r vgpu_slow")->status;
}

/* Return: a call is stopped, or was stopped. */
static inline bool slow_waits(void)
{
	char line[64];

	tool_read_line(SLOW_PARAMETERS "waits", line, sizeof(line));
	return line[0] == 'Y';
}

#define SLOW_GO	SLOW_PARAMETERS "go"

#endif /* VGPU_SLOW_H */
