/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Races that are met each time: the first call of a function of the kernel or of a module is
 * stopped until the test lets it go on (tests/mock/slow.c).
 */
#ifndef VGPU_SLOW_H
#define VGPU_SLOW_H

#include "tool.h"

#define SLOW_PARAMETERS	"/sys/module/vgpu_slow/parameters/"

/* Whether this kernel has kprobes, and no processor that looks where calls lead. */
static inline bool slow_can(void)
{
	return !tool_run("grep -qw register_kprobe /proc/kallsyms && "
			 "! grep -qw ibt /proc/cpuinfo")->status;
}

/*
 * @more: other parameters of the module. With null=1 the call gives NULL, as one that gets no
 * memory, with error=N it gives -N; with go=1 it is not stopped before.
 */
static inline bool slow_start_with(const char *function, const char *more)
{
	/* A test that failed may have left it. */
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

/* Whether a call is stopped, or was. */
static inline bool slow_waits(void)
{
	char line[64];

	tool_read_line(SLOW_PARAMETERS "waits", line, sizeof(line));
	return line[0] == 'Y';
}

#define SLOW_GO	SLOW_PARAMETERS "go"

#endif /* VGPU_SLOW_H */
