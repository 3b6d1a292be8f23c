/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that the tables of schemas name, and conditions on these: a part of schema.h. */
#ifndef VGPU_SCHEMA_NUMBER_H
#define VGPU_SCHEMA_NUMBER_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "wire_user.h"
#endif

enum vgpu_schema_ref_kind {
	VGPU_REF_NONE,		/* no number */
	VGPU_REF_CONST,		/* @value */
	VGPU_REF_FIELD,		/* an integer of the struct */
	VGPU_REF_TARGET,	/* an integer in the memory of a pointer of the struct */
	VGPU_REF_SUM,		/* sum of all integers in the memory of a pointer */
	VGPU_REF_BESIDE,	/* integer at this struct's index in that memory */
};

/**
 * struct vgpu_schema_ref - place of a number
 * @kind: enum vgpu_schema_ref_kind
 * @up: number of levels to go up to the struct: 0: the struct of the field, 1: the struct whose
 *	pointer led to that, and so on
 * @size: size of the integer: 1, 2, 4 or 8 bytes
 * @offset: offset of the integer; FIELD: in the struct, TARGET: in the memory
 * @via: TARGET, SUM, BESIDE: offset of the pointer in the struct; the pointer's field stands
 *	earlier in the table
 * @value: CONST: the number
 */
struct vgpu_schema_ref {
	u8 kind;
	u8 up;
	u8 size;
	u16 offset;
	u16 via;
	u32 value;
};

/* Maximum number of names whose numbers a schema learns, as a device assigns them at run time. */
#define VGPU_LEARNED_MAX	4

/**
 * struct vgpu_schema_learned - numbers that were learned from one device
 * @number: number of each name; 0: not learned yet. Written once, or again with the same value;
 *	read without a lock
 */
struct vgpu_schema_learned {
	u32 number[VGPU_LEARNED_MAX];
};

/**
 * struct vgpu_schema_lesson - ioctl that returns the name of a number
 * @number: offset of the number in the argument, 4 bytes
 * @name: offset of the name in the argument after the call
 * @name_len: size of the name's buffer in bytes
 * @names: names to learn, VGPU_LEARNED_MAX at most, terminated by NULL
 */
struct vgpu_schema_lesson {
	u16 number;
	u16 name;
	u16 name_len;
	const char *const *names;
};

/**
 * struct vgpu_schema_when - condition: (@ref & @mask) == @value
 * @ref: place of the number; NONE: the condition always holds
 * @mask: bits of the number that are compared
 * @value: value to compare with
 * @least: true if the condition is (@ref & @mask) >= @value
 * @learned: not 0: index of a learned name, from 1; the condition is that @ref equals its
 *	number
 *
 * Alternatives are fields with the same offset and different conditions: a tag says what a
 * pointer means, or a flag says whether it means anything.
 */
struct vgpu_schema_when {
	struct vgpu_schema_ref ref;
	u64 mask;
	u64 value;
	bool least;
	u8 learned;
};

#endif /* VGPU_SCHEMA_NUMBER_H */
