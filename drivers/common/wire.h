/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Codec of the wire protocol: checks the bounds and the consistency of every message before
 * anything in it is used. The codec is plain C without allocation and compiles in user space,
 * too (unit tests, fuzzers, vgpud).
 *
 * Every function takes a private, 8-byte aligned copy of one whole message, never memory that a
 * peer can still write to, and returns 0 or -EPROTO. After 0, offsets, lengths and counts of
 * the message may be used unchecked.
 */
#ifndef VGPU_WIRE_H
#define VGPU_WIRE_H

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include "uapi/linux/vgpu_wire.h"
#else
#include "wire_user.h"
#endif

/**
 * struct vgpu_wire_limits - limits of a receiver of calls
 * @call_bytes: maximum length of a lane message in bytes
 * @segs: maximum number of segments of a call
 * @fixups: maximum number of fixups of a call
 * @features: VGPU_FEATURE_* of the connection
 */
struct vgpu_wire_limits {
	u32 call_bytes;
	u32 segs;
	u32 fixups;
	u64 features;
};

/**
 * struct vgpu_call_view - parts of a checked CALL
 * @call: fixed part
 * @segs: array of call->nr_segs segments
 * @fixups: array of call->nr_fixups fixups
 * @data: bytes of the IN segments, each padded to 8
 * @scratch_bytes: sum of the lengths of all segments except PAGE and KEPT ones, each padded to
 *	8
 * @reply_bytes: sum of the lengths of the OUT segments, each padded to 8
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
 * struct vgpu_reply_view - parts of a checked REPLY
 * @reply: fixed part
 * @objects: array of reply->nr_objects descriptors
 * @data: bytes of the OUT segments, each padded to 8
 * @data_len: number of bytes at @data; for READ and READ_PAGES the result, padded to 8
 */
struct vgpu_reply_view {
	const struct vgpu_reply *reply;
	const struct vgpu_object_desc *objects;
	const u8 *data;
	u32 data_len;
};

/* Initializer of the header of a message. */
#define VGPU_HDR(_len, _type, _seq) {		\
	.len = cpu_to_le32(_len),		\
	.type = cpu_to_le16(_type),		\
	.seq = cpu_to_le64(_seq),		\
}

static inline u32 vgpu_wire_pad(u32 len)
{
	return (len + 7) & ~7U;
}

/* Return: maximum length of a message of @type; 0: unknown type. */
u32 vgpu_wire_len_max(u16 type, const struct vgpu_wire_limits *limits);
/* Return: minimum length. A header whose len is out of these bounds closes the connection. */
u32 vgpu_wire_len_min(u16 type);

/*
 * Check a header alone: the type is known, len is within its bounds, flags are 0.
 */
int vgpu_wire_hdr_check(const struct vgpu_hdr *hdr, const struct vgpu_wire_limits *limits);

/*
 * Check any message except CALL and REPLY: the length is exact, reserved fields are zero, enums
 * are known, strings are terminated and printable, ranges are aligned and do not wrap. @msg_len
 * bytes are there; they must equal hdr.len.
 */
int vgpu_wire_msg_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits);

/*
 * Check the fixed part of FETCHED or WRITTEN, whose header is checked: an error comes without
 * data, success with all @data_len bytes of it.
 */
bool vgpu_wire_answer_ok(const void *answer, u32 data_len);

/* Return: true if @name, of VGPU_FILE_NAME_LEN bytes, is a valid name of an export's file. */
bool vgpu_wire_file_name_ok(const u8 *name);

/*
 * Check a CALL and fill in @view. Besides the lengths, the function checks:
 * - the operation's own rules of vgpu_wire.h (number of segments, object or none, ranges of
 *   values);
 * - PAGE and KEPT segments, which must be aligned and must not overlap. No call has both;
 * - the runs of a KEPT segment, which must be aligned and as long together as its memory;
 * - fixups, which must be aligned, inside their segment and must not overlap. Their segments and
 *   the target of a PTR are segments of the call that are neither PAGE nor KEPT. FD_OUT fixups
 *   are in OUT segments only, TIME fixups in IN segments only;
 * - features, which must all have been agreed on.
 */
int vgpu_wire_call_check(const void *msg, size_t msg_len, const struct vgpu_wire_limits *limits,
			 struct vgpu_call_view *view);

/* Return: number of bytes that a WRITE asks the driver to write. */
static inline u32 vgpu_wire_write_len(const struct vgpu_call_view *view)
{
	return le32_to_cpu(view->call->nr_segs ? view->segs[0].len : view->call->args.write.len);
}

/*
 * Check a REPLY to the call in @sent (the guest's own copy) and fill in @view: sequence number
 * and lengths fit the call, objects answer its fixups, and the result of READ is not longer
 * than the buffer. The bytes behind struct vgpu_reply are not read for READ_PAGES, so they may
 * be elsewhere.
 */
int vgpu_wire_reply_check(const void *msg, size_t msg_len, const struct vgpu_call_view *sent,
			  struct vgpu_reply_view *view);

/**
 * vgpu_wire_diff_next - find the next range in which two buffers differ
 * @old: first buffer
 * @new: second buffer
 * @len: number of bytes of both, a multiple of 8
 * @pos: in: offset to begin at; out: offset of the first differing byte
 *
 * All bytes of the range differ: an equal byte in between may be another thread's.
 *
 * Return: number of bytes of the range; 0 if there is no more.
 */
u32 vgpu_wire_diff_next(const u8 *old, const u8 *new, u32 len, u32 *pos);

/* Maximum number of ranges, and of bytes, that a page takes. */
#define VGPU_DIFF_RANGES	8
#define VGPU_DIFF_BYTES		(VGPU_MASK_BYTES + VGPU_PAGE_SIZE)

/**
 * struct vgpu_wire_diff - changed bytes of some pages, for WRITE_PAGES or WRITEBACK
 * @ranges: array of the addresses of the bytes; has room for VGPU_DIFF_RANGES more
 * @bytes: masks and bytes of all ranges, in order; has room for VGPU_DIFF_BYTES more
 * @nr: number of entries of @ranges
 * @len: number of bytes of @bytes
 */
struct vgpu_wire_diff {
	struct vgpu_range *ranges;
	u8 *bytes;
	u32 nr;
	u32 len;
};

/**
 * vgpu_wire_diff_page - add the changed bytes of a page
 * @diff: buffer with room for one page
 * @addr: address of the page
 * @old: bytes of the page before the change
 * @new: bytes of the page after the change. Other threads may write to them meanwhile: each
 *	added byte was there at some time
 *
 * A few runs of bytes become a range each; more runs become one range with a mask.
 */
void vgpu_wire_diff_page(struct vgpu_wire_diff *diff, u64 addr, const u8 *old, const u8 *new);

/* Add a whole page, as one range. */
void vgpu_wire_diff_whole(struct vgpu_wire_diff *diff, u64 addr, const u8 *new);

/**
 * vgpu_wire_range_apply - write the bytes of one checked range
 * @range: the range
 * @data: bytes of the range as received
 * @put: callback that writes @len bytes at @addr; returns 0, or -errno, which ends the function
 * @arg: first argument of @put
 *
 * Return: 0 or the error of @put.
 */
int vgpu_wire_range_apply(const struct vgpu_range *range, const u8 *data,
			  int (*put)(void *arg, u64 addr, const u8 *data, u32 len), void *arg);

#endif /* VGPU_WIRE_H */
