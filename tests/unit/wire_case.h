/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table-driven tests of the codec: each case changes one place of a valid message
 * and says whether the message must still be accepted.
 */
#ifndef WIRE_CASE_H
#define WIRE_CASE_H

#include "wire_sample.h"

/**
 * struct wire_case - one change of a sample
 * @what: description of the change
 * @offset: offset of the place in bytes
 * @size: size of the place in bytes
 * @value: new value of the place
 * @ok: true if the message must be accepted, else it must be refused
 */
struct wire_case {
	const char *what;
	u32 offset;
	u32 size;
	u64 value;
	bool ok;
};

#define CASE_AT(what, base, type, field, value, ok) \
	{ what " " #field "=" #value, (base) + offsetof(struct type, field), \
	  sizeof(((struct type *)NULL)->field), (u64)(value), ok }

#define GOOD(type, field, value)	CASE_AT("", 0, type, field, value, true)
#define BAD(type, field, value)		CASE_AT("", 0, type, field, value, false)

/* Cases for segment @i of a call, fixup @j of a call with @n segments, object @i of a reply. */
#define SEG_CASE(i, field, value, ok) \
	CASE_AT("seg " #i, sizeof(struct vgpu_call) + (i) * sizeof(struct vgpu_seg), \
		vgpu_seg, field, value, ok)
#define FIXUP_CASE(n, j, field, value, ok) \
	CASE_AT("fixup " #j, sizeof(struct vgpu_call) + (n) * sizeof(struct vgpu_seg) + \
		(j) * sizeof(struct vgpu_fixup), vgpu_fixup, field, value, ok)
#define OBJECT_CASE(i, field, value, ok) \
	CASE_AT("object " #i, sizeof(struct vgpu_reply) + \
		(i) * sizeof(struct vgpu_object_desc), vgpu_object_desc, field, value, ok)
#define BYTE_CASE(what, offset, value, ok)	{ what, offset, 1, value, ok }

/*
 * Copies @len bytes to memory of that size, and calls the check function for their
 * type. @answers: for a reply, the name of its call's sample.
 */
int wire_case_check(const void *msg, u32 len, const char *answers,
		    const struct vgpu_wire_limits *limits);

/* Checks the sample itself and then each case, as one test result. */
void wire_case_run(const char *sample, const struct wire_case *cases, u32 nr);

#define WIRE_CASES(sample, cases)	wire_case_run(sample, cases, ARRAY_SIZE(cases))

#endif /* WIRE_CASE_H */
