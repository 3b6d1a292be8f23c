/* SPDX-License-Identifier: GPL-2.0-only */
/* Walk through the fields of a schema. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_WALK_H
#define VGPU_MARSHAL_WALK_H

#include "argument/marshal.h"

/**
 * struct vgpu_walk_level - struct whose fields are being processed
 * @up: struct whose pointer led here; NULL: this is the argument
 * @body: fields of the argument; set only in the argument's level
 * @seg: index of the segment that holds the struct
 * @base: offset of the struct in the segment
 * @len: number of bytes of the struct that are there; bytes behind them count as zero
 * @index: index of the struct in its array
 * @depth: number of structs above it
 */
struct vgpu_walk_level {
	const struct vgpu_walk_level *up;
	const struct vgpu_schema_struct *body;
	u16 seg;
	u32 base;
	u32 len;
	u32 index;
	u8 depth;
};

/* Process the fields of @body, a struct at the start of segment 0, and the memory behind them. */
int vgpu_marshal_walk(struct vgpu_marshal *m, const struct vgpu_schema_struct *body);

#endif /* VGPU_MARSHAL_WALK_H */
