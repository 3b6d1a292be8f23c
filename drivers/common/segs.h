/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of a call at the host: the place of each segment in the memory that the driver gets,
 * and the values of the fixups there. The codec has checked the call.
 */
#ifndef VGPU_SEGS_H
#define VGPU_SEGS_H

#include "wire.h"

/* Number of zero bytes after each segment, for drivers that read past the declared size. */
#define VGPU_SEGS_SLACK		64
#define VGPU_SEGS_ALIGN		16

/**
 * struct vgpu_seg_place - place of a segment
 * @addr: address in the memory for the driver
 * @in: offset of its bytes in the CALL's data
 * @out: offset of its bytes in the REPLY's data
 */
struct vgpu_seg_place {
	u64 addr;
	u32 in;
	u32 out;
};

static inline u32 vgpu_view_nr_segs(const struct vgpu_call_view *view)
{
	return le16_to_cpu(view->call->nr_segs);
}

static inline u32 vgpu_view_nr_fixups(const struct vgpu_call_view *view)
{
	return le16_to_cpu(view->call->nr_fixups);
}

static inline u32 vgpu_view_seg_len(const struct vgpu_call_view *view, u32 i)
{
	return le32_to_cpu(view->segs[i].len);
}

static inline bool vgpu_view_seg_is(const struct vgpu_call_view *view, u32 i, u32 flag)
{
	return le32_to_cpu(view->segs[i].flags) & flag;
}

/**
 * vgpu_view_has_seg - find out if a call has a segment with a flag
 * @view: the call
 * @flag: VGPU_SEG_*, or several of which one is enough
 */
static inline bool vgpu_view_has_seg(const struct vgpu_call_view *view, u32 flag)
{
	u32 nr = vgpu_view_nr_segs(view), i;

	for (i = 0; i < nr; i++)
		if (vgpu_view_seg_is(view, i, flag))
			return true;
	return false;
}

/**
 * vgpu_segs_place - lay out the segments of a call in one block of memory
 * @view: the call
 * @places: out: place of each segment; its address is an offset in the block
 *
 * PAGE and KEPT segments take no room in the block.
 *
 * Return: number of bytes of the block.
 */
size_t vgpu_segs_place(const struct vgpu_call_view *view, struct vgpu_seg_place *places);

/**
 * vgpu_segs_hold - find out if a range of memory lies in one segment, as laid out for the
 * driver
 * @view: the call
 * @places: places of its segments
 * @addr: address of the range
 * @len: number of bytes, at least 1
 */
bool vgpu_segs_hold(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		    u64 addr, u32 len);

/* Return: address that a PTR or PTR32 fixup writes to its field. */
u64 vgpu_fixup_target(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		      const struct vgpu_fixup *fixup);

/* Return: the guest's own value of the field, @size bytes long; 0 if the guest sent none. */
u64 vgpu_fixup_original(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
			const struct vgpu_fixup *fixup, size_t size);

/*
 * Return: address of the field in @data, the bytes of a reply; NULL if the segment is not OUT.
 */
void *vgpu_fixup_reply(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		       u8 *data, const struct vgpu_fixup *fixup);

/**
 * vgpu_fixup_undo - restore the guest's value of a field in a reply
 * @view: the call
 * @places: places of its segments
 * @data: bytes of the reply, as the driver left them
 * @fixup: fixup of the field
 * @fd: FD_IN and EVENT: fd that was written to the field
 *
 * The field is restored only if it still holds the value that was written: the driver may have
 * put an output there. A pointer that the driver moved within the segment is moved by the same
 * distance for the guest. A TIME field is restored in any case.
 */
void vgpu_fixup_undo(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		     u8 *data, const struct vgpu_fixup *fixup, s32 fd);

#endif /* VGPU_SEGS_H */
