// SPDX-License-Identifier: GPL-2.0-only
/* Fields with memory that devices keep after the call. */
#include "argument/marshal_kept.h"
#include "argument/marshal_level.h"
#include "argument/marshal_mem.h"

/* Return: true if the host can get pages that the device keeps; @alone: without other calls. */
bool vgpu_walk_can_keep(const struct vgpu_marshal *m, bool alone)
{
	return m->limits->features & (alone ? VGPU_FEATURE_KEEP_ALONE : VGPU_FEATURE_KEEP);
}

/*
 * Pin whole pages for writing and add a KEPT segment. If the pages are not writable and the
 * driver only reads them, pin them for reading.
 */
static int kept_add(struct vgpu_marshal *m, const struct vgpu_schema_field *field, u64 addr,
		    u64 end)
{
	struct vgpu_marshal_kept kept;
	bool write = true;
	int error = m->fds->keep(m->fds_data, addr, end - addr, write, &kept);

	if (error == -EFAULT && !(field->dir & VGPU_OUT)) {
		write = false;
		error = m->fds->keep(m->fds_data, addr, end - addr, write, &kept);
	}
	return error ?: vgpu_marshal_kept_add(m, addr, end - addr, write, &kept);
}

/*
 * Add KEPT segments for memory that the device uses after the call. If the address or the
 * length makes no sense, the driver gets the pointer unchanged and fails by itself. Pages that
 * are in a KEPT segment of the call already are not added again: one plane of a picture may
 * begin in the page in which another one ends.
 */
int vgpu_walk_kept(struct vgpu_marshal *m, const struct vgpu_walk_level *level,
		   const struct vgpu_schema_field *field, u64 addr)
{
	const u64 mask = VGPU_PAGE_SIZE - 1;
	u64 n = 1, bytes, end, gap;
	int error;

	if (!vgpu_walk_can_keep(m, field->alone))
		return -field->error;
	if (field->count.kind != VGPU_REF_NONE && !vgpu_walk_number(m, level, &field->count, &n))
		return 0;
	if (check_mul_overflow(n, (u64)(field->unit ?: 1), &bytes) ||
	    check_add_overflow(bytes, (u64)field->mask, &bytes) || !bytes ||
	    check_add_overflow(addr, bytes, &end) || check_add_overflow(end, mask, &end))
		return 0;
	addr &= ~mask;
	end &= ~mask;
	if (field->out_count.kind == VGPU_REF_FIELD &&
	    field->out_count.offset + sizeof(u32) <= level->len) {
		m->status = field->max;
		m->status_addr = m->info[level->seg].addr + level->base + field->out_count.offset;
	}
	for (; vgpu_marshal_kept_gap(m, &addr, end, &gap); addr = gap) {
		error = kept_add(m, field, addr, gap);
		if (error)
			return vgpu_walk_leave(m, error);
	}
	return 0;
}
