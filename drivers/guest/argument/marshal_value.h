/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields with fds, ids and times. Private to marshal*.c. */
#ifndef VGPU_MARSHAL_VALUE_H
#define VGPU_MARSHAL_VALUE_H

#include "argument/marshal_walk.h"

int vgpu_walk_fd_in(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_field *field, int fd);
int vgpu_walk_result(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field, enum vgpu_marshal_held_kind kind);
int vgpu_walk_rdev(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field);
int vgpu_walk_pid(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		  const struct vgpu_schema_field *field);
int vgpu_walk_pids(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field);
int vgpu_walk_fd_out(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		     const struct vgpu_schema_field *field);
int vgpu_walk_time(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field, s64 time);
int vgpu_walk_stamp(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_field *field);
int vgpu_walk_clock(struct vgpu_marshal *m, u64 type);

/* Add a fixup for a result that is an fd. */
int vgpu_marshal_fd_ret(struct vgpu_marshal *m);

#endif /* VGPU_MARSHAL_VALUE_H */
