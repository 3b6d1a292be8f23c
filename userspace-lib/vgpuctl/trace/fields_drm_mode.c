// SPDX-License-Identifier: MIT
/* Fields of DRM's ioctls for screens. */
#include <drm/drm.h>

#include "vgpuctl/trace/fields.h"

#define D(s, m)	TRACE_NUMBER(struct drm_mode_##s, m)
#define X(s, m)	TRACE_HEX(struct drm_mode_##s, m)
#define A(s, m)	TRACE_ARRAY(struct drm_mode_##s, m)
#define S(s, m)	TRACE_STRING(struct drm_mode_##s, m)

static const struct trace_field card_res[] = {
	X(card_res, fb_id_ptr), X(card_res, crtc_id_ptr), X(card_res, connector_id_ptr),
	X(card_res, encoder_id_ptr), D(card_res, count_fbs), D(card_res, count_crtcs),
	D(card_res, count_connectors), D(card_res, count_encoders), D(card_res, min_width),
	D(card_res, max_width), D(card_res, min_height), D(card_res, max_height),
};

static const struct trace_field crtc[] = {
	X(crtc, set_connectors_ptr), D(crtc, count_connectors), D(crtc, crtc_id),
	D(crtc, fb_id), D(crtc, x), D(crtc, y), D(crtc, gamma_size), D(crtc, mode_valid),
	D(crtc, mode.clock), D(crtc, mode.hdisplay), D(crtc, mode.hsync_start),
	D(crtc, mode.hsync_end), D(crtc, mode.htotal), D(crtc, mode.hskew),
	D(crtc, mode.vdisplay), D(crtc, mode.vsync_start), D(crtc, mode.vsync_end),
	D(crtc, mode.vtotal), D(crtc, mode.vscan), D(crtc, mode.vrefresh), X(crtc, mode.flags),
	D(crtc, mode.type), S(crtc, mode.name),
};

static const struct trace_field cursor[] = {
	X(cursor, flags), D(cursor, crtc_id), D(cursor, x), D(cursor, y), D(cursor, width),
	D(cursor, height), D(cursor, handle),
};

static const struct trace_field get_encoder[] = {
	D(get_encoder, encoder_id), D(get_encoder, encoder_type), D(get_encoder, crtc_id),
	D(get_encoder, possible_crtcs), D(get_encoder, possible_clones),
};

static const struct trace_field get_connector[] = {
	X(get_connector, encoders_ptr), X(get_connector, modes_ptr),
	X(get_connector, props_ptr), X(get_connector, prop_values_ptr),
	D(get_connector, count_modes), D(get_connector, count_props),
	D(get_connector, count_encoders), D(get_connector, encoder_id),
	D(get_connector, connector_id), D(get_connector, connector_type),
	D(get_connector, connector_type_id), D(get_connector, connection),
	D(get_connector, mm_width), D(get_connector, mm_height), D(get_connector, subpixel),
	D(get_connector, pad),
};

static const struct trace_field get_property[] = {
	X(get_property, values_ptr), X(get_property, enum_blob_ptr), D(get_property, prop_id),
	X(get_property, flags), S(get_property, name), D(get_property, count_values),
	D(get_property, count_enum_blobs),
};

static const struct trace_field get_blob[] = {
	D(get_blob, blob_id), D(get_blob, length), X(get_blob, data),
};

static const struct trace_field fb_cmd[] = {
	D(fb_cmd, fb_id), D(fb_cmd, width), D(fb_cmd, height), D(fb_cmd, pitch),
	D(fb_cmd, bpp), D(fb_cmd, depth), D(fb_cmd, handle),
};

static const struct trace_field crtc_page_flip[] = {
	D(crtc_page_flip, crtc_id), D(crtc_page_flip, fb_id), X(crtc_page_flip, flags),
	D(crtc_page_flip, reserved), X(crtc_page_flip, user_data),
};

static const struct trace_field fb_dirty_cmd[] = {
	D(fb_dirty_cmd, fb_id), X(fb_dirty_cmd, flags), D(fb_dirty_cmd, color),
	D(fb_dirty_cmd, num_clips), X(fb_dirty_cmd, clips_ptr),
};

static const struct trace_field create_dumb[] = {
	D(create_dumb, height), D(create_dumb, width), D(create_dumb, bpp),
	X(create_dumb, flags), D(create_dumb, handle), D(create_dumb, pitch),
	D(create_dumb, size),
};

static const struct trace_field map_dumb[] = {
	D(map_dumb, handle), D(map_dumb, pad), X(map_dumb, offset),
};

static const struct trace_field destroy_dumb[] = {
	D(destroy_dumb, handle),
};

static const struct trace_field get_plane_res[] = {
	X(get_plane_res, plane_id_ptr), D(get_plane_res, count_planes),
};

static const struct trace_field get_plane[] = {
	D(get_plane, plane_id), D(get_plane, crtc_id), D(get_plane, fb_id),
	D(get_plane, possible_crtcs), D(get_plane, gamma_size),
	D(get_plane, count_format_types), X(get_plane, format_type_ptr),
};

