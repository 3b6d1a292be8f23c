// SPDX-License-Identifier: GPL-2.0-only
/* Tests of every rule of CALL, broken one at a time. */
#include <stdlib.h>

#include "tap.h"
#include "wire_case.h"

#define ARGS(kind, field, value, ok)	CASE_AT(#kind, 0, vgpu_call, args.kind.field, value, ok)

/* Changes with the same result for all calls that name an object. */
static const struct wire_case any_object[] = {
	BAD(vgpu_call, op, 0),
	BAD(vgpu_call, op, VGPU_OP_CLOCK + 1),
	BAD(vgpu_call, object, 0),
	BAD(vgpu_call, flags, VGPU_CALL_DEBUG << 1),
	GOOD(vgpu_call, f_flags, ~0U),
	GOOD(vgpu_call, pos, ~0ULL),
	GOOD(vgpu_call, control_seq, ~0ULL),
	BAD(vgpu_call, nr_segs, 17),
	BAD(vgpu_call, nr_segs, U16_MAX),
	BAD(vgpu_call, nr_fixups, 17),
	BAD(vgpu_call, nr_fixups, U16_MAX),
};

static const struct wire_case no_segs[] = {
	BAD(vgpu_call, nr_segs, 1),
	BAD(vgpu_call, nr_fixups, 1),
};

static const struct wire_case call_open[] = {
	BAD(vgpu_call, object, 7),
	ARGS(open, export, 0, false),
	ARGS(open, flags, ~0U, true),
	ARGS(open, reserved[0], 1, false),
	ARGS(open, reserved[4], 1, false),
	BAD(vgpu_call, flags, VGPU_CALL_WATCH),		/* an open returns no fences */
	BAD(vgpu_call, flags, VGPU_CALL_ADMIN),		/* allowed for ioctls alone */
	BAD(vgpu_call, flags, VGPU_CALL_CLOCKS),	/* allowed for ioctls alone */
	BAD(vgpu_call, flags, VGPU_CALL_DEBUG),		/* allowed for READ_PAGES alone */
};

static const struct wire_case call_close[] = {
	ARGS(close, reference, ~0U, true),
	ARGS(close, reserved, 1, false),
	ARGS(close, reserved2[0], 1, false),
	ARGS(close, reserved2[4], 1ULL << 63, false),
};

static const struct wire_case call_ioctl_value[] = {
	ARGS(ioctl, cmd, ~0U, true),
	ARGS(ioctl, arg, ~0ULL, true),
	/* The argument would be the address of a missing segment. */
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_SEG, false),
	/* The kind after ARG_FD does not exist. */
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_FD, true),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_FD + 1, false),
	GOOD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(ioctl, low, 0x10000, false),
	ARGS(ioctl, low_len, 0x1000, false),
	ARGS(ioctl, number, ~0U, true),
	ARGS(ioctl, reserved, 1, false),
	ARGS(ioctl, reserved2, 1, false),
};

static const struct wire_case call_ioctl_fd[] = {
	ARGS(ioctl, arg, 0, false),
	ARGS(ioctl, arg, ~0U, true),
	ARGS(ioctl, arg, 1ULL << 32, false),
	ARGS(ioctl, arg, ~0ULL, false),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_VALUE, true),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_SEG, false),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_FD + 1, false),
	GOOD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(ioctl, low, 0x10000, false),
	ARGS(ioctl, low_len, 0x1000, false),
	ARGS(ioctl, reserved, 1, false),
	/* These fixups need a segment, and the call has none. */
	FIXUP_CASE(0, 0, type, VGPU_FIXUP_FD_IN, false),
	FIXUP_CASE(0, 0, type, VGPU_FIXUP_PTR, false),
};

static const struct wire_case call_ioctl_page[] = {
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_SEG, false),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_FD, false),
	SEG_CASE(0, addr, 0x7ffc00001001, false),
	SEG_CASE(0, addr, -4096ULL, false),
	SEG_CASE(0, addr, 0x7ffc00004000, false),	/* overlaps the other */
	SEG_CASE(0, addr, 0x7ffc00005000, true),	/* just behind it */
	SEG_CASE(0, addr, 0x7ffc00003000, true),	/* just before it */
	SEG_CASE(1, addr, 0x7ffc00001000, false),
	SEG_CASE(1, addr, 0x7ffc00000000, true),
	SEG_CASE(1, addr, 0x7ffc00002000, true),
	SEG_CASE(0, len, 0, false),
	SEG_CASE(0, len, 4088, false),
	SEG_CASE(0, len, 2 * VGPU_PAGE_SIZE, false),
	SEG_CASE(0, flags, VGPU_SEG_PAGE, false),
	SEG_CASE(0, flags, VGPU_SEG_PAGE | VGPU_SEG_OUT, false),
	SEG_CASE(0, flags, VGPU_SEG_PAGE | VGPU_SEG_IN | VGPU_SEG_OUT, false),
	/* An integer argument cannot point to a segment in scratch memory. */
	SEG_CASE(0, flags, VGPU_SEG_IN, false),
	SEG_CASE(1, flags, VGPU_SEG_IN, false),
};

