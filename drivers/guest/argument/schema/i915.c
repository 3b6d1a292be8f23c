// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of i915: i915_drm.h, without contexts (schema/i915_context.c); other ioctls are DRM
 * core's.
 */
#include "argument/schema/i915.h"
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"

/* --- GETPARAM ------------------------------------------------------------- */

static const struct vgpu_schema_field getparam[] = {
	{ VGPU_PTR(struct drm_i915_getparam, value), .dir = VGPU_OUT, .unit = sizeof(int) },
};

struct i915_getparam32 {
	__s32 param;
	__u32 value;
};

#define DRM_IOCTL_I915_GETPARAM32 \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_I915_GETPARAM, struct i915_getparam32)

static const struct vgpu_schema_field getparam32[] = {
	{ VGPU_PTR(struct i915_getparam32, value), .dir = VGPU_OUT, .unit = sizeof(int) },
};

/* --- GEM_MMAP ------------------------------------------------------------- */

static const struct vgpu_schema_map_mode gem_mmap_modes[] = {
	{ 0, I915_MMAP_OFFSET_WB },
	{ I915_MMAP_WC, I915_MMAP_OFFSET_WC },
};

/* Newer devices do not support this ioctl, and fail with EOPNOTSUPP. */
static const struct vgpu_schema_map gem_mmap = {
	.cmd = DRM_IOCTL_I915_GEM_MMAP,
	.handle = VGPU_FIELD(struct drm_i915_gem_mmap, handle),
	.offset = VGPU_FIELD(struct drm_i915_gem_mmap, offset),
	.size = VGPU_FIELD(struct drm_i915_gem_mmap, size),
	.mode = VGPU_FIELD(struct drm_i915_gem_mmap, flags),
	.addr = VGPU_FIELD(struct drm_i915_gem_mmap, addr_ptr),
	.place_cmd = DRM_IOCTL_I915_GEM_MMAP_OFFSET,
	.place_handle = VGPU_FIELD(struct drm_i915_gem_mmap_offset, handle),
	.place_mode = VGPU_FIELD(struct drm_i915_gem_mmap_offset, flags),
	.place = VGPU_FIELD(struct drm_i915_gem_mmap_offset, offset),
	.nr_modes = ARRAY_SIZE(gem_mmap_modes),
	.modes = gem_mmap_modes,
};

/* --- EXECBUFFER2 ---------------------------------------------------------- */

#define EXEC	struct drm_i915_gem_execbuffer2
#define OBJECT	struct drm_i915_gem_exec_object2
#define FENCES	struct drm_i915_gem_execbuffer_ext_timeline_fences

/* The driver writes back the addresses of objects, and those it used in relocations. */
static const struct vgpu_schema_field exec_object[] = {
	FILLS(OBJECT, relocs_ptr, struct drm_i915_gem_relocation_entry, relocation_count),
};

static const struct vgpu_schema_struct an_exec_object = VGPU_STRUCT(OBJECT, exec_object);

static const struct vgpu_schema_field timeline_fences[] = {
	READS(FENCES, handles_ptr, struct drm_i915_gem_exec_fence, fence_count),
	READS(FENCES, values_ptr, __u64, fence_count),
};

static const struct vgpu_schema_node exec_exts[] = {
	{ .body = VGPU_STRUCT(FENCES, timeline_fences), .dir = VGPU_IN,
	  .tag = DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES },
};

static const struct vgpu_schema_chain exec_chain = VGPU_I915_CHAIN(exec_exts);

/* Arrays of fences use the field of the old clip rectangles; fds of fences are in rsvd2. */
#define FENCE_FD(t, half, flag) \
	.type = (t), .size = sizeof(__u32), .offset = offsetof(EXEC, rsvd2) + 4 * (half), \
	.when = VGPU_WHEN_FLAG(EXEC, flags, flag)

static const struct vgpu_schema_field execbuffer2[] = {
	{ VGPU_PTR(EXEC, buffers_ptr), .dir = VGPU_INOUT, .elem = &an_exec_object,
	  .count = VGPU_FIELD(EXEC, buffer_count) },
	{ VGPU_CHAIN(EXEC, cliprects_ptr), .chain = &exec_chain,
	  .when = VGPU_WHEN_FLAG(EXEC, flags, I915_EXEC_USE_EXTENSIONS) },
	{ VGPU_PTR(EXEC, cliprects_ptr), .dir = VGPU_IN,
	  .unit = sizeof(struct drm_i915_gem_exec_fence),
	  .count = VGPU_FIELD(EXEC, num_cliprects),
	  .when = VGPU_WHEN_FLAG(EXEC, flags, I915_EXEC_FENCE_ARRAY) },
	{ FENCE_FD(VGPU_FIELD_FD_IN, 0, I915_EXEC_FENCE_IN) },
	{ FENCE_FD(VGPU_FIELD_FD_IN, 0, I915_EXEC_FENCE_SUBMIT) },
	{ FENCE_FD(VGPU_FIELD_FD_OUT, 1, I915_EXEC_FENCE_OUT) },
};

