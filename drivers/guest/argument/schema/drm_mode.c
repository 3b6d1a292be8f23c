// SPDX-License-Identifier: GPL-2.0-only
/*
 * Schema of DRM mode setting: drm_mode.h. The rules are in schema/drm.c.
 *
 * Programs make queries twice: first without room for arrays, which returns the counts, then
 * with room. The driver returns the whole count each time, and fills an array if it fits, or as
 * far as there is room, depending on the ioctl.
 */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

static const struct vgpu_schema_field card_res[] = {
	FILLS(struct drm_mode_card_res, fb_id_ptr, __u32, count_fbs),
	FILLS(struct drm_mode_card_res, crtc_id_ptr, __u32, count_crtcs),
	FILLS(struct drm_mode_card_res, connector_id_ptr, __u32, count_connectors),
	FILLS(struct drm_mode_card_res, encoder_id_ptr, __u32, count_encoders),
};

/* GETCRTC has the same struct, but does not access the connectors. */
static const struct vgpu_schema_field set_crtc[] = {
	READS(struct drm_mode_crtc, set_connectors_ptr, __u32, count_connectors),
};

/* The driver takes exactly gamma_size elements, or fails with -EINVAL. */
#define LUT(d, colour) \
	{ VGPU_PTR(struct drm_mode_crtc_lut, colour), .dir = (d), .unit = sizeof(__u16), \
	  .count = VGPU_FIELD(struct drm_mode_crtc_lut, gamma_size) }

static const struct vgpu_schema_field get_gamma[] = {
	LUT(VGPU_OUT, red),
	LUT(VGPU_OUT, green),
	LUT(VGPU_OUT, blue),
};

static const struct vgpu_schema_field set_gamma[] = {
	LUT(VGPU_IN, red),
	LUT(VGPU_IN, green),
	LUT(VGPU_IN, blue),
};

static const struct vgpu_schema_field get_connector[] = {
	FILLS(struct drm_mode_get_connector, encoders_ptr, __u32, count_encoders),
	FILLS(struct drm_mode_get_connector, modes_ptr, struct drm_mode_modeinfo, count_modes),
	FILLS(struct drm_mode_get_connector, props_ptr, __u32, count_props),
	FILLS(struct drm_mode_get_connector, prop_values_ptr, __u64, count_props),
};

static const struct vgpu_schema_field get_property[] = {
	FILLS(struct drm_mode_get_property, values_ptr, __u64, count_values),
	FILLS(struct drm_mode_get_property, enum_blob_ptr, struct drm_mode_property_enum,
	      count_enum_blobs),
};

static const struct vgpu_schema_field dirty_fb[] = {
	READS(struct drm_mode_fb_dirty_cmd, clips_ptr, struct drm_clip_rect, num_clips),
};

static const struct vgpu_schema_field plane_res[] = {
	FILLS(struct drm_mode_get_plane_res, plane_id_ptr, __u32, count_planes),
};

static const struct vgpu_schema_field get_plane[] = {
	FILLS(struct drm_mode_get_plane, format_type_ptr, __u32, count_format_types),
};

static const struct vgpu_schema_field obj_get_properties[] = {
	FILLS(struct drm_mode_obj_get_properties, props_ptr, __u32, count_props),
	FILLS(struct drm_mode_obj_get_properties, prop_values_ptr, __u64, count_props),
};

/*
 * The meaning of a property's value depends on the property. The number of a property is found
 * by its name, by programs and by the schema. The values of these properties are fds, or
 * pointers to fds.
 */
static const char *const fence_names[] = {
	"IN_FENCE_FD", "OUT_FENCE_PTR", "WRITEBACK_OUT_FENCE_PTR", NULL
};

static const struct vgpu_schema_lesson fence_lesson = {
	.number = offsetof(struct drm_mode_get_property, prop_id),
	.name = offsetof(struct drm_mode_get_property, name),
	.name_len = DRM_PROP_NAME_LEN,
	.names = fence_names,
};

static const struct vgpu_schema_struct fence =
	VGPU_STRUCT_ONE(__s32, { .type = VGPU_FIELD_FD_OUT, .size = sizeof(__s32) });

#define WHEN_NAMED(n)	VGPU_WHEN_BESIDE(struct drm_mode_atomic, props_ptr, __u32, n)

/* The driver writes -1 there first, and again on failure. */
#define OUT_FENCE(n) \
	{ .type = VGPU_FIELD_PTR, .size = sizeof(__u64), .dir = VGPU_INOUT, .elem = &fence, \
	  .when = WHEN_NAMED(n) }

