// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two halves of the input as a page before and after: the ranges found are the
 * bytes that differ, and applying them to the one gives the other.
 */
#include "fuzz.h"

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
	free(result);
	free(new);
	free(old);
	return 0;
}