/* --- memory --------------------------------------------------------------- */

static const struct vgpu_schema_field memory_regions[] = {
	READS(struct drm_i915_gem_create_ext_memory_regions, regions,
	      struct drm_i915_gem_memory_class_instance, num_regions),
};

static const struct vgpu_schema_node create_exts[] = {
	{ .body = VGPU_STRUCT(struct drm_i915_gem_create_ext_memory_regions, memory_regions),
	  .dir = VGPU_IN, .tag = I915_GEM_CREATE_EXT_MEMORY_REGIONS },
	{ .body = VGPU_PLAIN(struct drm_i915_gem_create_ext_protected_content),
	  .dir = VGPU_IN, .tag = I915_GEM_CREATE_EXT_PROTECTED_CONTENT },
#ifdef I915_GEM_CREATE_EXT_SET_PAT
	{ .body = VGPU_PLAIN(struct drm_i915_gem_create_ext_set_pat),
	  .dir = VGPU_IN, .tag = I915_GEM_CREATE_EXT_SET_PAT },
#endif
};

static const struct vgpu_schema_chain create_chain = VGPU_I915_CHAIN(create_exts);

static const struct vgpu_schema_field create_ext[] = {
	{ VGPU_CHAIN(struct drm_i915_gem_create_ext, extensions), .chain = &create_chain },
};

/* The driver clears the memory of new buffers. */
static const struct vgpu_schema_blank gem_create =
	VGPU_BLANK_MADE(struct drm_i915_gem_create, handle);

static const struct vgpu_schema_blank gem_create_ext =
	VGPU_BLANK_MADE(struct drm_i915_gem_create_ext, handle);

static const struct vgpu_schema_blank gem_mmap_offset =
	VGPU_BLANK_PLACED(struct drm_i915_gem_mmap_offset, handle, offset);

/* --- queries and counters ------------------------------------------------- */

#define CONFIG	struct drm_i915_perf_oa_config
#define ITEM	struct drm_i915_query_item