static const struct vgpu_schema_field property_value[] = {
	{ .type = VGPU_FIELD_FD_IN, .size = sizeof(__s32), .when = WHEN_NAMED(1) },
	OUT_FENCE(2),
	OUT_FENCE(3),
};

static const struct vgpu_schema_struct property_values = VGPU_STRUCT(__u64, property_value);

/* The number of properties of each object is in an array: their sum is the count. */
#define OBJECTS	VGPU_FIELD(struct drm_mode_atomic, count_objs)
#define PROPERTIES VGPU_SUM(struct drm_mode_atomic, count_props_ptr, __u32)

static const struct vgpu_schema_field atomic[] = {
	{ VGPU_PTR(struct drm_mode_atomic, objs_ptr), .dir = VGPU_IN, .unit = sizeof(__u32),
	  .count = OBJECTS },
	{ VGPU_PTR(struct drm_mode_atomic, count_props_ptr), .dir = VGPU_IN,
	  .unit = sizeof(__u32), .count = OBJECTS },
	{ VGPU_PTR(struct drm_mode_atomic, props_ptr), .dir = VGPU_IN, .unit = sizeof(__u32),
	  .count = PROPERTIES },
	{ VGPU_PTR(struct drm_mode_atomic, prop_values_ptr), .dir = VGPU_IN,
	  .elem = &property_values, .count = PROPERTIES },
};

static const struct vgpu_schema_field create_lease[] = {
	READS(struct drm_mode_create_lease, object_ids, __u32, object_count),
	{ VGPU_FD_OUT(struct drm_mode_create_lease, fd) },
};

static const struct vgpu_schema_field list_lessees[] = {
	FILLS(struct drm_mode_list_lessees, lessees_ptr, __u32, count_lessees),
};

static const struct vgpu_schema_field get_lease[] = {
	FILLS(struct drm_mode_get_lease, objects_ptr, __u32, count_objects),
};

/* Programs draw all of a dumb buffer before they show it: its bytes are undefined. */
static const struct vgpu_schema_blank create_dumb =
	VGPU_BLANK_MADE(struct drm_mode_create_dumb, handle);

static const struct vgpu_schema_blank map_dumb =
	VGPU_BLANK_PLACED(struct drm_mode_map_dumb, handle, offset);

static const struct vgpu_schema_ioctl mode_ioctls[] = {
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETRESOURCES, card_res), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_GETCRTC), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_SETCRTC, set_crtc) },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_CURSOR) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETGAMMA, get_gamma), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_SETGAMMA, set_gamma), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_GETENCODER), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETCONNECTOR, get_connector), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_ATTACHMODE) },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_DETACHMODE) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETPROPERTY, get_property), BOOKS,
	  .lesson = &fence_lesson },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_SETPROPERTY) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_MODE_GETPROPBLOB,
			 FILLS(struct drm_mode_get_blob, data, __u8, length)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_GETFB), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_ADDFB) },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_RMFB) },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_PAGE_FLIP) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_DIRTYFB, dirty_fb) },
	/* BOOKS is missing: the buffer may get the mmap offset of a destroyed, still cached one. */
	{ VGPU_IOCTL(DRM_IOCTL_MODE_CREATE_DUMB), .blank = &create_dumb },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_MAP_DUMB), .blank = &map_dumb },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_DESTROY_DUMB) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETPLANERESOURCES, plane_res), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GETPLANE, get_plane), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_SETPLANE) },
	/* 32-bit programs on x86 have no padding before modifier. */
	{ VGPU_IOCTL(DRM_IOCTL_MODE_ADDFB2), LONGS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_OBJ_GETPROPERTIES, obj_get_properties), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_OBJ_SETPROPERTY) },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_CURSOR2) },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_ATOMIC, atomic) },
	{ VGPU_IOCTL_ONE(DRM_IOCTL_MODE_CREATEPROPBLOB,
			 READS(struct drm_mode_create_blob, data, __u8, length)), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_DESTROYPROPBLOB), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_CREATE_LEASE, create_lease), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_LIST_LESSEES, list_lessees), BOOKS },
	{ VGPU_IOCTL_WITH(DRM_IOCTL_MODE_GET_LEASE, get_lease), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_REVOKE_LEASE), BOOKS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_GETFB2), LONGS },
	{ VGPU_IOCTL(DRM_IOCTL_MODE_CLOSEFB) },
};

const struct vgpu_schema vgpu_schema_drm_mode = {
	.name = "drm_mode",
	VGPU_IOCTLS(mode_ioctls),
};
