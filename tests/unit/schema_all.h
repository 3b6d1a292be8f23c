/* SPDX-License-Identifier: GPL-2.0-only */
/* All schema tables. */
#ifndef SCHEMA_ALL_H
#define SCHEMA_ALL_H

#include "argument/schema.h"
#include "argument/schema/i915.h"
#include "argument/schema/tables.h"

static const struct vgpu_schema *const all_schemas[] = {
	&vgpu_schema_drm, &vgpu_schema_drm_mode, &vgpu_schema_virtgpu, &vgpu_schema_vgem,
	&vgpu_schema_nouveau, &vgpu_schema_amdgpu, &vgpu_schema_i915, &vgpu_schema_i915_context,
	&vgpu_schema_xe, &vgpu_schema_panfrost, &vgpu_schema_panthor, &vgpu_schema_v4l2,
	&vgpu_schema_media, &vgpu_schema_dma_buf, &vgpu_schema_dma_heap, &vgpu_schema_udmabuf,
	&vgpu_schema_sync_file, &vgpu_schema_sound, &vgpu_schema_sound_control,
	&vgpu_schema_mock, &vgpu_schema_mock_apart, &vgpu_schema_vkms,
	&vgpu_schema_nvidia, &vgpu_schema_uvm,
};

#endif /* SCHEMA_ALL_H */
