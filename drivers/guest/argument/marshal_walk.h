/* SPDX-License-Identifier: GPL-2.0-only */
/* Walk through the fields of a schema. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_WALK_H
#define VGPU_MARSHAL_WALK_H

#include "argument/marshal.h"

/* Process the fields of @body, a struct at the start of segment 0, and the memory behind them. */
int vgpu_marshal_walk(struct vgpu_marshal *m, const struct vgpu_schema_struct *body);

#endif /* VGPU_MARSHAL_WALK_H */