#define SEG_DATA(segs, fixups) \
	(sizeof(struct vgpu_call) + (segs) * sizeof(struct vgpu_seg) + \
	 (fixups) * sizeof(struct vgpu_fixup))

static const struct wire_case call_ioctl_seg[] = {
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_VALUE, false),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_FD, false),
	ARGS(ioctl, arg, 1, false),
	BAD(vgpu_call, nr_segs, 0),
	GOOD(vgpu_call, flags, VGPU_CALL_WATCH),
	GOOD(vgpu_call, flags, VGPU_CALL_ADMIN),
	GOOD(vgpu_call, flags, VGPU_CALL_CLOCKS),
	BAD(vgpu_call, flags, VGPU_CALL_DEBUG),
	/* A 32-bit call needs room below 4 GiB, and no other call may have it. */
	BAD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(ioctl, low, 0x10000, false),
	ARGS(ioctl, low_len, 0x1000, false),
	SEG_CASE(0, addr, ~0ULL, true),
	SEG_CASE(0, len, 11, false),			/* byte 12 is padding then */
	SEG_CASE(0, len, 16, true),
	SEG_CASE(0, len, 17, false),
	SEG_CASE(0, len, 0, false),
	SEG_CASE(0, len, ~0U, false),
	SEG_CASE(0, flags, 0, false),
	SEG_CASE(0, flags, VGPU_SEG_IN, true),
	SEG_CASE(0, flags, VGPU_SEG_OUT, false),	/* the data is too long */
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_PAGE, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | 8, false),
	BYTE_CASE("padding", SEG_DATA(1, 0) + 12, 1, false),
	BYTE_CASE("padding", SEG_DATA(1, 0) + 15, 1, false),
};

#define KEPT_AT		(SEG_DATA(3, 0) + 8)
#define KEPT2_AT	(KEPT_AT + sizeof(struct vgpu_kept) + 2 * sizeof(struct vgpu_run))
#define KEPT(field, value, ok)	CASE_AT("kept", KEPT_AT, vgpu_kept, field, value, ok)
#define RUN(i, field, value, ok) \
	CASE_AT("run " #i, KEPT_AT + sizeof(struct vgpu_kept) + (i) * sizeof(struct vgpu_run), \
		vgpu_run, field, value, ok)

static const struct wire_case call_ioctl_kept[] = {
	/* KEPT segments need a struct as the argument, and the struct itself cannot be KEPT. */
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_VALUE, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_KEPT, false),
	SEG_CASE(1, flags, VGPU_SEG_KEPT, false),
	SEG_CASE(1, flags, VGPU_SEG_KEPT | VGPU_SEG_OUT, false),
	SEG_CASE(1, flags, VGPU_SEG_KEPT | VGPU_SEG_IN | VGPU_SEG_OUT, false),
	SEG_CASE(1, flags, VGPU_SEG_KEPT | VGPU_SEG_IN | VGPU_SEG_PAGE, false),
	SEG_CASE(1, flags, VGPU_SEG_IN, true),
	SEG_CASE(1, addr, 0x7f0000200008, false),
	SEG_CASE(1, addr, 0x7f0000201000, true),	/* ends where the other begins */
	SEG_CASE(1, addr, 0x7f0000202000, false),	/* a page later */
	SEG_CASE(1, addr, 0x7f0000402000, false),
	SEG_CASE(1, addr, 0x7f0000403000, true),
	SEG_CASE(2, addr, 0x7f0000200000, false),
	SEG_CASE(2, addr, 0x7f0000401000, true),
	SEG_CASE(1, addr, -0x201000ULL, false),
	SEG_CASE(1, len, 0, false),
	SEG_CASE(1, len, 24, false),
	SEG_CASE(1, len, 40, false),
	SEG_CASE(1, len, 48, false),
	SEG_CASE(2, len, 24, false),
	KEPT(number, 0, false),
	KEPT(number, ~0ULL, true),
	KEPT(len, 0, false),
	KEPT(len, 0x200000, false),
	KEPT(len, 0x201008, false),
	KEPT(len, 0x202000, false),
	KEPT(len, ~0ULL, false),
	KEPT(flags, 0, true),
	KEPT(flags, VGPU_KEPT_WRITE << 1, false),
	KEPT(reserved, 1, false),
	RUN(0, addr, 0x80000800, false),
	RUN(0, addr, -0x200000ULL, false),
	RUN(0, addr, 0, true),
	RUN(0, len, 0, false),
	RUN(0, len, 0x201000, false),
	RUN(0, len, 0x1ff000, false),
	RUN(1, len, 0x1800, false),
	RUN(1, len, -0x200000ULL, false),
	CASE_AT("second", KEPT2_AT, vgpu_kept, number, 1, true),
	CASE_AT("second", KEPT2_AT, vgpu_kept, len, 0x2000, false),
};

