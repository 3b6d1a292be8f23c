// SPDX-License-Identifier: GPL-2.0-only
/* The ranges in which two buffers differ, against a search byte by byte. */
#include <stdlib.h>

#include "tap.h"
#include "wire.h"

#define LEN	64

/* All ranges found: the same bytes as byte by byte, no two of them touching. */
static void check(const u8 *old, const u8 *new, u32 len, const char *what)
{
	bool found[LEN] = {};
	u32 pos = 0, run, last = U32_MAX, i;

	while ((run = vgpu_wire_diff_next(old, new, len, &pos))) {
		if (!tap_expect(pos + run <= len, "%s: %u+%u in bounds", what, pos, run))
			return;
		tap_expect(pos != last, "%s: two runs at %u are one", what, pos);
		memset(found + pos, true, run);
		pos += run;
		last = pos;
	}
	tap_expect(pos == len, "%s: ends at %u", what, pos);
	for (i = 0; i < len; i++)
		tap_expect(found[i] == (old[i] != new[i]), "%s: byte %u", what, i);
}

/* Each start and each length of one run, and of one hole in all. */
static void test_one(void)
{
	u8 old[LEN], new[LEN];
	u32 start, len;

	for (start = 0; start < LEN; start++) {
		for (len = 0; start + len <= LEN; len++) {
			memset(old, 7, LEN);
			memcpy(new, old, LEN);
			memset(new + start, 8, len);
			check(old, new, LEN, "a run");
			memset(new, 8, LEN);
			memset(new + start, 7, len);
			check(old, new, LEN, "a hole");
		}
	}
	tap_subject("one run");
}

static void test_random(void)
{
	u8 old[LEN], new[LEN];
	u32 i, j;

	srandom(1);
	for (i = 0; i < 5000; i++) {
		for (j = 0; j < LEN; j++) {
			old[j] = random();
			new[j] = random() % (1 + i % 5) ? old[j] : random();
		}
		check(old, new, LEN - i % 9 / 8 * 8, "random");
	}
	tap_subject("random bytes");
}

static void test_empty(void)
{
	u8 a[8] = { 1 }, b[8] = { 2 };
	u32 pos = 0;

	tap_expect(!vgpu_wire_diff_next(a, b, 0, &pos) && !pos, "nothing to compare");
	tap_expect(vgpu_wire_diff_next(a, b, 8, &pos) == 1 && !pos, "the first byte");
	pos = 8;
	tap_expect(!vgpu_wire_diff_next(a, b, 8, &pos) && pos == 8, "beginning at the end");
	pos = 3;
	tap_expect(!vgpu_wire_diff_next(a, b, 8, &pos) && pos == 8, "beginning in a word");
	tap_subject("ends");
}

int main(void)
{
	test_one();
	test_random();
	test_empty();
	return tap_done();
}
