// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the places of a call's segments in scratch memory, and of the way in which fixed
 * up fields get the guest's own values back.
 */
#include "segs.h"
#include "tap.h"

#define SCRATCH	0x3e0000001000ULL

#define SEGS	5
#define KEPT	(sizeof(struct vgpu_kept) + 2 * sizeof(struct vgpu_run))
/* Flags of segments that are not in the scratch memory. */
#define APART	(VGPU_SEG_PAGE | VGPU_SEG_KEPT)

/*
 * A call with five segments: one in and out, one in, a page, memory that the device keeps, and
 * one that is out only.
 */
static struct {
	struct vgpu_call call;
	struct vgpu_seg segs[SEGS];
	u8 data[24 + 8 + VGPU_PAGE_SIZE + KEPT];
} sent;
static struct vgpu_call_view view;
static struct vgpu_seg_place places[SEGS];
static u8 reply[24 + 16];

static void seg_set(u32 i, u32 len, u32 flags)
{
	sent.segs[i].len = cpu_to_le32(len);
	sent.segs[i].flags = cpu_to_le32(flags);
}

static size_t call_make(void)
{
	size_t size;
	u32 i;

	sent.call.nr_segs = cpu_to_le16(SEGS);
	seg_set(0, 24, VGPU_SEG_IN | VGPU_SEG_OUT);
	seg_set(1, 5, VGPU_SEG_IN);
	seg_set(2, VGPU_PAGE_SIZE, VGPU_SEG_IN | VGPU_SEG_PAGE);
	seg_set(3, KEPT, VGPU_SEG_IN | VGPU_SEG_KEPT);
	seg_set(4, 9, VGPU_SEG_OUT);
	view.call = &sent.call;
	view.segs = sent.segs;
	view.data = sent.data;
	size = vgpu_segs_place(&view, places);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		places[i].addr += SCRATCH;
	return size;
}

static void test_place(void)
{
	size_t size = call_make();
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		u64 end = places[i].addr + vgpu_view_seg_len(&view, i) + VGPU_SEGS_SLACK;

		if (vgpu_view_seg_is(&view, i, APART))
			continue;
		tap_expect(!(places[i].addr % VGPU_SEGS_ALIGN), "%u is aligned", i);
		tap_expect(end <= SCRATCH + size, "%u and its zeros are within", i);
		for (j = i + 1; j < ARRAY_SIZE(places); j++)
			tap_expect(vgpu_view_seg_is(&view, j, APART) ||
				   end <= places[j].addr, "%u is before %u", i, j);
	}
	tap_expect(places[0].in == 0 && places[1].in == 24 && places[2].in == 32 &&
		   places[3].in == 32 + VGPU_PAGE_SIZE, "sent bytes");
	tap_expect(places[0].out == 0 && places[4].out == 24, "bytes that come back");
	tap_subject("places");
}

static struct vgpu_fixup fixup_make(u16 type, u32 offset, u32 target, u32 target_offset)
{
	return (struct vgpu_fixup) {
		.type = cpu_to_le16(type),
		.offset = cpu_to_le32(offset),
		.target = cpu_to_le32(target),
		.target_offset = cpu_to_le32(target_offset),
	};
}

/* Undoes a fixup of the field at 8: the guest sent @original, the driver left @left. */
static u64 undone(const struct vgpu_fixup *fixup, u64 original, u64 left, size_t size, s32 fd)
{
	u64 value = 0;

	memcpy(sent.data + 8, &original, size);
	memcpy(reply + 8, &left, size);
	vgpu_fixup_undo(&view, places, reply, fixup, fd);
	memcpy(&value, reply + 8, size);
	return value;
}

static void test_ptr(void)
{
	struct vgpu_fixup fixup = fixup_make(VGPU_FIXUP_PTR, 8, 1, 2);
	u64 placed, own = 0x7ffe12345678, seg;

	call_make();
	seg = places[1].addr;
	placed = vgpu_fixup_target(&view, places, &fixup);
	tap_expect(placed == seg + 2, "what is placed");
	tap_expect(undone(&fixup, own, placed, 8, -1) == own, "as it was");
	tap_expect(undone(&fixup, own, placed + 3, 8, -1) == own + 3, "moved to the end");
	tap_expect(undone(&fixup, own, seg, 8, -1) == own - 2, "moved to the beginning");
	tap_expect(undone(&fixup, own, seg + 6, 8, -1) == seg + 6, "beyond the end");
	tap_expect(undone(&fixup, own, seg - 1, 8, -1) == seg - 1, "before the beginning");
	tap_expect(undone(&fixup, own, 42, 8, -1) == 42, "an output");
	tap_subject("pointers");

	fixup.type = cpu_to_le16(VGPU_FIXUP_PTR32);
	places[1].addr = 0x1000;
	tap_expect(undone(&fixup, 0x80000000, 0x1002, 4, -1) == 0x80000000, "as it was");
	tap_expect(undone(&fixup, 0x80000000, 0x1005, 4, -1) == 0x80000003, "moved");
	tap_expect(undone(&fixup, 0x80000000, 7, 4, -1) == 7, "an output");
	tap_subject("pointers of 32-bit programs");
}