#define FIX(j, field, value, ok)	FIXUP_CASE(5, j, field, value, ok)

static const struct wire_case call_ioctl_nested[] = {
	/* The place of a PTR: */
	FIX(0, type, 0, false),
	FIX(0, type, VGPU_FIXUP_EVENT + 1, false),
	FIX(0, type, VGPU_FIXUP_PTR32, true),
	FIX(0, seg, 5, false),
	FIX(0, seg, 4, false),			/* a PAGE segment */
	FIX(0, seg, 3, false),			/* an empty segment */
	FIX(0, seg, 1, false),			/* overlaps the TIME there */
	FIX(0, seg, 2, false),			/* overlaps the FD_OUT there */
	FIX(0, offset, 4, false),
	FIX(0, offset, 8, false),		/* overlaps fixup 1 */
	FIX(0, offset, 16, false),		/* overlaps the PTR32 at 20 */
	FIX(1, offset, 12, true),		/* of a packed struct */
	FIX(1, offset, 10, false),
	FIX(0, offset, 24, false),
	FIX(0, offset, 32, false),
	FIX(0, offset, 40, false),
	FIX(0, offset, 0xfffffff8, false),
	FIX(2, offset, 28, false),		/* the segment ends at 30 */
	FIX(2, offset, 24, true),
	FIX(4, offset, 24, false),		/* later and before: overlaps the FD_OUT */
	FIX(5, offset, 16, true),
	FIX(5, offset, 36, false),
	FIX(5, offset, 18, false),
	/* The target of a PTR: */
	FIX(0, target, 5, false),
	FIX(0, target, ~0U, false),
	FIX(0, target, 0, true),		/* a pointer into its own segment */
	FIX(0, target, 4, false),		/* a PAGE segment has its own address */
	FIX(0, target_offset, 13, true),	/* one past the end */
	FIX(0, target_offset, 14, false),
	FIX(0, target_offset, ~0U, false),
	FIX(4, target_offset, 1, false),
	/* FD_OUT: */
	FIX(2, seg, 1, false),			/* IN only */
	FIX(2, target, 1, false),
	FIX(2, target_offset, 1, false),
	/* FD_IN: */
	FIX(3, target, 0, false),
	FIX(3, target, ~0U, true),
	FIX(3, target_offset, 1, false),
	FIX(3, offset, 12, false),
	FIX(3, offset, 4, false),		/* overlaps the TIME */
	FIX(3, type, VGPU_FIXUP_FD_OUT, false),
	/* FD_RET: */
	FIX(7, seg, 1, false),
	FIX(7, offset, 4, false),
	FIX(7, target, 1, false),
	FIX(7, target_offset, 1, false),
	FIX(6, type, VGPU_FIXUP_FD_RET, false),
	/* FD_OUT in the place of an FD_IN, in this order and nowhere else: */
	FIX(8, offset, 24, false),		/* the FD_OUT is before the FD_IN */
	FIX(8, offset, 16, true),
	FIX(8, type, VGPU_FIXUP_PTR32, false),
	FIX(9, offset, 24, false),		/* two FD_OUT */
	FIX(9, offset, 20, false),
	FIX(9, offset, 16, true),
	FIX(9, target, 9, false),
	/* EVENT: */
	FIX(3, type, VGPU_FIXUP_EVENT, true),
	FIX(8, type, VGPU_FIXUP_EVENT, false),	/* an FD_OUT is there */
	/* TIME: */
	FIX(10, seg, 2, false),			/* OUT only */
	FIX(10, offset, 4, false),
	FIX(10, offset, 8, false),		/* overlaps the FD_IN there, and the end */
	FIX(10, target, 1, false),
	FIX(10, target_offset, 1, false),
	BAD(vgpu_call, nr_segs, 4),
	BAD(vgpu_call, nr_fixups, 7),
	ARGS(ioctl, arg_kind, VGPU_IOCTL_ARG_VALUE, false),
	/* Room below 4 GiB: */
	BAD(vgpu_call, flags, 0),
	ARGS(ioctl, low, 0, true),
	ARGS(ioctl, low, 0xf7c00800, false),
	ARGS(ioctl, low, 0xffffe000, true),	/* to the end */
	ARGS(ioctl, low, 0xfffff000, false),
	ARGS(ioctl, low, 1ULL << 32, false),
	ARGS(ioctl, low, -4096ULL, false),
	ARGS(ioctl, low_len, 0, false),
	ARGS(ioctl, low_len, 0x1000, true),
	ARGS(ioctl, low_len, 0x1800, false),
	ARGS(ioctl, low_len, 1ULL << 32, false),
	ARGS(ioctl, low_len, -4096ULL, false),
	SEG_CASE(2, len, 0x2000 - 5 * 96 - 56, true),
	SEG_CASE(2, len, 0x2000 - 5 * 96 - 55, false),
};

