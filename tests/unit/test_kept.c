// SPDX-License-Identifier: GPL-2.0-only
/* Tests that combine pages into runs, and find runs in the parts of a guest's memory. */
#include "kept.h"
#include "tap.h"

#define RUNS	4

static struct vgpu_run runs[RUNS];
static u32 nr;

static bool run_is(u32 i, u64 addr, u64 pages)
{
	return i < nr && le64_to_cpu(runs[i].addr) == addr &&
		le64_to_cpu(runs[i].len) == pages * VGPU_PAGE_SIZE;
}

static bool append(u64 addr)
{
	return vgpu_run_append(runs, &nr, RUNS, addr);
}

static void test_runs(void)
{
	u32 i;

	nr = 0;
	for (i = 0; i < 512; i++)
		tap_expect(append(0x40000000 + i * VGPU_PAGE_SIZE), "page %u of a huge one", i);
	tap_expect(nr == 1 && run_is(0, 0x40000000, 512), "one run");
	/* A page before the run, and a page given twice, are runs of their own. */
	tap_expect(append(0x3ffff000) && append(0x3fffe000) && append(0x3fffe000), "three more");
	tap_expect(nr == 4 && run_is(1, 0x3ffff000, 1) && run_is(2, 0x3fffe000, 1) &&
		   run_is(3, 0x3fffe000, 1), "four runs");
	tap_expect(!append(0x1000), "no room");
	tap_expect(nr == 4 && run_is(3, 0x3fffe000, 1), "nothing has changed");
	tap_expect(append(0x3ffff000) && nr == 4 && run_is(3, 0x3fffe000, 2),
		   "no room is needed");
	/* A page behind a gap does not continue the run. */
	nr = 0;
	tap_expect(append(0x1000) && append(0x3000) && nr == 2 && run_is(0, 0x1000, 1) &&
		   run_is(1, 0x3000, 1), "with a gap");
	/* The page at address 0 does not continue an earlier run. */
	nr = 0;
	tap_expect(append(0) && append(VGPU_PAGE_SIZE) && nr == 1 && run_is(0, 0, 2),
		   "at address 0");
	tap_subject("pages become runs");
}

static const struct vgpu_ram ram[] = {
	{ .addr = 0, .len = 0xa0000, .offset = 0, .fd = 5 },
	{ .addr = 0x100000, .len = 0x7ff00000, .offset = 0x100000, .fd = 5 },
	{ },
	{ .addr = 0x100000000, .len = 0x80000000, .offset = 0x80000000, .fd = 5 },
	{ .addr = 0x180000000, .len = 0x40000000, .offset = 0, .fd = 6 },
};

static bool found(u64 addr, u64 len, u32 part, u64 got)
{
	const struct vgpu_ram *is = vgpu_ram_find(ram, ARRAY_SIZE(ram), addr, &len);

	return is == &ram[part] && len == got;
}

static bool missing(u64 addr, u64 len)
{
	return !vgpu_ram_find(ram, ARRAY_SIZE(ram), addr, &len);
}

static void test_ram(void)
{
	tap_expect(found(0, 0x1000, 0, 0x1000), "the first page");
	tap_expect(found(0x9f000, 0x1000, 0, 0x1000), "the last before a hole");
	tap_expect(found(0x9f000, 0x2000, 0, 0x1000), "and what is beyond it");
	tap_expect(missing(0xa0000, 0x1000), "the hole");
	tap_expect(missing(0xff000, 0x2000), "its end");
	tap_expect(found(0x100000, 0x7ff00000, 1, 0x7ff00000), "all of a part");
	tap_expect(missing(0x80000000, 0x1000), "below 4 GiB");
	tap_expect(found(0x17ffff000, 0x3000, 3, 0x1000), "as far as the part goes");
	tap_expect(found(0x180000000, 0x2000, 4, 0x2000), "the rest, in the next");
	tap_expect(missing(0x1c0000000, 0x1000), "beyond all");
	tap_expect(missing(-0x1000ULL, 0x1000), "the highest address");
	tap_expect(found(0x180000000, ~0ULL, 4, 0x40000000), "more than there can be");
	tap_subject("where runs are");
}

#define HUGE	0x200000ULL

static const struct vgpu_ram huge[] = {
	{ .addr = 0, .len = 0x40000000, .offset = 0, .page = HUGE, .fd = 5 },
	{ .addr = 0x40000000, .len = 0x1000000, .offset = 0, .page = VGPU_PAGE_SIZE, .fd = 6 },
};

static u64 mapped;

static int map(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset, bool write)
{
	/* The kernel maps whole huge pages of the file only. */
	mapped += (len + part->page - 1) & ~(part->page - 1);
	return 0;
}

/* Maps one run at the program's address @at. Return: the number of pieces, or -errno. */
static s64 pieces(u64 at, u64 addr, u64 len)
{
	static struct {
		struct vgpu_kept kept;
		struct vgpu_run run;
	} seg;

	seg.kept.len = cpu_to_le64(len);
	seg.run.addr = cpu_to_le64(addr);
	seg.run.len = cpu_to_le64(len);
	mapped = 0;
	return vgpu_kept_pieces(huge, ARRAY_SIZE(huge), &seg.kept, at, map, NULL);
}

static void test_huge(void)
{
	tap_expect(pieces(4 * HUGE, HUGE, HUGE) == 1 && mapped == HUGE, "a huge page");
	tap_expect(pieces(4 * HUGE, HUGE, 3 * HUGE) == 1 && mapped == 3 * HUGE, "three of them");
	tap_expect(pieces(4 * HUGE, HUGE, VGPU_PAGE_SIZE) == -EOPNOTSUPP && !mapped,
		   "the first page of a huge one");
	tap_expect(pieces(4 * HUGE, HUGE + VGPU_PAGE_SIZE, VGPU_PAGE_SIZE) == -EOPNOTSUPP &&
		   !mapped, "another page of it");
	tap_expect(pieces(4 * HUGE + VGPU_PAGE_SIZE, HUGE, HUGE) == -EOPNOTSUPP && !mapped,
		   "a huge page at an address where none can be");
	tap_expect(pieces(4 * HUGE, 0x40000000 - HUGE, HUGE + VGPU_PAGE_SIZE) == 2 &&
		   mapped == HUGE + VGPU_PAGE_SIZE, "a huge page and a small one");
	tap_subject("memory in huge pages");
}

int main(void)
{
	test_runs();
	test_ram();
	test_huge();
	return tap_done();
}
