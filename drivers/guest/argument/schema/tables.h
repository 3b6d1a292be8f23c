/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of the files in this folder. */
#ifndef VGPU_SCHEMA_TABLES_H
#define VGPU_SCHEMA_TABLES_H

#include "argument/schema.h"

extern const struct vgpu_schema vgpu_schema_drm;
extern const struct vgpu_schema vgpu_schema_drm_mode;
extern const struct vgpu_schema vgpu_schema_virtgpu;
extern const struct vgpu_schema vgpu_schema_vgem;
extern const struct vgpu_schema vgpu_schema_vkms;
extern const struct vgpu_schema vgpu_schema_nouveau;
extern const struct vgpu_schema vgpu_schema_amdgpu;
extern const struct vgpu_schema vgpu_schema_i915;
extern const struct vgpu_schema vgpu_schema_xe;
extern const struct vgpu_schema vgpu_schema_panfrost;
extern const struct vgpu_schema vgpu_schema_panthor;
extern const struct vgpu_schema vgpu_schema_nvidia;
extern const struct vgpu_schema vgpu_schema_uvm;
extern const struct vgpu_schema vgpu_schema_v4l2;
extern const struct vgpu_schema vgpu_schema_media;
extern const struct vgpu_schema vgpu_schema_mock;
extern const struct vgpu_schema vgpu_schema_mock_apart;
extern const struct vgpu_schema vgpu_schema_dma_buf;
extern const struct vgpu_schema vgpu_schema_dma_heap;
extern const struct vgpu_schema vgpu_schema_udmabuf;
extern const struct vgpu_schema vgpu_schema_sync_file;
extern const struct vgpu_schema vgpu_schema_sound;
extern const struct vgpu_schema vgpu_schema_sound_control;

#endif /* VGPU_SCHEMA_TABLES_H */