static const struct wire_case call_read[] = {
	GOOD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(rw, reserved[0], 1, false),
	ARGS(rw, reserved[5], 1, false),
	BAD(vgpu_call, nr_segs, 0),
	SEG_CASE(0, flags, VGPU_SEG_IN, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_OUT, false),
	SEG_CASE(0, flags, 0, false),
	SEG_CASE(0, len, 0, true),
	/* The reply has to fit into a lane message of 128 KiB. */
	SEG_CASE(0, len, (128 << 10) - sizeof(struct vgpu_reply), true),
	SEG_CASE(0, len, (128 << 10) - sizeof(struct vgpu_reply) + 1, false),
	SEG_CASE(0, len, ~0U, false),
};

static const struct wire_case call_write[] = {
	GOOD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(write, addr, 1, false),
	ARGS(write, len, 1, false),
	BAD(vgpu_call, nr_segs, 0),
	SEG_CASE(0, flags, VGPU_SEG_OUT, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_OUT, false),
	SEG_CASE(0, len, 105, false),
	BYTE_CASE("padding", SEG_DATA(1, 0) + 100, 1, false),
};

static const struct wire_case call_write_named[] = {
	GOOD(vgpu_call, flags, VGPU_CALL_COMPAT),
	ARGS(write, addr, 0, true),
	ARGS(write, addr, ~0ULL, false),
	ARGS(write, len, 0, false),
	ARGS(write, len, ~0U, false),
	ARGS(write, reserved, 1, false),
	ARGS(write, reserved2[0], 1, false),
	ARGS(write, reserved2[3], 1, false),
};

static const struct wire_case call_llseek[] = {
	ARGS(llseek, offset, ~0ULL, true),
	ARGS(llseek, whence, SEEK_MAX, true),
	ARGS(llseek, whence, SEEK_MAX + 1, false),
	ARGS(llseek, reserved, 1, false),
	ARGS(llseek, reserved2[0], 1, false),
	ARGS(llseek, reserved2[3], 1, false),
};

static const struct wire_case call_poll[] = {
	ARGS(poll, events, VGPU_POLL_EVENTS, true),
	ARGS(poll, events, 0x4000, false),
	ARGS(poll, events, 1U << 31, false),
	ARGS(poll, flags, VGPU_POLL_STAY, true),
	ARGS(poll, flags, VGPU_POLL_STAY << 1, false),
	ARGS(poll, number, ~0U, true),
	ARGS(poll, reserved, 1, false),
	ARGS(poll, reserved2[0], 1, false),
	ARGS(poll, reserved2[3], 1, false),
	BAD(vgpu_call, flags, VGPU_CALL_WATCH),
};

static const struct wire_case call_clock[] = {
	BAD(vgpu_call, object, 7),
	ARGS(rw, reserved[0], 1, false),
	ARGS(rw, reserved[5], 1, false),
	BAD(vgpu_call, flags, VGPU_CALL_CLOCKS),
};

static const struct wire_case call_protect[] = {
	BAD(vgpu_call, object, 7),
	ARGS(protect, addr, 0x7f0000001008, false),
	ARGS(protect, addr, -0x4000ULL, false),
	ARGS(protect, len, 0, false),
	ARGS(protect, len, 0x4001, false),
	ARGS(protect, prot, 0, false),
	ARGS(protect, prot, PROT_READ, false),
	ARGS(protect, prot, PROT_WRITE, true),
	ARGS(protect, prot, PROT_WRITE | PROT_EXEC, false),
	ARGS(protect, reserved, 1, false),
	ARGS(protect, reserved2[0], 1, false),
	ARGS(protect, reserved2[2], 1, false),
};

static const struct wire_case call_bind[] = {
	BAD(vgpu_call, object, 7),
	ARGS(bind, addr, 0x7f0000001008, false),
	ARGS(bind, addr, -0x4000ULL, false),
	ARGS(bind, len, 0, false),
	ARGS(bind, len, 0x4001, false),
	ARGS(bind, window, 0, false),
	ARGS(bind, window, ~0ULL, true),
	ARGS(bind, window_offset, 0, false),
	ARGS(bind, window_offset, 0x1008, false),
	ARGS(bind, window_offset, -0x1000ULL, false),
	ARGS(bind, reserved[0], 1, false),
	ARGS(bind, reserved[1], 1, false),
};

