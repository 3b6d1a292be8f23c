/* SPDX-License-Identifier: MIT */
/*
 * Fields of ioctls' arguments by name. The compiler takes offsets and sizes from the kernel's own
 * headers, so a name is never beside its field. Members that the headers of Linux 6.1 lack are left
 * out or stand behind #ifdef: bytes without a name are printed in hexadecimal.
 */
#ifndef VGPUCTL_TRACE_FIELDS_H
#define VGPUCTL_TRACE_FIELDS_H

#include <linux/ioctl.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
	TRACE_KIND_UNSIGNED,
	TRACE_KIND_SIGNED,
	TRACE_KIND_HEX,		/* addresses and flags */
	TRACE_KIND_STRING,	/* bytes that end with a 0, or with the field */
	TRACE_KIND_ARRAY,	/* unsigned integers */
};

/**
 * struct trace_field - a field of an ioctl's argument
 * @name: name in the kernel's header
 * @offset: offset in bytes
 * @size: size in bytes, of all elements of an array
 * @unit: size of an element of an array in bytes
 * @kind: how to print it
 */
struct trace_field {
	const char *name;
	uint16_t offset;
	uint16_t size;
	uint16_t unit;
	enum trace_kind kind;
};

/**
 * struct trace_fields - the fields that are known of an ioctl's argument
 * @name: name of the ioctl; NULL ends a table
 * @size: size of the argument in bytes; 0: any
 * @fields: array of fields
 * @nr: number of entries of @fields
 */
struct trace_fields {
	const char *name;
	size_t size;
	const struct trace_field *fields;
	size_t nr;
};

#define TRACE_MEMBER(s, m)	(((s *)NULL)->m)
/* -1 of an unsigned type is not less than 1. */
#define TRACE_IS_SIGNED(s, m) \
	((__typeof__(TRACE_MEMBER(s, m)))-1 < (__typeof__(TRACE_MEMBER(s, m)))1)
#define TRACE_PLACE(s, m, u, k) \
	{ .name = #m, .offset = offsetof(s, m), .size = sizeof(TRACE_MEMBER(s, m)), .unit = (u), \
	  .kind = (k) }

#define TRACE_NUMBER(s, m) \
	TRACE_PLACE(s, m, 0, TRACE_IS_SIGNED(s, m) ? TRACE_KIND_SIGNED : TRACE_KIND_UNSIGNED)
#define TRACE_HEX(s, m)		TRACE_PLACE(s, m, 0, TRACE_KIND_HEX)
#define TRACE_STRING(s, m)	TRACE_PLACE(s, m, 0, TRACE_KIND_STRING)
#define TRACE_ARRAY(s, m)	TRACE_PLACE(s, m, sizeof(TRACE_MEMBER(s, m)[0]), TRACE_KIND_ARRAY)

#define TRACE_FIELDS(ioctl, table) \
	{ #ioctl, _IOC_SIZE(ioctl), table, sizeof(table) / sizeof((table)[0]) }

extern const struct trace_fields trace_fields_drm[], trace_fields_drm_mode[],
	trace_fields_virtio_gpu[], trace_fields_nouveau[], trace_fields_v4l2[],
	trace_fields_sound[], trace_fields_nvidia[];

/* Find the fields of an ioctl's argument by the ioctl's name. Return: NULL if none are known. */
const struct trace_fields *trace_fields_find(const char *name);

#endif /* VGPUCTL_TRACE_FIELDS_H */