/* Field of pairs of a register and its value. */
#define REGS(d, name) \
	{ VGPU_PTR(CONFIG, name ## _regs_ptr), .dir = (d), .unit = 2 * sizeof(__u32), \
	  .count = VGPU_FIELD(CONFIG, n_ ## name ## _regs) }

static const struct vgpu_schema_field add_config[] = {
	REGS(VGPU_IN, mux),
	REGS(VGPU_IN, boolean),
	REGS(VGPU_IN, flex),
};

static const struct vgpu_schema_field get_config[] = {
	REGS(VGPU_INOUT, mux),
	REGS(VGPU_INOUT, boolean),
	REGS(VGPU_INOUT, flex),
};

static const struct vgpu_schema_struct a_config = VGPU_STRUCT(CONFIG, get_config);

/* Query for one configuration, which follows the id of the configuration. */
static const struct vgpu_schema_field config_query[] = {
	{ .type = VGPU_FIELD_STRUCT, .size = 1,
	  .offset = sizeof(struct drm_i915_query_perf_config), .elem = &a_config,
	  .when = { .ref = VGPU_FIELD_UP(1, ITEM, query_id), .mask = ~0ULL,
		    .value = DRM_I915_QUERY_PERF_CONFIG } },
};

static const struct vgpu_schema_struct a_config_query = {
	.size = sizeof(struct drm_i915_query_perf_config) + sizeof(CONFIG),
	.nr_fields = ARRAY_SIZE(config_query),
	.fields = config_query,
};

#define ONE_CONFIG(by) \
	{ VGPU_PTR(ITEM, data_ptr), .dir = VGPU_INOUT, .elem = &a_config_query, \
	  .stride = VGPU_FIELD(ITEM, length), \
	  .when = VGPU_WHEN_EQUAL(ITEM, flags, DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_ ## by) }

/* Programs query the length first, without room. */
static const struct vgpu_schema_field query_item[] = {
	ONE_CONFIG(UUID),
	ONE_CONFIG(ID),
	FILLS(ITEM, data_ptr, __u8, length),
};

static const struct vgpu_schema_struct a_query_item = VGPU_STRUCT(ITEM, query_item);

static const struct vgpu_schema_field query[] = {
	{ VGPU_PTR(struct drm_i915_query, items_ptr), .dir = VGPU_INOUT, .elem = &a_query_item,
	  .count = VGPU_FIELD(struct drm_i915_query, num_items) },
};

/* Pair of a property and its value; one value is an address. */
struct i915_perf_property {
	__u64 id;
	__u64 value;
};

static const struct vgpu_schema_struct a_perf_property =
	VGPU_STRUCT_ONE(struct i915_perf_property,
			{ VGPU_PTR(struct i915_perf_property, value), .dir = VGPU_IN,
			  .unit = sizeof(struct drm_i915_gem_context_param_sseu),
			  .when = VGPU_WHEN_EQUAL(struct i915_perf_property, id,
						  DRM_I915_PERF_PROP_GLOBAL_SSEU) });

static const struct vgpu_schema_field perf_open[] = {
	{ VGPU_PTR(struct drm_i915_perf_open_param, properties_ptr), .dir = VGPU_IN,
	  .elem = &a_perf_property,
	  .count = VGPU_FIELD(struct drm_i915_perf_open_param, num_properties) },
};

/* --- table ---------------------------------------------------------------- */

/*
 * Ioctls of DRI1: drivers do nothing, or reject them, whatever the argument is. VGPU_IOCTL() would
 * make a name of the expanded macro.
 */
#define DRI1(c)	{ .cmd = (c), .name = #c, .body = { .size = _IOC_SIZE(c) }, LONGS }

static const struct vgpu_schema_ioctl i915_ioctls[] = {
	DRI1(DRM_IOCTL_I915_INIT),
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_FLUSH) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_FLIP) },
	DRI1(DRM_IOCTL_I915_BATCHBUFFER),
	DRI1(DRM_IOCTL_I915_IRQ_EMIT),
	DRI1(DRM_IOCTL_I915_IRQ_WAIT),
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GETPARAM, getparam), BOTH },
	DRI1(DRM_IOCTL_I915_SETPARAM),
	DRI1(DRM_IOCTL_I915_ALLOC),
	DRI1(DRM_IOCTL_I915_FREE),
	DRI1(DRM_IOCTL_I915_INIT_HEAP),
	DRI1(DRM_IOCTL_I915_CMDBUFFER),
	DRI1(DRM_IOCTL_I915_DESTROY_HEAP),
	DRI1(DRM_IOCTL_I915_SET_VBLANK_PIPE),
	DRI1(DRM_IOCTL_I915_GET_VBLANK_PIPE),
	DRI1(DRM_IOCTL_I915_VBLANK_SWAP),
	DRI1(DRM_IOCTL_I915_HWS_ADDR),
	DRI1(DRM_IOCTL_I915_GEM_INIT),
	DRI1(DRM_IOCTL_I915_GEM_EXECBUFFER),
	DRI1(DRM_IOCTL_I915_GEM_PIN),
	DRI1(DRM_IOCTL_I915_GEM_UNPIN),
	/* Programs poll with this ioctl: when the device is done, memory has changed. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_BUSY) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_THROTTLE) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_ENTERVT) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_LEAVEVT) },
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_CREATE), .blank = &gem_create },
	/* The driver fills as much as it could read, on failure as well. */
	{ VGPU_IOCTL_ONE(DRM_IOCTL_I915_GEM_PREAD,
			 FILLS(struct drm_i915_gem_pread, data_ptr, __u8, size)) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_I915_GEM_PWRITE,
			 READS(struct drm_i915_gem_pwrite, data_ptr, __u8, size)) },
	{ VGPU_IOCTL_MAP(DRM_IOCTL_I915_GEM_MMAP, &gem_mmap) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_DOMAIN) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SW_FINISH) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_TILING) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_TILING), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_APERTURE), BOOKS },
	/* MMAP_GTT is the shorter form of this ioctl. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_MMAP_OFFSET), BOOKS, .blank = &gem_mmap_offset },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_PIPE_FROM_CRTC_ID), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_MADVISE) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_OVERLAY_PUT_IMAGE) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_OVERLAY_ATTRS) },
	/* EXECBUFFER2 without outputs has another direction: no fence is returned then. */
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, execbuffer2) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_SPRITE_COLORKEY), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_SET_SPRITE_COLORKEY) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_WAIT) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_CACHING) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_CACHING), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_REG_READ), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_RESET_STATS), BOOKS },
	/*
	 * The device would keep memory of the process; devices without that support fail with
	 * ENODEV, too.
	 */
	{ VGPU_IOCTL_REFUSE(DRM_IOCTL_I915_GEM_USERPTR, ENODEV) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_PERF_OPEN, perf_open),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_RESULT_FD },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_PERF_ADD_CONFIG, add_config), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_PERF_REMOVE_CONFIG), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_QUERY, query), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_VM_CREATE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_VM_DESTROY) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_CREATE_EXT, create_ext), .blank = &gem_create_ext },
	/* Ioctls of a stream that PERF_OPEN has opened. */
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_ENABLE) },
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_DISABLE) },
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_CONFIG) },
};

static const struct vgpu_schema_ioctl i915_compat[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GETPARAM32, getparam32), BOOKS },
};

const struct vgpu_schema vgpu_schema_i915 = {
	.name = "i915",
	VGPU_IOCTLS(i915_ioctls),
	VGPU_COMPAT(i915_compat),
	.base = &vgpu_schema_i915_context,
};