static const struct wire_case call_mmap_window[] = {
	ARGS(mmap, window, ~0ULL, true),
	ARGS(mmap, window, 0, false),
	ARGS(mmap, window_offset, 0, false),
	ARGS(mmap, window_offset, 0x1008, false),
	ARGS(mmap, window_offset, -0x1000ULL, false),
};

static const struct wire_case call_mmap[] = {
	ARGS(mmap, addr, 0x7f0000001008, false),
	ARGS(mmap, addr, -4096ULL, false),
	ARGS(mmap, addr, -0x4000ULL, false),
	ARGS(mmap, len, 0, false),
	ARGS(mmap, len, 0x4001, false),
	ARGS(mmap, len, -4096ULL, false),
	ARGS(mmap, offset, 0, true),
	ARGS(mmap, offset, 1, false),
	ARGS(mmap, offset, -4096ULL, false),
	ARGS(mmap, prot, 0, true),
	ARGS(mmap, prot, PROT_EXEC, true),
	ARGS(mmap, prot, 8, false),
	ARGS(mmap, flags, MAP_PRIVATE, true),
	ARGS(mmap, flags, 0, false),
	ARGS(mmap, flags, MAP_SHARED | MAP_PRIVATE, false),
	ARGS(mmap, flags, MAP_SHARED | MAP_FIXED, false),
	ARGS(mmap, window, 1, false),
	ARGS(mmap, window_offset, 0x1000, false),
};

static const struct wire_case call_read_pages[] = {
	BAD(vgpu_call, object, 7),
	GOOD(vgpu_call, flags, VGPU_CALL_DEBUG),
	BAD(vgpu_call, flags, VGPU_CALL_CLOCKS),
	BAD(vgpu_call, nr_segs, 0),
	BAD(vgpu_call, nr_fixups, 1),
	ARGS(pages, addr, 0x7f0000002008, false),
	ARGS(pages, addr, -4096ULL, false),
	ARGS(pages, len, 0, false),
	ARGS(pages, len, VGPU_PAGE_SIZE, false),
	ARGS(pages, len, 1ULL << 32 | 2 * VGPU_PAGE_SIZE, false),
	ARGS(pages, reserved[0], 1, false),
	ARGS(pages, reserved[3], 1, false),
	SEG_CASE(0, len, VGPU_PAGE_SIZE, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_OUT, false),
};

#define PAGES_RANGE(i, field, value, ok) \
	CASE_AT("range " #i, SEG_DATA(2, 0) + (i) * sizeof(struct vgpu_range), \
		vgpu_range, field, value, ok)

static const struct wire_case call_write_pages[] = {
	BAD(vgpu_call, object, 7),
	BAD(vgpu_call, nr_segs, 1),
	BAD(vgpu_call, nr_fixups, 1),
	ARGS(pages, addr, 4096, false),
	ARGS(pages, len, 4096, false),
	ARGS(pages, reserved[0], 1, false),
	SEG_CASE(0, flags, VGPU_SEG_OUT, false),
	SEG_CASE(0, flags, VGPU_SEG_IN | VGPU_SEG_OUT, false),
	SEG_CASE(1, flags, VGPU_SEG_IN | VGPU_SEG_OUT, false),
	SEG_CASE(0, len, 31, false),
	SEG_CASE(0, len, 16, false),
	SEG_CASE(1, len, 12, false),
	SEG_CASE(1, len, 14, false),
	PAGES_RANGE(0, addr, 1, true),
	PAGES_RANGE(0, addr, -1ULL, false),
	PAGES_RANGE(0, len, 0, false),
	PAGES_RANGE(0, len, 4, false),
	PAGES_RANGE(0, len, ~0U, false),
	PAGES_RANGE(1, flags, VGPU_RANGE_MASK, false),
	PAGES_RANGE(1, flags, 2, false),
	BYTE_CASE("padding", SEG_DATA(2, 0) + 2 * sizeof(struct vgpu_range) + 13, 1, false),
};

static const struct wire_case call_write_pages_mask[] = {
	PAGES_RANGE(1, flags, 0, true),
	PAGES_RANGE(1, addr, 0x7f0000003004, false),
	PAGES_RANGE(1, len, VGPU_MASK_BYTES + 1367, false),
	SEG_CASE(1, len, 3 + VGPU_MASK_BYTES + 1365, false),
	BYTE_CASE("mask", SEG_DATA(2, 0) + 2 * sizeof(struct vgpu_range) + 3, 0, false),
};

static void run_any(void)
{
	static const char * const with_object[] = {
		"call_close", "call_ioctl_value", "call_ioctl_fd", "call_ioctl_page",
		"call_ioctl_seg", "call_ioctl_nested", "call_ioctl_kept", "call_read",
		"call_write", "call_write_named", "call_llseek", "call_poll",
		"call_mmap",
	};
	static const char * const without_segs[] = {
		"call_open", "call_close", "call_llseek", "call_poll", "call_mmap", "call_bind",
		"call_protect", "call_clock", "call_write_named",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(with_object); i++)
		WIRE_CASES(with_object[i], any_object);
	for (i = 0; i < ARRAY_SIZE(without_segs); i++)
		WIRE_CASES(without_segs[i], no_segs);
}