static const struct trace_field set_plane[] = {
	D(set_plane, plane_id), D(set_plane, crtc_id), D(set_plane, fb_id),
	X(set_plane, flags), D(set_plane, crtc_x), D(set_plane, crtc_y), D(set_plane, crtc_w),
	D(set_plane, crtc_h), D(set_plane, src_x), D(set_plane, src_y), D(set_plane, src_h),
	D(set_plane, src_w),
};

static const struct trace_field fb_cmd2[] = {
	D(fb_cmd2, fb_id), D(fb_cmd2, width), D(fb_cmd2, height), X(fb_cmd2, pixel_format),
	X(fb_cmd2, flags), A(fb_cmd2, handles), A(fb_cmd2, pitches), A(fb_cmd2, offsets),
	A(fb_cmd2, modifier),
};

static const struct trace_field obj_get_properties[] = {
	X(obj_get_properties, props_ptr), X(obj_get_properties, prop_values_ptr),
	D(obj_get_properties, count_props), D(obj_get_properties, obj_id),
	D(obj_get_properties, obj_type),
};

static const struct trace_field obj_set_property[] = {
	D(obj_set_property, value), D(obj_set_property, prop_id), D(obj_set_property, obj_id),
	D(obj_set_property, obj_type),
};

static const struct trace_field cursor2[] = {
	X(cursor2, flags), D(cursor2, crtc_id), D(cursor2, x), D(cursor2, y),
	D(cursor2, width), D(cursor2, height), D(cursor2, handle), D(cursor2, hot_x),
	D(cursor2, hot_y),
};

static const struct trace_field atomic[] = {
	X(atomic, flags), D(atomic, count_objs), X(atomic, objs_ptr),
	D(atomic, count_props_ptr), X(atomic, props_ptr), X(atomic, prop_values_ptr),
	D(atomic, reserved), X(atomic, user_data),
};

static const struct trace_field create_blob[] = {
	X(create_blob, data), D(create_blob, length), D(create_blob, blob_id),
};

static const struct trace_field destroy_blob[] = {
	D(destroy_blob, blob_id),
};

static const struct trace_field create_lease[] = {
	D(create_lease, object_ids), D(create_lease, object_count), X(create_lease, flags),
	D(create_lease, lessee_id), D(create_lease, fd),
};

static const struct trace_field list_lessees[] = {
	D(list_lessees, count_lessees), D(list_lessees, pad), X(list_lessees, lessees_ptr),
};

static const struct trace_field get_lease[] = {
	D(get_lease, count_objects), D(get_lease, pad), X(get_lease, objects_ptr),
};

static const struct trace_field revoke_lease[] = {
	D(revoke_lease, lessee_id),
};

const struct trace_fields trace_fields_drm_mode[] = {
	TRACE_FIELDS(DRM_IOCTL_MODE_GETRESOURCES, card_res),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETCRTC, crtc),
	TRACE_FIELDS(DRM_IOCTL_MODE_SETCRTC, crtc),
	TRACE_FIELDS(DRM_IOCTL_MODE_CURSOR, cursor),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETENCODER, get_encoder),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETCONNECTOR, get_connector),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETPROPERTY, get_property),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETPROPBLOB, get_blob),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETFB, fb_cmd),
	TRACE_FIELDS(DRM_IOCTL_MODE_ADDFB, fb_cmd),
	TRACE_FIELDS(DRM_IOCTL_MODE_PAGE_FLIP, crtc_page_flip),
	TRACE_FIELDS(DRM_IOCTL_MODE_DIRTYFB, fb_dirty_cmd),
	TRACE_FIELDS(DRM_IOCTL_MODE_CREATE_DUMB, create_dumb),
	TRACE_FIELDS(DRM_IOCTL_MODE_MAP_DUMB, map_dumb),
	TRACE_FIELDS(DRM_IOCTL_MODE_DESTROY_DUMB, destroy_dumb),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETPLANERESOURCES, get_plane_res),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETPLANE, get_plane),
	TRACE_FIELDS(DRM_IOCTL_MODE_SETPLANE, set_plane),
	TRACE_FIELDS(DRM_IOCTL_MODE_ADDFB2, fb_cmd2),
	TRACE_FIELDS(DRM_IOCTL_MODE_OBJ_GETPROPERTIES, obj_get_properties),
	TRACE_FIELDS(DRM_IOCTL_MODE_OBJ_SETPROPERTY, obj_set_property),
	TRACE_FIELDS(DRM_IOCTL_MODE_CURSOR2, cursor2),
	TRACE_FIELDS(DRM_IOCTL_MODE_ATOMIC, atomic),
	TRACE_FIELDS(DRM_IOCTL_MODE_CREATEPROPBLOB, create_blob),
	TRACE_FIELDS(DRM_IOCTL_MODE_DESTROYPROPBLOB, destroy_blob),
	TRACE_FIELDS(DRM_IOCTL_MODE_CREATE_LEASE, create_lease),
	TRACE_FIELDS(DRM_IOCTL_MODE_LIST_LESSEES, list_lessees),
	TRACE_FIELDS(DRM_IOCTL_MODE_GET_LEASE, get_lease),
	TRACE_FIELDS(DRM_IOCTL_MODE_REVOKE_LEASE, revoke_lease),
	TRACE_FIELDS(DRM_IOCTL_MODE_GETFB2, fb_cmd2),
	{ NULL }
};
