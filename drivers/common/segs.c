// SPDX-License-Identifier: GPL-2.0-only
/* Segments of a call and their fixups, see segs.h. */
#include "segs.h"

size_t vgpu_segs_place(const struct vgpu_call_view *view, struct vgpu_seg_place *places)
{
	u32 nr = vgpu_view_nr_segs(view), in = 0, out = 0, i;
	size_t size = 0;

	for (i = 0; i < nr; i++) {
		u32 len = vgpu_view_seg_len(view, i);

		places[i].in = in;
		places[i].out = out;
		places[i].addr = size;
		if (vgpu_view_seg_is(view, i, VGPU_SEG_IN))
			in += vgpu_wire_pad(len);
		if (vgpu_view_seg_is(view, i, VGPU_SEG_OUT))
			out += vgpu_wire_pad(len);
		if (!vgpu_view_seg_is(view, i, VGPU_SEG_PAGE | VGPU_SEG_KEPT))
			size = ALIGN(size + len + VGPU_SEGS_SLACK, (size_t)VGPU_SEGS_ALIGN);
	}
	return size;
}

bool vgpu_segs_hold(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		    u64 addr, u32 len)
{
	u32 nr = vgpu_view_nr_segs(view), i;

	for (i = 0; i < nr; i++) {
		u32 has = vgpu_view_seg_len(view, i);

		if (!vgpu_view_seg_is(view, i, VGPU_SEG_PAGE | VGPU_SEG_KEPT) &&
		    addr >= places[i].addr && len <= has && addr - places[i].addr <= has - len)
			return true;
	}
	return false;
}

u64 vgpu_fixup_target(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		      const struct vgpu_fixup *fixup)
{
	return places[le32_to_cpu(fixup->target)].addr + le32_to_cpu(fixup->target_offset);
}

u64 vgpu_fixup_original(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
			const struct vgpu_fixup *fixup, size_t size)
{
	u32 seg = le16_to_cpu(fixup->seg);
	u64 value = 0;

	if (vgpu_view_seg_is(view, seg, VGPU_SEG_IN))
		memcpy(&value, view->data + places[seg].in + le32_to_cpu(fixup->offset), size);
	return value;
}

void *vgpu_fixup_reply(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		       u8 *data, const struct vgpu_fixup *fixup)
{
	u32 seg = le16_to_cpu(fixup->seg);

	if (!vgpu_view_seg_is(view, seg, VGPU_SEG_OUT))
		return NULL;
	return data + places[seg].out + le32_to_cpu(fixup->offset);
}

static void undo_ptr(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		     void *field, const struct vgpu_fixup *fixup, size_t size)
{
	u32 target = le32_to_cpu(fixup->target);
	u64 start = places[target].addr;
	u64 value = 0;

	memcpy(&value, field, size);
	if (value < start || value > start + vgpu_view_seg_len(view, target))
		return;
	value = vgpu_fixup_original(view, places, fixup, size) +
		(value - vgpu_fixup_target(view, places, fixup));
	memcpy(field, &value, size);
}

void vgpu_fixup_undo(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		     u8 *data, const struct vgpu_fixup *fixup, s32 fd)
{
	void *field = vgpu_fixup_reply(view, places, data, fixup);
	u64 original;

	if (!field)
		return;
	switch (le16_to_cpu(fixup->type)) {
	case VGPU_FIXUP_PTR:
		undo_ptr(view, places, field, fixup, sizeof(u64));
		break;
	case VGPU_FIXUP_PTR32:
		undo_ptr(view, places, field, fixup, sizeof(u32));
		break;
	case VGPU_FIXUP_FD_IN:
	case VGPU_FIXUP_EVENT:
		original = vgpu_fixup_original(view, places, fixup, sizeof(fd));
		if (!memcmp(field, &fd, sizeof(fd)))
			memcpy(field, &original, sizeof(fd));
		break;
	case VGPU_FIXUP_TIME:
		original = vgpu_fixup_original(view, places, fixup, sizeof(original));
		memcpy(field, &original, sizeof(original));
		break;
	}
}
