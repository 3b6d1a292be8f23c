// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the pages that running calls may use, and of how many pages one fetch reads.
 */
#include "fresh.h"
#include "tap.h"

static void test_numbers(void)
{
	struct vgpu_fresh fresh = {};
	u64 first, second;

	vgpu_fresh_start(&fresh);
	tap_expect(!vgpu_fresh_usable(&fresh, 0), "what was never fetched");
	first = vgpu_fresh_fetch(&fresh);
	tap_expect(vgpu_fresh_usable(&fresh, first), "fetched by the call");
	vgpu_fresh_start(&fresh);
	tap_expect(!vgpu_fresh_usable(&fresh, first), "fetched before another call began");
	second = vgpu_fresh_fetch(&fresh);
	vgpu_fresh_end(&fresh);
	tap_expect(vgpu_fresh_usable(&fresh, second) && second > first,
		   "a call that ends makes nothing old");
	tap_expect(vgpu_fresh_worthless(&fresh, first, false), "too old to be used");
	tap_expect(!vgpu_fresh_worthless(&fresh, second, false), "as good as new");
	tap_expect(vgpu_fresh_worthless(&fresh, second, true), "fetched before in vain");
	tap_subject("numbers");
}

static void test_sent(void)
{
	struct vgpu_fresh fresh = {};

	vgpu_fresh_start(&fresh);
	tap_expect(vgpu_fresh_takes_sent(&fresh), "of the only call");
	vgpu_fresh_start(&fresh);
	tap_expect(!vgpu_fresh_takes_sent(&fresh), "of one beside another");
	vgpu_fresh_end(&fresh);
	tap_expect(vgpu_fresh_takes_sent(&fresh), "when the other is over");
	tap_subject("pages that came with a call");
}

static void test_ahead(void)
{
	const u64 end = 0x100000000ULL;
	struct vgpu_ahead ahead = {};
	u64 addr = 0x10000;
	u32 i, nr;

	for (i = 0; i < 10; i++) {
		nr = vgpu_ahead_pages(&ahead, addr, end);
		tap_expect(nr == min(1U << i, VGPU_FETCH_AHEAD), "fetch %u of a row: %u", i, nr);
		addr += nr * VGPU_PAGE_SIZE;
		ahead.next = addr;
	}
	tap_expect(vgpu_ahead_pages(&ahead, addr, addr + 3 * VGPU_PAGE_SIZE) == 3,
		   "not beyond the end");
	tap_expect(vgpu_ahead_pages(&ahead, 0x20000, end) == 1, "elsewhere: one");
	tap_subject("read ahead");
}

int main(void)
{
	test_numbers();
	test_sent();
	test_ahead();
	return tap_done();
}