/* These calls refuse a further segment, and a fixup. */
static void test_extra(void)
{
	static struct wire_buf buf;
	static const char * const names[] = {
		"call_open", "call_close", "call_llseek", "call_poll", "call_mmap",
		"call_read", "call_write_pages", "call_write_pages_mask",
	};
	struct vgpu_call *call = (struct vgpu_call *)buf.words;
	struct vgpu_seg seg = { .flags = cpu_to_le32(VGPU_SEG_OUT) };
	struct vgpu_fixup fixup = { .type = cpu_to_le16(VGPU_FIXUP_FD_RET) };
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct wire_sample *sample = wire_sample_find(names[i]);

		/* One more OUT segment, which is empty, is well-formed in itself. */
		sample->fill(&buf);
		at = SEG_DATA(le16_to_cpu(call->nr_segs), 0);
		memmove((u8 *)buf.words + at + sizeof(seg), (u8 *)buf.words + at, buf.len - at);
		memcpy((u8 *)buf.words + at, &seg, sizeof(seg));
		call->nr_segs = cpu_to_le16(le16_to_cpu(call->nr_segs) + 1);
		call->hdr.len = cpu_to_le32(buf.len + sizeof(seg));
		tap_expect(wire_case_check(buf.words, buf.len + sizeof(seg), NULL,
					   &wire_sample_limits) == -EPROTO,
			   "%s: one segment more", names[i]);

		sample->fill(&buf);
		at = SEG_DATA(le16_to_cpu(call->nr_segs), 0);
		memmove((u8 *)buf.words + at + sizeof(fixup), (u8 *)buf.words + at, buf.len - at);
		memcpy((u8 *)buf.words + at, &fixup, sizeof(fixup));
		call->nr_fixups = cpu_to_le16(1);
		call->hdr.len = cpu_to_le32(buf.len + sizeof(fixup));
		tap_expect(wire_case_check(buf.words, buf.len + sizeof(fixup), NULL,
					   &wire_sample_limits) == -EPROTO,
			   "%s: a fixup", names[i]);
	}
	tap_subject("what other calls may not have");
}

/* The view's sums are right, and limits are met exactly or missed by one. */
static void test_limits(void)
{
	struct vgpu_wire_limits limits = wire_sample_limits;
	static struct wire_buf buf;
	struct vgpu_call_view view;

	wire_sample_find("call_ioctl_nested")->fill(&buf);
	tap_expect(!vgpu_wire_call_check(buf.words, buf.len, &limits, &view), "accepted");
	tap_expect(view.scratch_bytes == 40 + 16 + 32, "scratch: %u", view.scratch_bytes);
	tap_expect(view.reply_bytes == 40 + 32, "reply: %u", view.reply_bytes);
	tap_expect((const u8 *)view.segs == (u8 *)buf.words + SEG_DATA(0, 0), "segs");
	tap_expect((const u8 *)view.fixups == (u8 *)buf.words + SEG_DATA(5, 0), "fixups");
	tap_expect(view.data == (u8 *)buf.words + SEG_DATA(5, 11), "data");

	limits.segs = 5;
	limits.fixups = 11;
	limits.call_bytes = buf.len;
	tap_expect(!wire_case_check(buf.words, buf.len, NULL, &limits), "exactly its limits");
	limits.segs = 4;
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO, "segs");
	limits.segs = 5;
	limits.fixups = 10;
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO, "fixups");
	limits.fixups = 11;
	limits.call_bytes = buf.len - 8;
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO, "bytes");
	tap_subject("limits");
}

/*
 * Writes an ioctl with @nr FD_OUT fixups in an OUT segment of @len bytes, in the
 * order for which the check compares each fixup with all others.
 */
static void fill_fds(struct wire_buf *buf, u32 nr, u32 len)
{
	struct vgpu_call *call = (struct vgpu_call *)buf->words;
	struct vgpu_seg *seg = (struct vgpu_seg *)(call + 1);
	struct vgpu_fixup *fixup = (struct vgpu_fixup *)(seg + 1);
	u32 i;

	memset(buf->words, 0, SEG_DATA(1, nr));
	buf->len = SEG_DATA(1, nr);
	call->hdr.len = cpu_to_le32(buf->len);
	call->hdr.type = cpu_to_le16(VGPU_MSG_CALL);
	call->hdr.seq = cpu_to_le64(1);
	call->op = cpu_to_le16(VGPU_OP_IOCTL);
	call->object = cpu_to_le32(1);
	call->nr_segs = cpu_to_le16(1);
	call->nr_fixups = cpu_to_le16(nr);
	call->args.ioctl.arg_kind = cpu_to_le32(VGPU_IOCTL_ARG_SEG);
	seg->len = cpu_to_le32(len);
	seg->flags = cpu_to_le32(VGPU_SEG_OUT);
	for (i = 0; i < nr; i++, fixup++) {
		fixup->type = cpu_to_le16(VGPU_FIXUP_FD_OUT);
		fixup->offset = cpu_to_le32(4 * (nr - 1 - i));
	}
}