static void test_others(void)
{
	struct vgpu_fixup fixup = fixup_make(VGPU_FIXUP_FD_IN, 8, 9, 0);

	call_make();
	tap_expect(undone(&fixup, 5, 1030, 4, 1030) == 5, "an fd");
	tap_expect(undone(&fixup, 5, 1031, 4, 1030) == 1031, "another in its place");
	fixup.type = cpu_to_le16(VGPU_FIXUP_EVENT);
	tap_expect(undone(&fixup, 5, 3, 4, 3) == 5, "an eventfd");
	fixup.type = cpu_to_le16(VGPU_FIXUP_TIME);
	tap_expect(undone(&fixup, 1000, 77, 8, -1) == 1000, "a time");
	fixup.type = cpu_to_le16(VGPU_FIXUP_FD_OUT);
	tap_expect(undone(&fixup, 5, 3, 4, 3) == 3, "an fd that comes back is not touched");
	tap_subject("fds and times");

	/* A fixup in an OUT segment has no original, and one in an IN segment none in the reply. */
	fixup = fixup_make(VGPU_FIXUP_PTR, 0, 1, 0);
	fixup.seg = cpu_to_le16(4);
	tap_expect(!vgpu_fixup_original(&view, places, &fixup, 8), "nothing was sent");
	tap_expect(vgpu_fixup_reply(&view, places, reply, &fixup) == reply + 24,
		   "where it comes back");
	fixup.seg = cpu_to_le16(1);
	tap_expect(!vgpu_fixup_reply(&view, places, reply, &fixup), "it does not come back");
	vgpu_fixup_undo(&view, places, reply, &fixup, -1);
	tap_subject("segments of one direction");
}

static void test_hold(void)
{
	u32 i, len;

	call_make();
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		u64 addr = places[i].addr;
		bool apart = vgpu_view_seg_is(&view, i, APART);

		len = vgpu_view_seg_len(&view, i);
		tap_expect(vgpu_segs_hold(&view, places, addr, len) != apart, "%u, whole", i);
		tap_expect(vgpu_segs_hold(&view, places, addr + len - 1, 1) != apart, "%u, end", i);
		tap_expect(!vgpu_segs_hold(&view, places, addr, len + 1) &&
			   !vgpu_segs_hold(&view, places, addr + 1, len) &&
			   !vgpu_segs_hold(&view, places, addr + len, 1) &&
			   !vgpu_segs_hold(&view, places, addr - 1, 2), "%u, and beside it", i);
		tap_expect(!vgpu_segs_hold(&view, places, addr + 1, U32_MAX), "%u, very long", i);
	}
	tap_expect(!vgpu_segs_hold(&view, places, 0, 1) &&
		   !vgpu_segs_hold(&view, places, U64_MAX, 1), "nowhere");
	tap_subject("what is part of a segment");
}

static void test_has(void)
{
	u32 i;

	call_make();
	for (i = 0; i < SEGS; i++)
		tap_expect(vgpu_view_has_seg(&view, le32_to_cpu(sent.segs[i].flags)),
			   "as %u is", i);
	sent.segs[3].flags = cpu_to_le32(VGPU_SEG_IN);
	tap_expect(!vgpu_view_has_seg(&view, VGPU_SEG_KEPT) &&
		   vgpu_view_has_seg(&view, APART), "no KEPT, but a PAGE");
	/* The search includes the last segment, and nothing behind it. */
	seg_set(SEGS - 1, 9, VGPU_SEG_KEPT);
	tap_expect(vgpu_view_has_seg(&view, VGPU_SEG_KEPT), "the last one");
	sent.call.nr_segs = cpu_to_le16(SEGS - 1);
	tap_expect(!vgpu_view_has_seg(&view, VGPU_SEG_KEPT), "one behind the last");
	sent.call.nr_segs = 0;
	tap_expect(!vgpu_view_has_seg(&view, U32_MAX), "none at all");
	tap_subject("whether there are segments of a kind");
}

int main(void)
{
	test_place();
	test_ptr();
	test_others();
	test_hold();
	test_has();
	return tap_done();
}
