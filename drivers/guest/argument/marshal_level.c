// SPDX-License-Identifier: GPL-2.0-only
/* Numbers that a schema names, in the structs that were copied. */
#include "argument/marshal_level.h"
#include "argument/marshal_mem.h"

/* Get an integer of the struct. Return: false if it was not sent to the host. */
bool vgpu_walk_get(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   u32 offset, u8 size, u64 *value)
{
	const struct vgpu_marshal_seg *info = &m->info[level->seg];

	if (!(info->dir & VGPU_IN))
		return false;
	*value = 0;
	if (offset + size <= level->len)
		*value = vgpu_marshal_int(m->data + info->in_off + level->base + offset, size);
	return true;
}

/* Return: segment of the memory of the pointer at @via in the struct, or NULL. */
static const struct vgpu_marshal_seg *target_find(const struct vgpu_marshal *m,
						  const struct vgpu_walk_level *level, u16 via)
{
	u32 i;

	for (i = m->nr_segs; i-- > 1;) {
		const struct vgpu_marshal_seg *info = &m->info[i];

		if (info->field && info->parent == level->seg &&
		    info->parent_base == level->base && info->field->offset == via)
			return info;
	}
	return NULL;
}

/* Get a number from the memory of a pointer. @index: index of the element that refers to it. */
static bool target_get(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		       const struct vgpu_schema_ref *ref, u32 index, u64 *value)
{
	const struct vgpu_marshal_seg *info = target_find(m, level, ref->via);
	const u8 *p;
	u32 i;

	if (!info || !(info->dir & VGPU_IN))
		return false;
	p = m->data + info->in_off;
	*value = 0;
	if (ref->kind == VGPU_REF_BESIDE) {
		if (((u64)index + 1) * ref->size > info->len)
			return false;
		*value = vgpu_marshal_int(p + index * ref->size, ref->size);
		return true;
	}
	if (ref->kind == VGPU_REF_TARGET) {
		if (ref->offset + ref->size <= info->len)
			*value = vgpu_marshal_int(p + ref->offset, ref->size);
		return true;
	}
	for (i = 0; i + ref->size <= info->len; i += ref->size)
		if (check_add_overflow(*value, vgpu_marshal_int(p + i, ref->size), value))
			return false;
	return true;
}

/* Get a number. Return: false if it is not known in the guest. */
bool vgpu_walk_number(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		      const struct vgpu_schema_ref *ref, u64 *value)
{
	const u32 index = level->index;
	u8 up;

	for (up = ref->up; up && level; up--)
		level = level->up;
	if (!level)
		return false;
	switch (ref->kind) {
	case VGPU_REF_CONST:
		*value = ref->value;
		return true;
	case VGPU_REF_FIELD:
		return vgpu_walk_get(m, level, ref->offset, ref->size, value);
	case VGPU_REF_TARGET:
	case VGPU_REF_SUM:
	case VGPU_REF_BESIDE:
		return target_get(m, level, ref, index, value);
	default:
		return false;
	}
}

/* Return: true if the condition holds; a condition on an unknown number does not. */
bool vgpu_walk_when(const struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		    const struct vgpu_schema_when *when)
{
	u32 learned;
	u64 value;

	if (when->ref.kind == VGPU_REF_NONE)
		return true;
	if (!when->learned)
		return vgpu_walk_number(m, level, &when->ref, &value) &&
			vgpu_marshal_when(when, value);
	if (!m->learned)
		return false;
	learned = READ_ONCE(m->learned->number[when->learned - 1]);
	return learned && vgpu_walk_number(m, level, &when->ref, &value) && value == learned;
}
