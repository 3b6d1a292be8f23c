/* SPDX-License-Identifier: GPL-2.0-only */
/* Levels of a walk through nested structs. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_LEVEL_H
#define VGPU_MARSHAL_LEVEL_H

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

bool vgpu_walk_get(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   u32 offset, u8 size, u64 *value);
bool vgpu_walk_number(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		      const struct vgpu_schema_ref *ref, u64 *value);
bool vgpu_walk_when(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_when *when);

/* Note that the driver may read memory that no schema describes. */
static inline int vgpu_walk_leave_raw(struct vgpu_marshal *m)
{
	m->raw = true;
	return 0;
}

/* Ignore errors after which the pointer can stay unchanged. */
static inline int vgpu_walk_leave(struct vgpu_marshal *m, int error)
{
	return error == -EFAULT || error == -E2BIG ? vgpu_walk_leave_raw(m) : error;
}

#endif /* VGPU_MARSHAL_LEVEL_H */
