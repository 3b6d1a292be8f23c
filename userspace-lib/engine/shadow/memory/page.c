// SPDX-License-Identifier: MIT
/*
 * Pages of the guest process in this shadow: their entries, and how they are shown and hidden. Each
 * page is a page of secret memory (memfd_secret). The kernel copies to and from such a page as with
 * any memory, but no driver can pin it: later writes by a device would be lost. All pages are
 * mapped a second time, side by side, for this program.
 *
 * The rest of user space is anonymous memory without pages, whose faults userfaultfd reports. A
 * page is shown by mapping it over this memory, and hidden by moving such memory over it
 * (mremap). The kernel does the move in one step, so a driver finds either one or the other.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/userfaultfd.h>

#include "engine/shadow/lane/watch.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "kept.h"

struct demand demand = { .secret = -1, .faults = -1 };

/*
 * Address of the blank memory that is moved over other memory. It is never accessed, and is as
 * large as the longest move.
 */
#define BLANK_PAGES	4096
static u64 blank;
/* The kernel moves no memory over a part of a page of hugetlbfs. */
_Static_assert(BLANK_PAGES * PAGE_SIZE % VGPU_RAM_PAGE_MAX == 0, "steps end at whole pages");

/*
 * Number of entries with bytes of their own, in the arrays live and orig. There are as many
 * entries without bytes.
 */
static u32 max_pages;

