/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers that the parts of the codec share; private to drivers/common/wire*.c.
 *
 * Numbers of a peer are added up in 64 bits, where no sum can wrap: counts have 16 bits,
 * lengths 32.
 */
#ifndef VGPU_WIRE_CHECK_H
#define VGPU_WIRE_CHECK_H

#ifdef __KERNEL__
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/sched.h>
#endif
#include "wire.h"

static inline u32 limit_call_bytes(const struct vgpu_wire_limits *limits)
{
	return min_t(u32, limits->call_bytes, VGPU_CALL_BYTES_MAX);
}

/* Return: true if the range is not empty and does not wrap. A range must not end at 2^64. */
static inline bool range_ok(u64 addr, u64 len)
{
	return len && addr + len > addr;
}

static inline bool page_range_ok(u64 addr, u64 len)
{
	return !((addr | len) & (VGPU_PAGE_SIZE - 1)) && range_ok(addr, len);
}

static inline bool errno_ok(u32 error)
{
	return error && error <= MAX_ERRNO;
}

/* Return: true if the string is printable ASCII, followed by NULs to the end, at least one. */
static inline bool string_ok(const u8 *s, u32 size)
{
	u32 i = 0;

	while (i < size && s[i] >= 0x20 && s[i] < 0x7f)
		i++;
	if (i == size)
		return false;
	while (i < size && !s[i])
		i++;
	return i == size;
}

static inline bool zero_ok(const u8 *p, u32 len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* Return: true if the bytes that pad @len bytes at @p to a multiple of 8 are zero. */
static inline bool pad_ok(const u8 *p, u32 len)
{
	return zero_ok(p + len, vgpu_wire_pad(len) - len);
}

static inline bool raw_ok(const __le64 *raw, u32 nr)
{
	while (nr && !*raw) {
		raw++;
		nr--;
	}
	return !nr;
}

/*
 * Check @nr ranges, whose bytes lie one after the other in the @data_len bytes at @data. The
 * sum of their lengths is stored in *@bytes.
 */
bool vgpu_wire_ranges_ok(const struct vgpu_range *range, u32 nr, const u8 *data, u64 data_len,
			 u64 *bytes);

/* Check that a message is whole and has a good header of a known type. */
static inline int whole_check(const void *msg, size_t msg_len,
			      const struct vgpu_wire_limits *limits)
{
	const struct vgpu_hdr *hdr = msg;

	if (msg_len < sizeof(*hdr) || le32_to_cpu(hdr->len) != msg_len)
		return -EPROTO;
	return vgpu_wire_hdr_check(hdr, limits);
}

#endif /* VGPU_WIRE_CHECK_H */
