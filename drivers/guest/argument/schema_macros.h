/* SPDX-License-Identifier: GPL-2.0-only */
/* Macros that write the tables of schemas, see schema.h. */
#ifndef VGPU_SCHEMA_MACROS_H
#define VGPU_SCHEMA_MACROS_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#endif
#include "argument/schema.h"

#define VGPU_PLACE(t, s, member) \
	.type = (t), .offset = offsetof(s, member), .size = sizeof_field(s, member)
#define VGPU_PTR(s, member)	VGPU_PLACE(VGPU_FIELD_PTR, s, member)
#define VGPU_CHAIN(s, member)	VGPU_PLACE(VGPU_FIELD_CHAIN, s, member)
#define VGPU_UNKNOWN(s, member)	VGPU_PLACE(VGPU_FIELD_UNKNOWN, s, member)
#define VGPU_COMMAND(s, member)	VGPU_PLACE(VGPU_FIELD_COMMAND, s, member)
#define VGPU_FD_IN(s, member)	VGPU_PLACE(VGPU_FIELD_FD_IN, s, member)
#define VGPU_FD_IN_AT(at)	.type = VGPU_FIELD_FD_IN, .offset = (at), .size = sizeof(__s32)
#define VGPU_FD_OUT(s, member)	VGPU_PLACE(VGPU_FIELD_FD_OUT, s, member)
#define VGPU_USERPTR(s, member)	VGPU_PLACE(VGPU_FIELD_USERPTR, s, member)
#define VGPU_KEPT(s, member)	VGPU_PLACE(VGPU_FIELD_KEPT, s, member)
#define VGPU_LIVE(s, member)	VGPU_PLACE(VGPU_FIELD_LIVE, s, member)
#define VGPU_COPIED(s, member)	VGPU_PLACE(VGPU_FIELD_COPIED, s, member)
#define VGPU_EVENT_IN(s, member) VGPU_PLACE(VGPU_FIELD_EVENT_IN, s, member)
#define VGPU_TIME(s, member)	VGPU_PLACE(VGPU_FIELD_TIME, s, member)
#define VGPU_PLAIN_IF(s, member) VGPU_PLACE(VGPU_FIELD_PLAIN, s, member)
#define VGPU_HIDE(s, member)	VGPU_PLACE(VGPU_FIELD_HIDE, s, member)
#define VGPU_RDEV(s, member)	VGPU_PLACE(VGPU_FIELD_RDEV, s, member)
#define VGPU_PID(s, member)	VGPU_PLACE(VGPU_FIELD_PID, s, member)
#define VGPU_PIDS(s, member)	VGPU_PLACE(VGPU_FIELD_PIDS, s, member)
/* Field with a time of CLOCK_MONOTONIC in nanoseconds. */
#define VGPU_STAMP(s, member)	VGPU_PLACE(VGPU_FIELD_STAMP, s, member)
/*
 * Field with a time in two integers, @n bytes together, the first of which is @first: see
 * @unit.
 */
#define VGPU_STAMP_PARTS(s, first, n, u) \
	.type = VGPU_FIELD_STAMP, .offset = offsetof(s, first), .size = (n), .unit = (u)
#define VGPU_CHOOSE_CLOCK(s, member) VGPU_PLACE(VGPU_FIELD_CLOCK, s, member)
#define VGPU_INSIDE(s, member) \
	.type = VGPU_FIELD_STRUCT, .offset = offsetof(s, member), .size = 1
#define VGPU_RESULT_FD()	.type = VGPU_FIELD_RESULT_FD, .size = 1

#define VGPU_CONST(n)		{ .kind = VGPU_REF_CONST, .value = (n) }
#define VGPU_FIELD(s, member) \
	{ .kind = VGPU_REF_FIELD, .offset = offsetof(s, member), .size = sizeof_field(s, member) }
#define VGPU_FIELD_UP(n, s, member) \
	{ .kind = VGPU_REF_FIELD, .up = (n), .offset = offsetof(s, member), \
	  .size = sizeof_field(s, member) }
#define VGPU_TARGET(s, pointer, t, member) \
	{ .kind = VGPU_REF_TARGET, .via = offsetof(s, pointer), \
	  .offset = offsetof(t, member), .size = sizeof_field(t, member) }
#define VGPU_SUM(s, pointer, integer) \
	{ .kind = VGPU_REF_SUM, .via = offsetof(s, pointer), .size = sizeof(integer) }