static void faults_register(u64 addr, u64 len)
{
	struct uffdio_register reg = {
		.range = { .start = addr, .len = len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	long ret = sys3(__NR_ioctl, demand.faults, UFFDIO_REGISTER, (long)&reg);

	/* -ENOMEM: too many mappings, as registering a part of a mapping splits the mapping. */
	if (ret)
		sys_exit_group(ret == -ENOMEM ? ESHADOW_EXIT_ROOM : ESHADOW_EXIT_FAULTS);
}

static void give_up(u64 start, u64 end)
{
	/*
	 * MAP_FIXED would also replace what is there, but the kernel may refuse that for its own
	 * special mappings. A separate munmap() tells the two errors apart.
	 */
	sys_exit_if(sys2(__NR_munmap, start, end - start), SHADOW_EXIT_MAP);
	sys_exit_if(demand_cover(start, end - start), ESHADOW_EXIT_ROOM);
}

bool page_has_bytes(const struct page *page)
{
	return page < demand.pages + max_pages;
}

static void page_release(struct page *page)
{
	struct page **list = page_has_bytes(page) ? &demand.free : &demand.free_bad;

	page->next = *list;
	page->busy = false;
	page->filled = false;
	*list = page;
}

void page_init(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = ESHADOW_FAULTS };
	u32 i;
	long ret;

	max_pages = shared->limits.pages;
	ret = sys3(__NR_ioctl, ESHADOW_FD_FAULTS, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	sys_exit_if(ret < 0, ESHADOW_EXIT_FAULTS);
	demand.faults = fd_up(ret, FILES_OWN);
	sys2(__NR_close, ESHADOW_FD_FAULTS, 0);
	if (sys3(__NR_ioctl, demand.faults, UFFDIO_API, (long)&api))
		sys_exit_group(ESHADOW_EXIT_FAULTS);

	give_up(SHADOW_DEMAND_START, SHADOW_RESERVED_BASE);
	give_up(SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE, SHADOW_DEMAND_END);

	ret = sys2(__NR_memfd_secret, O_CLOEXEC, 0);
	sys_exit_if(ret < 0, ESHADOW_EXIT_SECRET);
	demand.secret = fd_up(ret, FILES_OWN);
	if (sys2(__NR_ftruncate, demand.secret, max_pages * PAGE_SIZE))
		sys_exit_group(ESHADOW_EXIT_SECRET);
	ret = sys_mmap(0, max_pages * PAGE_SIZE, PROT_NONE, MAP_SHARED, demand.secret, 0);
	if (sys_is_error(ret))
		sys_exit_group(ret == -EAGAIN ? ESHADOW_EXIT_MEMLOCK : ESHADOW_EXIT_SECRET);
	/* Accesses of drivers at these addresses would bypass userfaultfd. */
	sys_exit_if(keys_give(ret, max_pages * PAGE_SIZE, KEY_OWN), SHADOW_EXIT_KEYS);
	demand.live = (u8 *)ret;
	demand.orig = memory_get(max_pages * PAGE_SIZE);
	demand.pages = memory_get(2 * max_pages * sizeof(struct page));
	ret = sys_mmap(0, BLANK_PAGES * PAGE_SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!demand.orig || !demand.pages || sys_is_error(ret))
		sys_exit_group(SHADOW_EXIT_MAP);
	blank = ret;
	sys_exit_if(demand_cover(blank, BLANK_PAGES * PAGE_SIZE), ESHADOW_EXIT_ROOM);
	for (i = 2 * max_pages; i > 0; i--)
		page_release(&demand.pages[i - 1]);
}

static struct page **page_bucket(u64 addr)
{
	return &demand.buckets[addr / PAGE_SIZE % DEMAND_BUCKETS];
}

struct page *page_find(u64 addr)
{
	struct page *page;

	for (page = *page_bucket(addr); page; page = page->next)
		if (page->addr == addr)
			break;
	return page;
}

/*
 * Counts a page among those of all processes of the guest. Return: false if these may not have
 * more. Context: demand.lock is held.
 */
static bool page_charge(void)
{
	const u32 most = __atomic_load_n(&shared->all_pages, __ATOMIC_RELAXED);
	const u32 nr = __atomic_add_fetch(&patience->nr_pages, 1, __ATOMIC_RELAXED);

	if (most && nr > most) {
		__atomic_sub_fetch(&patience->nr_pages, 1, __ATOMIC_RELAXED);
		return false;
	}
	use->counted_pages++;
	if (nr > patience->most_pages)
		patience->most_pages = nr;
	return true;
}

struct page *page_add(u64 addr, bool bad)
{
	struct page **list = bad ? &demand.free_bad : &demand.free, *page = *list;
	struct page **bucket = page_bucket(addr);

	/* The limit may have become lower than the number of entries. */
	if (!page || (!bad && (demand.nr_good >= limit_now(pages) || !page_charge())))
		return NULL;
	*list = page->next;
	*page = (struct page) {
		.addr = addr, .busy = true, .fetching = true, .next = *bucket,
	};
	*bucket = page;
	demand.nr_pages++;
	if (!bad) {
		demand.top = max(demand.top, (u32)(page - demand.pages) + 1);
		use->pages = ++demand.nr_good;
		use->most_pages = max(use->most_pages, demand.nr_good);
	}
	return page;
}

void page_free(struct page *page)
{
	struct page **link = page_bucket(page->addr);

	while (*link != page)
		link = &(*link)->next;
	*link = page->next;
	page_release(page);
	demand.nr_pages--;
	if (!page_has_bytes(page))
		return;
	use->pages = --demand.nr_good;
	use->counted_pages--;
	__atomic_sub_fetch(&patience->nr_pages, 1, __ATOMIC_RELAXED);
}

u8 *page_live(const struct page *page)
{
	return demand.live + (page - demand.pages) * PAGE_SIZE;
}

u8 *page_orig(const struct page *page)
{
	return demand.orig + (page - demand.pages) * PAGE_SIZE;
}

void page_unclaim(struct page *page)
{
	page->busy = false;
	page->fetching = false;
	demand.claims++;
}

void demand_wait(u32 claims)
{
	word_wait(&demand.claims, claims, shared->fetch_timeout_ms);
}

void demand_drop(void)
{
	bool kick = demand.waiting;

	lock_drop(&demand.lock);
	word_wake(&demand.claims);
	if (kick)
		watch_kick();
}

void page_show(struct page *page)
{
	long ret;

	if (page->mapped || mapping_at(page->addr))
		return;
	if (page->bad)
		ret = sys_mmap(page->addr, PAGE_SIZE, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else
		ret = sys_mmap(page->addr, PAGE_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED, demand.secret,
			       (page - demand.pages) * PAGE_SIZE);
	/* The kernel may have no more VMAs, and those who wait for the page would wait for ever. */
	sys_exit_if(sys_is_error(ret), ESHADOW_EXIT_ROOM);
	page->mapped = true;
	demand.nr_mapped++;
}

void page_wake(u64 addr)
{
	struct uffdio_range range = { .start = addr, .len = PAGE_SIZE };

	sys3(__NR_ioctl, demand.faults, UFFDIO_WAKE, (long)&range);
}

/* Moves blank memory over [addr, addr + nr pages). */
static void blank_move(u64 addr, u32 nr)
{
	long ret;

	ret = sys6(__NR_mremap, blank, nr * PAGE_SIZE, nr * PAGE_SIZE,
		   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, addr, 0);
	sys_exit_if(ret != (long)addr, ESHADOW_EXIT_ROOM);
}

void pages_hide(struct page **pages, u32 nr)
{
	u64 moved = 0;
	u32 i, run;

	/* Hold map_lock so that no mapping comes to these places meanwhile. */
	lock_take(&map_lock);
	for (i = 0; i < nr; i += run) {
		run = 1;
		if (!pages[i]->mapped)
			continue;
		while (i + run < nr && run < BLANK_PAGES && pages[i + run]->mapped &&
		       pages[i + run]->addr == pages[i]->addr + run * PAGE_SIZE)
			run++;
		blank_move(pages[i]->addr, run);
		moved |= ~0ULL >> (HIDE_MAX - run) << i;
	}
	lock_take(&demand.lock);
	for (i = 0; i < nr; i++) {
		/*
		 * Skip pages that were not moved: such a page may have become bad meanwhile, and is
		 * then mapped without access.
		 */
		if (!(moved >> i & 1))
			continue;
		demand.nr_mapped--;
		pages[i]->mapped = false;
	}
	lock_drop(&demand.lock);
	lock_drop(&map_lock);
}

/* Gives access to memory that has none, and lets userfaultfd report its faults. */
static int demand_report(u64 addr, u64 len)
{
	/* Faults are served in small pages. */
	sys3(__NR_madvise, addr, len, MADV_NOHUGEPAGE);
	faults_register(addr, len);
	return sys3(__NR_mprotect, addr, len, PROT_READ | PROT_WRITE);
}

/* Memory has no access until its faults are reported, so that no driver finds zeros. */
int demand_cover(u64 addr, u64 len)
{
	long ret;

	/* Unmapping may call the driver of a mapping that was there. */
	ret = sys6_apart(__NR_mmap, addr, len, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return sys_is_error(ret) ? ret : demand_report(addr, len);
}

void page_shut(struct page *page)
{
	page->bad = true;
	page->shut = true;
	page_show(page);
}

void page_open(struct page *page)
{
	if (!page->shut)
		return;
	page->shut = false;
	page->bad = false;
	/* A mapping may have replaced the page. */
	if (!page->mapped)
		return;
	page->mapped = false;
	demand.nr_mapped--;
	/*
	 * The pager runs this, so it must not move blank memory, as the move waits for the pager.
	 */
	sys_exit_if(demand_report(page->addr, PAGE_SIZE), ESHADOW_EXIT_ROOM);
}

void demand_cover_moving(u64 addr, u64 len)
{
	u64 pos, step;

	for (pos = 0; pos < len; pos += step) {
		/*
		 * The range may begin anywhere. All steps but the last end at a boundary of large
		 * pages.
		 */
		step = BLANK_PAGES * PAGE_SIZE - ((addr + pos) & (VGPU_RAM_PAGE_MAX - 1));
		step = min(len - pos, step);
		blank_move(addr + pos, step / PAGE_SIZE);
	}
}

void pages_cover(u64 addr, u64 len)
{
	u32 i;

	for (i = 0; demand.nr_mapped && i < 2 * max_pages; i++) {
		struct page *page = &demand.pages[i];

		if (!page->mapped || page->addr < addr || page->addr - addr >= len)
			continue;
		/* Bytes that a driver has written to the page are still written back. */
		page->mapped = false;
		demand.nr_mapped--;
	}
}
