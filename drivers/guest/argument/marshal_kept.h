/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields with memory that devices keep. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_KEPT_H
#define VGPU_MARSHAL_KEPT_H

#include "argument/marshal_level.h"

bool vgpu_walk_can_keep(const struct vgpu_marshal *m, bool alone);
int vgpu_walk_kept(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field, u64 addr);

#endif /* VGPU_MARSHAL_KEPT_H */
