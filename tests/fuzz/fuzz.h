/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common parts of the fuzz targets. An input is a struct fuzz_head, followed by one
 * message, or by two (a call and the reply to it).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

/**
 * struct fuzz_head - parameters of an input
 * @options: FUZZ_*
 * @limits: number of an entry of fuzz_limits()
 * @first: length of the first of two messages, in units of 8 bytes
 * @reserved: for alignment
 */
struct fuzz_head {
	u8 options;
	u8 limits;
	u16 first;
	u32 reserved;
};

/* Do not set hdr.len to the true length. */
#define FUZZ_RAW_LEN	1

/* Ends the program when an accepted message breaks a rule of its check. */
#define FUZZ_ASSERT(cond) do { \
	if (!(cond)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		abort(); \
	} \
} while (0)

/* Return: an aligned copy in memory of exactly its size. */
static inline void *fuzz_copy(const u8 *data, size_t len, const struct fuzz_head *head)
{
	struct vgpu_hdr *hdr = malloc(len ? len : 1);

	if (!hdr)
		abort();
	memcpy(hdr, data, len);
	if (len >= sizeof(*hdr) && !(head->options & FUZZ_RAW_LEN))
		hdr->len = cpu_to_le32(len);
	return hdr;
}

static inline struct vgpu_wire_limits fuzz_limits(const struct fuzz_head *head)
{
	static const struct vgpu_wire_limits limits[] = {
		{ 64 << 10, 16, 16, VGPU_FEATURES },
		{ U32_MAX, U32_MAX, U32_MAX, VGPU_FEATURES },
		{ 4096, 4, 64, VGPU_FEATURES },
		{ },
	};

	return limits[head->limits % ARRAY_SIZE(limits)];
}

/* Reads every byte, so that a sanitizer detects missing ones. */
static inline u64 fuzz_sum(const void *p, size_t len)
{
	const u8 *byte = p;
	u64 sum = 0;

	while (len--)
		sum += *byte++;
	return sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

#endif /* FUZZ_H */
