// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the ranges in which two buffers differ, compared with a search byte by byte, and
 * of the messages that carry these ranges.
 */
#include <stdlib.h>

#include "tap.h"
#include "wire_check.h"

#define LEN	64

/* Checks that the ranges cover exactly the bytes that differ, and do not touch each other. */
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

/* Runs and holes of each start and each length are found. */
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

#define PAGES	3

struct memory {
	u64 addr;
	u8 bytes[PAGES * VGPU_PAGE_SIZE];
};

static int put(void *arg, u64 addr, const u8 *data, u32 len)
{
	struct memory *memory = arg;

	if (!len || addr < memory->addr || addr + len > memory->addr + sizeof(memory->bytes))
		return -EFAULT;
	memcpy(memory->bytes + (addr - memory->addr), data, len);
	return 0;
}

/* Checks the ranges of some pages as a receiver does; applied to old pages, they give new ones. */
static void check_pages(const struct memory *old, const struct memory *new, u32 most,
			const char *what)
{
	struct vgpu_range ranges[PAGES * VGPU_DIFF_RANGES];
	u8 bytes[PAGES * VGPU_DIFF_BYTES], *data = bytes;
	struct vgpu_wire_diff diff = { .ranges = ranges, .bytes = bytes };
	struct memory result = *old;
	u64 counted;
	u32 i;

	for (i = 0; i < PAGES; i++)
		vgpu_wire_diff_page(&diff, old->addr + i * VGPU_PAGE_SIZE,
				    old->bytes + i * VGPU_PAGE_SIZE,
				    new->bytes + i * VGPU_PAGE_SIZE);
	tap_expect(diff.nr <= ARRAY_SIZE(ranges) && diff.len <= sizeof(bytes), "%s: room", what);
	tap_expect(diff.nr * sizeof(*ranges) + diff.len <= most, "%s: %u ranges, %u bytes", what,
		   diff.nr, diff.len);
	tap_expect(vgpu_wire_ranges_ok(ranges, diff.nr, bytes, diff.len, &counted) &&
		   counted == diff.len, "%s: is good", what);
	for (i = 0; i < diff.nr; i++) {
		tap_expect(!vgpu_wire_range_apply(&ranges[i], data, put, &result),
			   "%s: range %u", what, i);
		data += le32_to_cpu(ranges[i].len);
	}
	tap_expect(!memcmp(result.bytes, new->bytes, sizeof(result.bytes)), "%s: same", what);
}

/* Typical writes of programs stay below a limit of bytes on the wire. */
static void test_pages(void)
{
	static struct memory old = { .addr = 0x7f0000001000 }, new;
	const u32 page = VGPU_PAGE_SIZE;
	float *numbers = (float *)new.bytes;
	u32 *indices = (u32 *)new.bytes;
	u32 i, round;

	new = old;
	check_pages(&old, &new, 0, "nothing");
	new.bytes[0] = 1;
	new.bytes[page - 1] = 1;
	new.bytes[2 * page + 5] = 1;
	check_pages(&old, &new, 3 * (sizeof(struct vgpu_range) + 1), "a byte here and there");
	for (i = 0; i < sizeof(new.bytes) / 4; i++)
		numbers[i] = i;
	check_pages(&old, &new, PAGES * page * 11 / 10, "zeros become numbers");
	old = new;
	for (i = 0; i < sizeof(new.bytes) / 4; i++)
		numbers[i] = i * 0.37f + 1;
	check_pages(&old, &new, PAGES * page * 11 / 10, "numbers become other numbers");
	for (i = 0; i < sizeof(new.bytes); i++) {
		old.bytes[i] = 0xff;
		new.bytes[i] = i % 4 == 3 ? 0xff : i * 7 % 251;
	}
	check_pages(&old, &new, PAGES * page * 11 / 10, "pixels");
	memset(old.bytes, 0, sizeof(old.bytes));
	for (i = 0; i < sizeof(new.bytes) / 4; i++)
		indices[i] = i;
	check_pages(&old, &new, PAGES * page * 11 / 10, "zeros become indices");
	memset(new.bytes, 0xff, sizeof(new.bytes));
	check_pages(&old, &new, PAGES * (page + sizeof(struct vgpu_range)), "all");
	srandom(2);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < sizeof(new.bytes); i++) {
			old.bytes[i] = random();
			new.bytes[i] = random() % (1 + round) ? old.bytes[i] : random();
		}
		check_pages(&old, &new, PAGES * (VGPU_DIFF_BYTES + sizeof(struct vgpu_range)),
			    "random");
	}
	tap_subject("pages");
}

/* Up to VGPU_DIFF_RANGES runs of a page become ranges; one more run makes a mask. */
static void test_runs(void)
{
	static struct memory old = { .addr = 0x1000 }, new;
	u32 runs, i;

	for (runs = 1; runs <= VGPU_DIFF_RANGES + 1; runs++) {
		struct vgpu_range ranges[VGPU_DIFF_RANGES];
		u8 bytes[VGPU_DIFF_BYTES];
		struct vgpu_wire_diff diff = { .ranges = ranges, .bytes = bytes };
		bool masked = runs > VGPU_DIFF_RANGES;

		new = old;
		for (i = 0; i < runs; i++)
			new.bytes[i * 500] = 1;
		vgpu_wire_diff_page(&diff, old.addr, old.bytes, new.bytes);
		tap_expect(diff.nr == (masked ? 1 : runs), "%u runs: %u ranges", runs, diff.nr);
		tap_expect(diff.len == runs + (masked ? VGPU_MASK_BYTES : 0), "%u runs: %u bytes",
			   runs, diff.len);
		check_pages(&old, &new, PAGES * VGPU_DIFF_BYTES, "runs");
	}
	tap_subject("runs of a page");
}

/* All bytes of a page are sent, including those that the receiver may have already. */
static void test_whole(void)
{
	static struct memory new = { .addr = 0x1000 }, result = { .addr = 0x1000 };
	struct vgpu_range range[VGPU_DIFF_RANGES];
	u8 bytes[VGPU_DIFF_BYTES];
	struct vgpu_wire_diff diff = { .ranges = range, .bytes = bytes };
	u64 counted;

	memset(result.bytes, 0xa5, sizeof(result.bytes));
	vgpu_wire_diff_whole(&diff, new.addr, new.bytes);
	tap_expect(diff.nr == 1 && diff.len == VGPU_PAGE_SIZE, "%u ranges, %u bytes", diff.nr,
		   diff.len);
	tap_expect(vgpu_wire_ranges_ok(range, diff.nr, bytes, diff.len, &counted) &&
		   counted == diff.len, "is good");
	tap_expect(!vgpu_wire_range_apply(range, bytes, put, &result) &&
		   !memcmp(result.bytes, new.bytes, VGPU_PAGE_SIZE) &&
		   result.bytes[VGPU_PAGE_SIZE] == 0xa5, "a page of zeros");
	tap_subject("a whole page");
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
	test_pages();
	test_runs();
	test_whole();
	return tap_done();
}