/* Numbers that no operation has, and the one that has none any more, are refused. */
static void test_unknown_op(void)
{
	static const u16 ops[] = { 0, VGPU_OP_RESERVED, VGPU_OP_CLOCK + 1, U16_MAX };
	static struct wire_buf buf;
	struct vgpu_call *call = (struct vgpu_call *)buf.words;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		wire_sample_find("call_clock")->fill(&buf);
		tap_expect(!wire_case_check(buf.words, buf.len, NULL, &wire_sample_limits),
			   "a known operation");
		call->op = cpu_to_le16(ops[i / 2]);
		call->object = cpu_to_le32(i % 2);
		tap_expect(wire_case_check(buf.words, buf.len, NULL, &wire_sample_limits) ==
			   -EPROTO, "operation %u", ops[i / 2]);
	}
	tap_subject("unknown operations");
}

/* Calls that need a feature are refused without the feature. */
static void test_features(void)
{
	static const struct {
		const char *sample;
		u64 feature;
	} needs[] = {
		{ "call_ioctl_page", VGPU_FEATURE_DEMAND },
		{ "call_ioctl_nested", VGPU_FEATURE_DEMAND },
		{ "call_write_named", VGPU_FEATURE_WRITE_NAMED },
		{ "call_mmap", VGPU_FEATURE_COPY_MMAP },
		{ "call_mmap_window", VGPU_FEATURE_COPY_MMAP | VGPU_FEATURE_WINDOW },
		{ "call_bind", VGPU_FEATURE_COPY_MMAP | VGPU_FEATURE_WINDOW },
		{ "call_protect", VGPU_FEATURE_COPY_MMAP },
		{ "call_read_pages", VGPU_FEATURE_COPY_MMAP },
		{ "call_write_pages", VGPU_FEATURE_COPY_MMAP },
		{ "call_ioctl_kept", VGPU_FEATURE_KEEP },
		{ "call_ioctl_seg", 0 },
		{ "call_open", 0 },
	};
	struct vgpu_wire_limits limits = wire_sample_limits;
	static struct wire_buf buf;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		wire_sample_find(needs[i].sample)->fill(&buf);
		limits.features = needs[i].feature;
		tap_expect(!wire_case_check(buf.words, buf.len, NULL, &limits), "%s with it",
			   needs[i].sample);
		limits.features = VGPU_FEATURES & ~needs[i].feature;
		tap_expect(!wire_case_check(buf.words, buf.len, NULL, &limits) == !needs[i].feature,
			   "%s without", needs[i].sample);
	}
	tap_subject("features");
}

/* No fixup may lie in a KEPT segment or lead to one, and PAGE excludes KEPT. */
static void test_kept(void)
{
	struct vgpu_fixup fixup = { .type = cpu_to_le16(VGPU_FIXUP_PTR) };
	static struct wire_buf buf;
	struct vgpu_call *call = (struct vgpu_call *)buf.words;
	struct vgpu_seg *segs = (struct vgpu_seg *)(call + 1);
	u32 seg, target;

	for (seg = 0; seg < 2; seg++)
		for (target = 0; target < 2; target++) {
			wire_sample_find("call_ioctl_kept")->fill(&buf);
			fixup.seg = cpu_to_le16(seg);
			fixup.target = cpu_to_le32(target);
			memmove((u8 *)(segs + 3) + sizeof(fixup), segs + 3,
				buf.len - SEG_DATA(3, 0));
			memcpy(segs + 3, &fixup, sizeof(fixup));
			call->nr_fixups = cpu_to_le16(1);
			call->hdr.len = cpu_to_le32(buf.len + sizeof(fixup));
			tap_expect(!wire_case_check(buf.words, buf.len + sizeof(fixup), NULL,
						    &wire_sample_limits) == (!seg && !target),
				   "a fixup in %u that leads to %u", seg, target);
		}
	/* The segment's 40 bytes become a page. */
	wire_sample_find("call_ioctl_kept")->fill(&buf);
	memset((u8 *)buf.words + buf.len - 40, 1, VGPU_PAGE_SIZE);
	buf.len += VGPU_PAGE_SIZE - 40;
	call->hdr.len = cpu_to_le32(buf.len);
	segs[2].len = cpu_to_le32(VGPU_PAGE_SIZE);
	segs[2].flags = cpu_to_le32(VGPU_SEG_IN);
	tap_expect(!wire_case_check(buf.words, buf.len, NULL, &wire_sample_limits),
		   "with ordinary bytes");
	segs[2].flags = cpu_to_le32(VGPU_SEG_IN | VGPU_SEG_PAGE);
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &wire_sample_limits) == -EPROTO,
		   "with a page");
	tap_subject("memory that the device keeps");
}

