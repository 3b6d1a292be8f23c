// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of i915's contexts: i915_drm.h. Parameters of contexts are structs whose size the
 * program states, with chains in them. They are also extensions of the creation of a context.
 */
#include "argument/schema/i915.h"
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"

#define PARAM	struct drm_i915_gem_context_param

/* --- engines -------------------------------------------------------------- */

#define ENGINE	struct i915_engine_class_instance

/*
 * PARALLEL_SUBMIT is missing: the number of engines behind it is the product of two numbers. It
 * is left to demand paging, with the rest of the chain.
 */
static const struct vgpu_schema_node engine_exts[] = {
	{ .body = VGPU_PLAIN(struct i915_context_engines_load_balance), .dir = VGPU_IN,
	  .tag = I915_CONTEXT_ENGINES_EXT_LOAD_BALANCE, .more_unit = sizeof(ENGINE),
	  .more = VGPU_FIELD(struct i915_context_engines_load_balance, num_siblings) },
	{ .body = VGPU_PLAIN(struct i915_context_engines_bond), .dir = VGPU_IN,
	  .tag = I915_CONTEXT_ENGINES_EXT_BOND, .more_unit = sizeof(ENGINE),
	  .more = VGPU_FIELD(struct i915_context_engines_bond, num_bonds) },
};

static const struct vgpu_schema_chain engine_chain = VGPU_I915_CHAIN(engine_exts);

static const struct vgpu_schema_field engines[] = {
	{ VGPU_CHAIN(struct i915_context_param_engines, extensions), .chain = &engine_chain },
};

static const struct vgpu_schema_struct the_engines =
	VGPU_STRUCT(struct i915_context_param_engines, engines);

/* --- parameters ----------------------------------------------------------- */

#ifdef I915_CONTEXT_PARAM_CONTEXT_IMAGE
static const struct vgpu_schema_struct an_image =
	VGPU_STRUCT_ONE(struct i915_gem_context_param_context_image,
			READS(struct i915_gem_context_param_context_image, image, __u8, size));
#endif

/* The value of these parameters is the address of @size bytes; others are numbers. */
#define VALUE_OF(p) \
	VGPU_PTR(PARAM, value), .dir = VGPU_INOUT, \
	.when = VGPU_WHEN_EQUAL(PARAM, param, I915_CONTEXT_PARAM_ ## p)

static const struct vgpu_schema_field context_param[] = {
	{ VALUE_OF(SSEU), .count = VGPU_FIELD(PARAM, size) },
	{ VALUE_OF(ENGINES), .stride = VGPU_FIELD(PARAM, size), .elem = &the_engines },
#ifdef I915_CONTEXT_PARAM_CONTEXT_IMAGE
	{ VALUE_OF(CONTEXT_IMAGE), .stride = VGPU_FIELD(PARAM, size), .elem = &an_image },
#endif
};

static const struct vgpu_schema_struct a_context_param = VGPU_STRUCT(PARAM, context_param);

/* --- creation ------------------------------------------------------------- */

static const struct vgpu_schema_field create_setparam[] = {
	{ VGPU_INSIDE(struct drm_i915_gem_context_create_ext_setparam, param),
	  .elem = &a_context_param },
};

static const struct vgpu_schema_node create_exts[] = {
	{ .body = VGPU_STRUCT(struct drm_i915_gem_context_create_ext_setparam, create_setparam),
	  .dir = VGPU_IN, .tag = I915_CONTEXT_CREATE_EXT_SETPARAM },
};

static const struct vgpu_schema_chain create_chain = VGPU_I915_CHAIN(create_exts);

static const struct vgpu_schema_field context_create[] = {
	{ VGPU_CHAIN(struct drm_i915_gem_context_create_ext, extensions), .chain = &create_chain,
	  .when = VGPU_WHEN_FLAG(struct drm_i915_gem_context_create_ext, flags,
				 I915_CONTEXT_CREATE_FLAGS_USE_EXTENSIONS) },
};

static const struct vgpu_schema_ioctl context_ioctls[] = {
	/* CONTEXT_CREATE is the shorter form of this ioctl. */
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, context_create), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_CONTEXT_DESTROY) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM, context_param), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, context_param), BOOKS },
};

const struct vgpu_schema vgpu_schema_i915_context = {
	.name = "i915_context",
	VGPU_IOCTLS(context_ioctls),
	.base = &vgpu_schema_drm,
};
