/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share. An input is struct fuzz_head, then one message,
 * or two (a call and the reply to it).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

/**
 * struct fuzz_head - how an input is to be taken
 * @options: FUZZ_*
 * @limits: which of the limits of fuzz_limits()
 * @first: bytes of the first of two messages, in units of 8
 * @reserved: for alignment
 */
struct fuzz_head {
	u8 options;
	u8 limits;
	u16 first;
	u32 reserved;
};

/* Leave hdr.len as it is, instead of making it true. */
#define FUZZ_RAW_LEN	1

/* The program stops here when what a check let through is not as it promised. */
#define FUZZ_ASSERT(cond) do { \
	if (!(cond)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		abort(); \
	} \
} while (0)

/* Return: a private, aligned copy that ends right behind its last byte. */
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

/* Every byte is read, so that a sanitizer sees what is not there. */
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