/* A call may have VGPU_KEPT_MAX segments with KEPT, and not one more. */
static void test_kept_max(void)
{
	static struct wire_buf buf;
	struct vgpu_call *call = (struct vgpu_call *)buf.words;
	struct vgpu_seg *segs = (struct vgpu_seg *)(call + 1);
	u32 nr, i;

	for (nr = VGPU_KEPT_MAX; nr <= VGPU_KEPT_MAX + 1; nr++) {
		u8 *data = (u8 *)(segs + 1 + nr);

		wire_sample_find("call_ioctl_kept")->fill(&buf);
		segs[0].len = 0;
		for (i = 0; i < nr; i++) {
			struct vgpu_kept *kept = (struct vgpu_kept *)data;
			struct vgpu_run *run = (struct vgpu_run *)(kept + 1);

			segs[1 + i] = (struct vgpu_seg) {
				.addr = cpu_to_le64(0x7f0000000000 + i * VGPU_PAGE_SIZE),
				.len = cpu_to_le32(sizeof(*kept) + sizeof(*run)),
				.flags = cpu_to_le32(VGPU_SEG_IN | VGPU_SEG_KEPT),
			};
			*kept = (struct vgpu_kept) {
				.number = cpu_to_le64(1 + i), .len = cpu_to_le64(VGPU_PAGE_SIZE),
			};
			*run = (struct vgpu_run) { .len = cpu_to_le64(VGPU_PAGE_SIZE) };
			data += sizeof(*kept) + sizeof(*run);
		}
		buf.len = data - (u8 *)buf.words;
		call->hdr.len = cpu_to_le32(buf.len);
		call->nr_segs = cpu_to_le16(1 + nr);
		tap_expect(!wire_case_check(buf.words, buf.len, NULL, &wire_sample_limits) ==
			   (nr == VGPU_KEPT_MAX), "%u of them", nr);
	}
	tap_subject("how much of it there may be");
}

static void test_fds(void)
{
	const struct vgpu_wire_limits limits = { 16384, 4096, 8192, VGPU_FEATURES };
	const u32 room = 16384 - sizeof(struct vgpu_reply);
	static struct wire_buf buf;

	fill_fds(&buf, VGPU_FDS_MAX, 4 * VGPU_FDS_MAX);
	tap_expect(!wire_case_check(buf.words, buf.len, NULL, &limits), "64 fds");
	fill_fds(&buf, VGPU_FDS_MAX + 1, 4 * VGPU_FDS_MAX + 4);
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO, "65 fds");
	fill_fds(&buf, 2, room - 2 * sizeof(struct vgpu_object_desc));
	tap_expect(!wire_case_check(buf.words, buf.len, NULL, &limits), "reply is full");
	fill_fds(&buf, 2, room - 2 * sizeof(struct vgpu_object_desc) + 1);
	tap_expect(wire_case_check(buf.words, buf.len, NULL, &limits) == -EPROTO,
		   "no room for the objects in the reply");
	tap_subject("fds that come back");
}

int main(void)
{
	run_any();
	WIRE_CASES("call_open", call_open);
	WIRE_CASES("call_close", call_close);
	WIRE_CASES("call_ioctl_value", call_ioctl_value);
	WIRE_CASES("call_ioctl_fd", call_ioctl_fd);
	WIRE_CASES("call_ioctl_page", call_ioctl_page);
	WIRE_CASES("call_ioctl_seg", call_ioctl_seg);
	WIRE_CASES("call_ioctl_nested", call_ioctl_nested);
	WIRE_CASES("call_ioctl_kept", call_ioctl_kept);
	WIRE_CASES("call_read", call_read);
	WIRE_CASES("call_write", call_write);
	WIRE_CASES("call_write_named", call_write_named);
	WIRE_CASES("call_llseek", call_llseek);
	WIRE_CASES("call_poll", call_poll);
	WIRE_CASES("call_mmap", call_mmap);
	WIRE_CASES("call_mmap_window", call_mmap_window);
	WIRE_CASES("call_bind", call_bind);
	WIRE_CASES("call_protect", call_protect);
	WIRE_CASES("call_clock", call_clock);
	WIRE_CASES("call_read_pages", call_read_pages);
	WIRE_CASES("call_write_pages", call_write_pages);
	WIRE_CASES("call_write_pages_mask", call_write_pages_mask);
	test_unknown_op();
	test_extra();
	test_limits();
	test_fds();
	test_kept();
	test_kept_max();
	test_features();
	return tap_done();
}
