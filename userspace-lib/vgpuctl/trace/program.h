/* SPDX-License-Identifier: MIT */
/* Guests and their programs, for calls that a host's module reports. */
#ifndef VGPUCTL_TRACE_PROGRAM_H
#define VGPUCTL_TRACE_PROGRAM_H

#include "vgpuctl/trace/trace.h"
#include "vgpuctl/vgpuctl.h"

struct trace_programs;

/*
 * Ask vgpud about the programs of the guest that --to or @word names, or of all guests if neither
 * does. @uid: user of the guest's shadows, set for one guest. Errors are printed. Return: 0 or an
 * exit status.
 */
int trace_programs_open(const struct options *options, const char *word,
			struct trace_programs **programs, uint32_t *uid);
/* Replace the shadow in a call by the guest's program, if vgpud knows it. @all: name the guest. */
void trace_programs_name(struct trace_programs *programs, struct trace_call *call, bool all);
void trace_programs_close(struct trace_programs *programs);

#endif /* VGPUCTL_TRACE_PROGRAM_H */
