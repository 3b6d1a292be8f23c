/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An input of fuzz_marshal is a struct marshal_head, followed by the program's
 * memory. The relocations put valid pointers into that memory.
 */
#ifndef FUZZ_MARSHAL_H
#define FUZZ_MARSHAL_H

#include "argument/schema.h"
#include "argument/schema/i915.h"
#include "argument/schema/tables.h"

#define NR_RELOCS	8
#define MEMORY_MAX	(4 * 4096)

/**
 * struct marshal_head - parameters of an ioctl
 * @schema: number of the schema
 * @ioctl: number of the schema's entry
 * @options: OPT_*
 * @limits: number of the host's limits
 * @alloc_fail: number of the allocation that fails; 0: none
 * @rights: rights of the memory's pages, two bits each; 0: all rights
 * @arg: offset of the argument in the memory
 * @size: size of the argument in the command; 0: the schema's
 * @seed: seed of the driver's random numbers
 * @result: result of the driver
 * @fail_reserve: number of the new fd that cannot be reserved; 0: none
 * @relocs: pointers: offset @at gets the address of offset @to
 */
struct marshal_head {
	u8 schema;
	u8 ioctl;
	u8 options;
	u8 limits;
	u8 alloc_fail;
	u8 rights;
	u16 arg;
	u16 size;
	u16 seed;
	s16 result;
	u8 fail_reserve;
	u8 reserved;
	struct {
		u16 at;
		u16 to;
	} relocs[NR_RELOCS];
};

#define OPT_COMPAT	1
#define OPT_RAW_CMD	2	/* @seed and @size make the command */
#define OPT_FDS		4	/* the driver makes fds */

static const struct vgpu_schema *const marshal_schemas[] = {
	&vgpu_schema_mock, &vgpu_schema_drm, &vgpu_schema_drm_mode,
	&vgpu_schema_virtgpu, &vgpu_schema_vgem, &vgpu_schema_dma_buf,
	&vgpu_schema_sync_file, &vgpu_schema_nouveau, &vgpu_schema_amdgpu,
	&vgpu_schema_i915, &vgpu_schema_i915_context, &vgpu_schema_xe,
	&vgpu_schema_panfrost, &vgpu_schema_panthor, &vgpu_schema_v4l2,
	&vgpu_schema_media, &vgpu_schema_dma_heap, &vgpu_schema_udmabuf,
	&vgpu_schema_sound, &vgpu_schema_sound_control,
	&vgpu_schema_nvidia, &vgpu_schema_uvm,
};

#endif /* FUZZ_MARSHAL_H */