#define VGPU_WHEN_BESIDE(s, pointer, integer, n) \
	{ .ref = { .kind = VGPU_REF_BESIDE, .up = 1, .via = offsetof(s, pointer), \
		   .size = sizeof(integer) }, .learned = (n) }
#define VGPU_WHEN_FLAG(s, member, flag) \
	{ .ref = VGPU_FIELD(s, member), .mask = (flag), .value = (flag) }
#define VGPU_WHEN_EQUAL(s, member, v) \
	{ .ref = VGPU_FIELD(s, member), .mask = ~0ULL, .value = (v) }
#define VGPU_WHEN_LEAST(s, member, v) \
	{ .ref = VGPU_FIELD(s, member), .mask = ~0ULL, .value = (v), .least = true }

/* Entry for a new buffer with handle @member; entry for an ioctl that returns its mmap @place. */
#define VGPU_BLANK_MADE(s, member)	{ .makes = true, .handle = VGPU_FIELD(s, member) }
#define VGPU_BLANK_PLACED(s, member, place) \
	{ .handle = VGPU_FIELD(s, member), .offset = VGPU_FIELD(s, place) }

#define VGPU_STRUCT(s, f)	{ .size = sizeof(s), .nr_fields = ARRAY_SIZE(f), .fields = (f) }
#define VGPU_PLAIN(s)		{ .size = sizeof(s) }
/* Table of one field, which is written in the entry. */
#define VGPU_ONE(...) \
	.nr_fields = 1, .fields = (const struct vgpu_schema_field[]){ __VA_ARGS__ }
#define VGPU_STRUCT_ONE(s, ...)	{ .size = sizeof(s), VGPU_ONE(__VA_ARGS__) }

/* Entry for an array of @t that the driver reads, and for one that it may fill. */
#define READS(s, pointer, t, n) \
	{ VGPU_PTR(s, pointer), .dir = VGPU_IN, .unit = sizeof(t), .count = VGPU_FIELD(s, n) }
#define FILLS(s, pointer, t, n) \
	{ VGPU_PTR(s, pointer), .dir = VGPU_INOUT, .unit = sizeof(t), .count = VGPU_FIELD(s, n) }

/* Ioctls that only query, or only change the driver's bookkeeping. */
#define BOOKS	.flags = VGPU_IOCTL_NO_MAPPED
/* Structs with longs or pointers, which are different for 32-bit programs. */
#define LONGS	.flags = VGPU_IOCTL_NATIVE
#define BOTH	.flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_NATIVE

/*
 * Entry for an ioctl whose argument is plain data, or has the fields of a table; the argument has
 * the size of the command.
 */
#define VGPU_IOCTL(c)		.cmd = (c), .name = #c, .body = { .size = _IOC_SIZE(c) }
#define VGPU_IOCTL_WITH(c, f)	.cmd = (c), .name = #c, \
	.body = { .size = _IOC_SIZE(c), .nr_fields = ARRAY_SIZE(f), .fields = (f) }
/* The same for an argument with one field, which is written in the entry. */
#define VGPU_IOCTL_ONE(c, ...)	.cmd = (c), .name = #c, \
	.body = { .size = _IOC_SIZE(c), VGPU_ONE(__VA_ARGS__) }
/* The same for an argument of struct @s, if the command has no size or that of an older struct. */
#define VGPU_IOCTL_OF(c, s)	.cmd = (c), .name = #c, .body = VGPU_PLAIN(s)
#define VGPU_IOCTL_WITH_OF(c, s, f) .cmd = (c), .name = #c, .body = VGPU_STRUCT(s, f)
#define VGPU_IOCTL_NO_ARG(c)	.cmd = (c), .name = #c, .arg = VGPU_ARG_VALUE
#define VGPU_IOCTL_FD(c)	.cmd = (c), .name = #c, .arg = VGPU_ARG_FD
#define VGPU_IOCTL_MAP(c, m)	.cmd = (c), .name = #c, .arg = VGPU_ARG_MAP, \
	.body = { .size = _IOC_SIZE(c) }, .map = (m)
#define VGPU_IOCTL_REFUSE(c, e)	.cmd = (c), .name = #c, .arg = VGPU_ARG_REFUSED, \
	.body = { .size = _IOC_SIZE(c) }, .error = (e)

/* Table of all ioctls of a schema, and the one that is searched first for 32-bit programs. */
#define VGPU_IOCTLS(t)	.ioctls = (t), .nr_ioctls = ARRAY_SIZE(t)
#define VGPU_COMPAT(t)	.compat = (t), .nr_compat = ARRAY_SIZE(t)

#endif /* VGPU_SCHEMA_MACROS_H */
