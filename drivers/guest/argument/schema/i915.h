/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the tables of i915 share. */
#ifndef VGPU_SCHEMA_I915_H
#define VGPU_SCHEMA_I915_H

#include "argument/schema.h"
#include "argument/schema_uapi.h"

/* Extensions of all ioctls have the same head; the possible ones depend on the ioctl. */
#define VGPU_I915_CHAIN(n) { \
	.head = sizeof(struct i915_user_extension), \
	.next = offsetof(struct i915_user_extension, next_extension), \
	.tag = offsetof(struct i915_user_extension, name), \
	.tag_size = sizeof_field(struct i915_user_extension, name), \
	.max = 16, \
	.nr_nodes = ARRAY_SIZE(n), \
	.nodes = (n), \
}

/* Schema of contexts. */
extern const struct vgpu_schema vgpu_schema_i915_context;

#endif /* VGPU_SCHEMA_I915_H */
