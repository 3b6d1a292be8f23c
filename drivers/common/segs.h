/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of a call at the host: where each lies in the memory that a driver is given, and
 * what the places mean there that fixups name. Of a call that the codec has checked.
 */
#ifndef VGPU_SEGS_H
#define VGPU_SEGS_H

#ifdef __KERNEL__
#include <asm/byteorder.h>
#endif

#include "wire.h"

/* Zeros after each segment, for drivers that read past the size they declared. */
#define VGPU_SEGS_SLACK		64
#define VGPU_SEGS_ALIGN		16

/**
 * struct vgpu_seg_place - where a segment is
 * @addr: in the memory for the driver
 * @in: offset of its bytes in the CALL's data
 * @out: offset of its bytes in the REPLY's data
 */
struct vgpu_seg_place {
	u64 addr;
	u32 in;
	u32 out;
};

static inline u32 vgpu_view_seg_len(const struct vgpu_call_view *view, u32 i)
{
	return le32_to_cpu(view->segs[i].len);
}

static inline bool vgpu_view_seg_is(const struct vgpu_call_view *view, u32 i, u32 flag)
{
	return le32_to_cpu(view->segs[i].flags) & flag;
}

/**
 * vgpu_view_has_seg - is any segment of that kind?
 * @view: the call
 * @flag: VGPU_SEG_*, or several of which one is enough
 */
static inline bool vgpu_view_has_seg(const struct vgpu_call_view *view, u32 flag)
{
	u32 nr = le16_to_cpu(view->call->nr_segs), i;

	for (i = 0; i < nr; i++)
		if (vgpu_view_seg_is(view, i, flag))
			return true;
	return false;
}

/**
 * vgpu_segs_place - lay segments out in one piece of memory
 * @view: the call
 * @places: out: a place for each segment, whose address is one in that memory
 *
 * Those that are PAGE or KEPT need no room.
 *
 * Return: bytes of memory.
 */
size_t vgpu_segs_place(const struct vgpu_call_view *view, struct vgpu_seg_place *places);

/**
 * vgpu_segs_hold - is memory part of one segment, where it was laid out for the driver?
 * @view: the call
 * @places: of its segments
 * @addr: where
 * @len: bytes, at least 1
 */
bool vgpu_segs_hold(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		    u64 addr, u32 len);

/* The address that a PTR or PTR32 fixup puts in its place. */
u64 vgpu_fixup_target(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		      const struct vgpu_fixup *fixup);

/* The guest's own value there: @size bytes, 0 if it sent none. */
u64 vgpu_fixup_original(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
			const struct vgpu_fixup *fixup, size_t size);

/* The place in @data, the bytes of a reply, or NULL if its segment does not come back. */
void *vgpu_fixup_reply(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		       u8 *data, const struct vgpu_fixup *fixup);

/**
 * vgpu_fixup_undo - make a place in a reply the guest's own again
 * @view: the call
 * @places: of its segments
 * @data: bytes of the reply, as the driver left them
 * @fixup: whose place
 * @fd: FD_IN and EVENT: the fd that was put there
 *
 * Only where the field still holds what was placed: the driver may have put an output there.
 * A pointer that it moved on within the segment is moved on for the guest. A time is put back
 * in any case.
 */
void vgpu_fixup_undo(const struct vgpu_call_view *view, const struct vgpu_seg_place *places,
		     u8 *data, const struct vgpu_fixup *fixup, s32 fd);

#endif /* VGPU_SEGS_H */
