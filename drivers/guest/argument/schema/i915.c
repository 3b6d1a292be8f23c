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

/* The driver fills as much as it could read, on failure as well. */
static const struct vgpu_schema_field gem_pread[] = {
	FILLS(struct drm_i915_gem_pread, data_ptr, __u8, size),
};

static const struct vgpu_schema_field gem_pwrite[] = {
	READS(struct drm_i915_gem_pwrite, data_ptr, __u8, size),
};

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

static const struct vgpu_schema_field perf_property[] = {
	{ VGPU_PTR(struct i915_perf_property, value), .dir = VGPU_IN,
	  .unit = sizeof(struct drm_i915_gem_context_param_sseu),
	  .when = VGPU_WHEN_EQUAL(struct i915_perf_property, id,
				  DRM_I915_PERF_PROP_GLOBAL_SSEU) },
};

static const struct vgpu_schema_struct a_perf_property =
	VGPU_STRUCT(struct i915_perf_property, perf_property);

static const struct vgpu_schema_field perf_open[] = {
	{ VGPU_PTR(struct drm_i915_perf_open_param, properties_ptr), .dir = VGPU_IN,
	  .elem = &a_perf_property,
	  .count = VGPU_FIELD(struct drm_i915_perf_open_param, num_properties) },
};

/* --- table ---------------------------------------------------------------- */

/* Ioctls of DRI1: drivers do nothing, or reject them, whatever the argument is. */
#define DRI1(c, s) { VGPU_IOCTL(c, s), LONGS }

static const struct vgpu_schema_ioctl i915_ioctls[] = {
	DRI1(DRM_IOCTL_I915_INIT, drm_i915_init_t),
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_FLUSH) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_FLIP) },
	DRI1(DRM_IOCTL_I915_BATCHBUFFER, drm_i915_batchbuffer_t),
	DRI1(DRM_IOCTL_I915_IRQ_EMIT, drm_i915_irq_emit_t),
	DRI1(DRM_IOCTL_I915_IRQ_WAIT, drm_i915_irq_wait_t),
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GETPARAM, drm_i915_getparam_t, getparam),
	  BOTH },
	DRI1(DRM_IOCTL_I915_SETPARAM, drm_i915_setparam_t),
	DRI1(DRM_IOCTL_I915_ALLOC, drm_i915_mem_alloc_t),
	DRI1(DRM_IOCTL_I915_FREE, drm_i915_mem_free_t),
	DRI1(DRM_IOCTL_I915_INIT_HEAP, drm_i915_mem_init_heap_t),
	DRI1(DRM_IOCTL_I915_CMDBUFFER, drm_i915_cmdbuffer_t),
	DRI1(DRM_IOCTL_I915_DESTROY_HEAP, drm_i915_mem_destroy_heap_t),
	DRI1(DRM_IOCTL_I915_SET_VBLANK_PIPE, drm_i915_vblank_pipe_t),
	DRI1(DRM_IOCTL_I915_GET_VBLANK_PIPE, drm_i915_vblank_pipe_t),
	DRI1(DRM_IOCTL_I915_VBLANK_SWAP, drm_i915_vblank_swap_t),
	DRI1(DRM_IOCTL_I915_HWS_ADDR, struct drm_i915_gem_init),
	DRI1(DRM_IOCTL_I915_GEM_INIT, struct drm_i915_gem_init),
	DRI1(DRM_IOCTL_I915_GEM_EXECBUFFER, struct drm_i915_gem_execbuffer),
	DRI1(DRM_IOCTL_I915_GEM_PIN, struct drm_i915_gem_pin),
	DRI1(DRM_IOCTL_I915_GEM_UNPIN, struct drm_i915_gem_unpin),
	/* Programs poll with this ioctl: when the device is done, memory has changed. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_BUSY, struct drm_i915_gem_busy) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_THROTTLE) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_ENTERVT) },
	{ VGPU_IOCTL_NO_ARG(DRM_IOCTL_I915_GEM_LEAVEVT) },
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_CREATE, struct drm_i915_gem_create),
	  .blank = &gem_create },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_PREAD, struct drm_i915_gem_pread, gem_pread) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_PWRITE, struct drm_i915_gem_pwrite, gem_pwrite) },
	{ VGPU_IOCTL_MAP(DRM_IOCTL_I915_GEM_MMAP, struct drm_i915_gem_mmap, &gem_mmap) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_DOMAIN, struct drm_i915_gem_set_domain) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SW_FINISH, struct drm_i915_gem_sw_finish) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_TILING, struct drm_i915_gem_set_tiling) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_TILING, struct drm_i915_gem_get_tiling), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_APERTURE, struct drm_i915_gem_get_aperture), BOOKS },
	/* MMAP_GTT is the shorter form of this ioctl. */
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_MMAP_OFFSET, struct drm_i915_gem_mmap_offset), BOOKS,
	  .blank = &gem_mmap_offset },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_PIPE_FROM_CRTC_ID,
		     struct drm_i915_get_pipe_from_crtc_id), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_MADVISE, struct drm_i915_gem_madvise) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_OVERLAY_PUT_IMAGE, struct drm_intel_overlay_put_image) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_OVERLAY_ATTRS, struct drm_intel_overlay_attrs) },
	/* EXECBUFFER2 without outputs has another direction: no fence is returned then. */
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, EXEC, execbuffer2) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_SPRITE_COLORKEY, struct drm_intel_sprite_colorkey),
	  BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_SET_SPRITE_COLORKEY, struct drm_intel_sprite_colorkey) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_WAIT, struct drm_i915_gem_wait) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_SET_CACHING, struct drm_i915_gem_caching) },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_GET_CACHING, struct drm_i915_gem_caching), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_REG_READ, struct drm_i915_reg_read), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GET_RESET_STATS, struct drm_i915_reset_stats), BOOKS },
	/*
	 * The device would keep memory of the process; devices without that support fail with
	 * ENODEV, too.
	 */
	{ .body = VGPU_PLAIN(struct drm_i915_gem_userptr),
	  VGPU_IOCTL_REFUSE(DRM_IOCTL_I915_GEM_USERPTR, ENODEV) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_PERF_OPEN, struct drm_i915_perf_open_param, perf_open),
	  .flags = VGPU_IOCTL_NO_MAPPED | VGPU_IOCTL_RESULT_FD },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_PERF_ADD_CONFIG, CONFIG, add_config), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_PERF_REMOVE_CONFIG, __u64), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_QUERY, struct drm_i915_query, query), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_VM_CREATE, struct drm_i915_gem_vm_control), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_I915_GEM_VM_DESTROY, struct drm_i915_gem_vm_control) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GEM_CREATE_EXT, struct drm_i915_gem_create_ext,
			  create_ext), .blank = &gem_create_ext },
	/* Ioctls of a stream that PERF_OPEN has opened. */
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_ENABLE) },
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_DISABLE) },
	{ VGPU_IOCTL_NO_ARG(I915_PERF_IOCTL_CONFIG) },
};

static const struct vgpu_schema_ioctl i915_compat[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_I915_GETPARAM32, struct i915_getparam32, getparam32), BOOKS },
};

const struct vgpu_schema vgpu_schema_i915 = {
	.name = "i915",
	VGPU_IOCTLS(i915_ioctls),
	VGPU_COMPAT(i915_compat),
	.base = &vgpu_schema_i915_context,
};
