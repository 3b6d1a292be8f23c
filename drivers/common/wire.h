/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Codec of the wire protocol: bounds and consistency of every message, before
 * anything in it is used. Plain C without allocation, that compiles in user
 * space too (unit tests, fuzzers, vgpud).
 *
 * Every function takes a private, 8-byte aligned copy of one whole message,
 * never memory that a peer can still write to, and returns 0 or -EPROTO. After
 * 0, offsets, lengths and counts of the message may be used unchecked.
 */
#ifndef VGPU_WIRE_H
#define VGPU_WIRE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include "uapi/linux/vgpu_wire.h"
#else
#include "wire_user.h"
#endif

/**
 * struct vgpu_wire_limits - what a receiver of calls allows
 * @call_bytes: longest lane message
 * @segs: most segments
 * @fixups: most fixups
 * @features: VGPU_FEATURE_* that were agreed on
 */
struct vgpu_wire_limits {
	u32 call_bytes;
	u32 segs;
	u32 fixups;
	u64 features;
};

/**
 * struct vgpu_call_view - where the parts of a checked CALL are
 * @call: its fixed part
 * @segs: call->nr_segs segments
 * @fixups: call->nr_fixups fixups
 * @data: bytes of the IN segments, each padded to 8
 * @scratch_bytes: sum of all segments' lengths, PAGE and KEPT ones excepted, each
 *	padded to 8
 * @reply_bytes: sum of the OUT segments' lengths, each padded to 8
 */
struct vgpu_call_view {
	const struct vgpu_call *call;
	const struct vgpu_seg *segs;
	const struct vgpu_fixup *fixups;
	const u8 *data;
	u32 scratch_bytes;
	u32 reply_bytes;
};

/**
 * struct vgpu_reply_view - where the parts of a checked REPLY are
 * @reply: its fixed part
 * @objects: reply->nr_objects descriptors
 * @data: bytes of the OUT segments, each padded to 8
 * @data_len: bytes there; READ and READ_PAGES: result, padded to 8
 */
struct vgpu_reply_view {
	const struct vgpu_reply *reply;
	const struct vgpu_object_desc *objects;
	const u8 *data;
	u32 data_len;
};

static inline u32 vgpu_wire_pad(u32 len)
{
	return (len + 7) & ~7U;
}

/* Longest message of @type that a receiver may be sent; 0: unknown type. */
u32 vgpu_wire_len_max(u16 type, const struct vgpu_wire_limits *limits);
/* Shortest one; a header whose len is outside the two closes the connection. */
u32 vgpu_wire_len_min(u16 type);

/* Header alone: type is known, len is within its bounds, flags are in their place. */
int vgpu_wire_hdr_check(const struct vgpu_hdr *hdr, const struct vgpu_wire_limits *limits);

/* How much of a message comes by its connection, by a checked header; the rest is in a slot. */
u32 vgpu_wire_len_sent(const struct vgpu_hdr *hdr);

/*
 * All messages but CALL and REPLY: length exact, reserved zero, enums known,
 * strings terminated and printable, ranges aligned and not wrapping. @msg_len
 * bytes are there and equal hdr.len.
 */
int vgpu_wire_msg_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits);

/* May a file of an export have that name, of VGPU_FILE_NAME_LEN bytes? */
bool vgpu_wire_file_name_ok(const u8 *name);

/*
 * A CALL. Beyond the lengths: the operation's own rules of vgpu_wire.h (which
 * segments, object or none, values in range), PAGE and KEPT segments aligned and not
 * overlapping, runs of a KEPT one aligned and together as long as its memory, every fixup
 * aligned, inside its segment, none overlapping, its target a segment of the call, FD_OUT
 * only in OUT segments, FD_IN and PTR only in segments that are neither PAGE nor KEPT;
 * nothing of a feature that was not agreed on.
 */
int vgpu_wire_call_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits,
			 struct vgpu_call_view *view);

/*
 * A REPLY to the call in @sent (the guest's own copy): sequence number and
 * lengths fit that call, objects answer its fixups, READ's result is not
 * longer than was asked for. Of a reply to READ_PAGES nothing behind struct vgpu_reply is looked
 * at, which may be elsewhere.
 */
int vgpu_wire_reply_check(const void *msg, size_t msg_len, const struct vgpu_call_view *sent,
			  struct vgpu_reply_view *view);

/**
 * vgpu_wire_diff_next - next range in which two buffers differ
 * @old: one buffer
 * @new: the other
 * @len: bytes of both, a multiple of 8
 * @pos: in: where to begin; out: first differing byte
 *
 * Every reported byte differs: an equal one may be another thread's.
 *
 * Return: length of the run, 0 if there is no more.
 */
u32 vgpu_wire_diff_next(const u8 *old, const u8 *new, u32 len, u32 *pos);

/* Most ranges that a page takes, and most bytes. */
#define VGPU_DIFF_RANGES	8
#define VGPU_DIFF_BYTES		(VGPU_MASK_BYTES + VGPU_PAGE_SIZE)

/**
 * struct vgpu_wire_diff - changed bytes of some pages, for WRITE_PAGES or WRITEBACK
 * @ranges: where the bytes belong; room for VGPU_DIFF_RANGES more
 * @bytes: masks and bytes of all ranges, one after the other; room for VGPU_DIFF_BYTES more
 * @nr: entries of @ranges
 * @len: bytes of @bytes
 */
struct vgpu_wire_diff {
	struct vgpu_range *ranges;
	u8 *bytes;
	u32 nr;
	u32 len;
};

/**
 * vgpu_wire_diff_page - add what changed of a page
 * @diff: with room for one page
 * @addr: address of the page
 * @old: a page's bytes before
 * @new: and after; may be written to meanwhile: what is added is what was there at some time
 *
 * A few runs of bytes become a range each, more of them one range with a mask.
 */
void vgpu_wire_diff_page(struct vgpu_wire_diff *diff, u64 addr, const u8 *old, const u8 *new);

/* The same of a page of which all is to be written. */
void vgpu_wire_diff_whole(struct vgpu_wire_diff *diff, u64 addr, const u8 *new);

/**
 * vgpu_wire_range_apply - write the bytes of one checked range
 * @range: the range
 * @data: its bytes, as they came
 * @put: writes @len bytes at @addr; returns 0 or -errno, which ends it
 * @arg: for @put
 *
 * Return: 0, or what @put returned.
 */
int vgpu_wire_range_apply(const struct vgpu_range *range, const u8 *data,
			  int (*put)(void *arg, u64 addr, const u8 *data, u32 len), void *arg);

#endif /* VGPU_WIRE_H */
