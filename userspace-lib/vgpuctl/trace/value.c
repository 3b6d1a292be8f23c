// SPDX-License-Identifier: MIT
/* Arguments of ioctls: values of fields, and bytes that no field has. */
#include <string.h>

#include "vgpuctl/trace/value.h"

uint64_t trace_value(const uint8_t *at, size_t size, bool is_signed)
{
	uint64_t number = 0;

	if (size > sizeof(number))
		size = sizeof(number);
	/* The machine is little-endian: the first byte is the lowest. */
	memcpy(&number, at, size);
	if (is_signed && size < sizeof(number) && at[size - 1] & 0x80)
		number |= ~0ULL << (8 * size);
	return number;
}

void trace_argument(const struct trace_call *call, const char *name,
		    struct trace_argument *argument)
{
	const struct trace_ioctl *ioctl = &call->ioctl;
	const struct trace_fields *fields = trace_fields_find(name);
	uint32_t size = _IOC_SIZE(ioctl->cmd);
	const struct trace_field *field;
	size_t i;

	memset(argument, 0, sizeof(*argument));
	/* In a 32-bit program another size is another layout; elsewhere the struct is older or newer. */
	if (fields && ioctl->compat && fields->size != size)
		fields = NULL;
	argument->in = _IOC_DIR(ioctl->cmd) != _IOC_READ;
	argument->cut = size > ioctl->len;
	for (i = 0; fields && i < fields->nr; i++) {
		field = &fields->fields[i];
		if ((size_t)field->offset + field->size > ioctl->len)
			continue;
		argument->fields[argument->nr++] = field;
		memset(argument->covered + field->offset, 1, field->size);
		if (argument->nr == TRACE_FIELDS_MAX)
			break;
	}
}

bool trace_rest(const struct trace_call *call, struct trace_argument *argument, size_t *begin,
		size_t *end)
{
	const struct trace_ioctl *ioctl = &call->ioctl;
	size_t at = argument->rest;
	bool zero;

	while (at < ioctl->len) {
		if (argument->covered[at]) {
			at++;
			continue;
		}
		*begin = at;
		for (zero = true; at < ioctl->len && !argument->covered[at]; at++)
			zero &= !ioctl->before[at] && !ioctl->after[at];
		*end = at;
		/* Among fields with names zeros are padding. */
		if (argument->nr && zero)
			continue;
		argument->rest = at;
		return true;
	}
	return false;
}
