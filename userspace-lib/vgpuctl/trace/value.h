/* SPDX-License-Identifier: MIT */
/* Arguments of ioctls: values of fields, and bytes that no field has. */
#ifndef VGPUCTL_TRACE_VALUE_H
#define VGPUCTL_TRACE_VALUE_H

#include "vgpuctl/trace/fields.h"
#include "vgpuctl/trace/trace.h"

/* Most fields of one argument. */
#define TRACE_FIELDS_MAX	64

/**
 * struct trace_argument - the argument of an ioctl, taken apart
 * @in: true if the driver reads it, so that the bytes before the call have a meaning
 * @cut: true if the module has not reported all of it
 * @fields: array of the fields that were reported
 * @nr: number of entries of @fields
 * @rest: offset in bytes at which trace_rest() goes on
 * @covered: true for each byte that a field has
 */
struct trace_argument {
	bool in;
	bool cut;
	const struct trace_field *fields[TRACE_FIELDS_MAX];
	size_t nr;
	size_t rest;
	bool covered[TRACE_BYTES];
};

/* Take the argument of the ioctl @name apart. */
void trace_argument(const struct trace_call *call, const char *name,
		    struct trace_argument *argument);
/*
 * Find the next bytes [@begin, @end) that no field has, zeros among fields left out. Return: false
 * if there are no more.
 */
bool trace_rest(const struct trace_call *call, struct trace_argument *argument, size_t *begin,
		size_t *end);
/* Return an integer of @size bytes. */
uint64_t trace_value(const uint8_t *at, size_t size, bool is_signed);

#endif /* VGPUCTL_TRACE_VALUE_H */
