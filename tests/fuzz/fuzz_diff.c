// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for differences. The halves of the input are a page before and after
 * writes. The ranges found must be the bytes that differ, and applying them to the
 * old page must give the new one. The same holds for the ranges of a message.
 */
#include "fuzz.h"

static u8 *page_of(const u8 *data, u32 len)
{
	u8 *page = calloc(1, VGPU_PAGE_SIZE);

	if (!page)
		abort();
	memcpy(page, data, min_t(u32, len, VGPU_PAGE_SIZE));
	return page;
}

static int put(void *arg, u64 addr, const u8 *data, u32 len)
{
	FUZZ_ASSERT(len && addr + len <= VGPU_PAGE_SIZE);
	memcpy((u8 *)arg + addr, data, len);
	return 0;
}

static void use_page(const u8 *data, u32 half)
{
	u8 *old = page_of(data, half), *new = page_of(data + half, half);
	struct vgpu_range *ranges = malloc(VGPU_DIFF_RANGES * sizeof(*ranges));
	u8 *bytes = malloc(VGPU_DIFF_BYTES), *at = bytes;
	struct vgpu_wire_diff diff = { .ranges = ranges, .bytes = bytes };
	u32 i;

	if (!ranges || !bytes)
		abort();
	vgpu_wire_diff_page(&diff, 0, old, new);
	for (i = 0; i < diff.nr; i++) {
		FUZZ_ASSERT(!vgpu_wire_range_apply(&ranges[i], at, put, old));
		at += le32_to_cpu(ranges[i].len);
	}
	FUZZ_ASSERT(at == bytes + diff.len && !memcmp(old, new, VGPU_PAGE_SIZE));
	free(bytes);
	free(ranges);
	free(new);
	free(old);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	u32 half = len / 16 * 8, pos = 0, run, last = U32_MAX;
	u8 *old = malloc(half + 1), *new = malloc(half + 1), *result = malloc(half + 1);
	u32 i;

	if (!old || !new || !result)
		abort();
	memcpy(old, data, half);
	memcpy(new, data + half, half);
	memcpy(result, old, half);

	while ((run = vgpu_wire_diff_next(old, new, half, &pos))) {
		FUZZ_ASSERT(pos != last);
		for (i = pos; i < pos + run; i++)
			FUZZ_ASSERT(old[i] != new[i]);
		memcpy(result + pos, new + pos, run);
		pos += run;
		last = pos;
	}
	FUZZ_ASSERT(pos == half && !memcmp(result, new, half));
	use_page(data, half);
	free(result);
	free(new);
	free(old);
	return 0;
}
