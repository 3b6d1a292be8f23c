// SPDX-License-Identifier: MIT
/*
 * Demand pages at the start and at the end of calls. A call that starts makes all pages too old; a
 * call that ends writes back what its driver wrote. The rules are in drivers/common/fresh.h, as the
 * host module has the same.
 */
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/memory/demand.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/wait.h"
#include "engine/shadow/memory/writeback.h"

/* Return: true if no running call may use the page any more. */
static bool demand_expired(const struct page *page)
{
	return !demand.fresh.running ||
		((page->bad || !vgpu_fresh_usable(&demand.fresh, page->seq)) &&
		 !page_differs(page));
}

/*
 * Claims the next pages that are mapped and too old; with @expire, those that may be freed.
 * @busy: set if other threads have claimed some of them.
 */
static u32 demand_claim(struct page **pages, bool expire, bool *busy)
{
	u32 bucket, nr = 0;
	struct page *page;

	*busy = false;
	for (bucket = 0; bucket < DEMAND_BUCKETS && nr < HIDE_MAX; bucket++) {
		for (page = demand.buckets[bucket]; page && nr < HIDE_MAX; page = page->next) {
			if (expire ? !page->busy && !demand_expired(page) :
			    !page->mapped || (!page->bad &&
					      vgpu_fresh_usable(&demand.fresh, page->seq)))
				continue;
			if (page->busy) {
				*busy = true;
				continue;
			}
			page->busy = true;
			pages[nr++] = page;
		}
	}
	return nr;
}

static void demand_hide(bool expire)
{
	struct page *pages[HIDE_MAX];
	bool busy = false;
	u32 nr, i, claims;

	for (;;) {
		lock_take(&demand.lock);
		nr = (expire ? demand.nr_pages : demand.nr_mapped) ?
			demand_claim(pages, expire, &busy) : 0;
		claims = demand.claims;
		lock_drop(&demand.lock);
		if (!nr) {
			/*
			 * At a call's start, wait for pages that other threads have claimed: the
			 * call must not find a page that the start of another call is about to
			 * hide.
			 */
			if (expire || !busy)
				return;
			demand_wait(claims);
			busy = false;
			continue;
		}
		pages_hide(pages, nr);
		lock_take(&demand.lock);
		for (i = 0; i < nr; i++) {
			page_unclaim(pages[i]);
			/*
			 * A driver may have written to the page until it was hidden, and another
			 * thread may have made it bad since.
			 */
			if (expire && !pages[i]->mapped &&
			    !(demand.fresh.running && page_differs(pages[i])))
				page_free(pages[i]);
		}
		demand_drop();
	}
}

void demand_ungate(struct lane *lane)
{
	if (!lane->fetch.gating)
		return;
	lane->fetch.gating = false;
	demand.gated--;
	demand.claims++;
}

void demand_begin_mm(struct lane *lane)
{
	lock_take(&demand.lock);
	wait_call_begins(lane);
	lock_drop(&demand.lock);
}

void demand_begin(struct lane *lane)
{
	u64 end = now_ns() + shared->fetch_timeout_ms * NSEC_PER_MS;

	lock_take(&demand.lock);
	lane->fetch.addr = 0;
	lane->fetch.ahead.next = 0;
	lane->fetch.limited = 0;
	/* Bounded: the lane that holds the gate is fetching, which has a deadline. */
	while (demand.gated && now_ns() < end) {
		u32 claims = demand.claims;

		lock_drop(&demand.lock);
		word_wait(&demand.claims, claims, 100);
		lock_take(&demand.lock);
	}
	vgpu_fresh_start(&demand.fresh);
	wait_call_begins(lane);
	lock_drop(&demand.lock);
	demand_hide(false);
}

int demand_end(struct lane *lane)
{
	int ret;

	lock_take(&demand.lock);
	demand_ungate(lane);
	lock_drop(&demand.lock);
	word_wake(&demand.claims);
	/*
	 * The driver holds no locks any more, so each upcall has a deadline of its own, and they
	 * share no limit (lane_ask()).
	 */
	ret = writeback_all(lane);
	lock_take(&demand.lock);
	vgpu_fresh_end(&demand.fresh);
	lock_drop(&demand.lock);
	demand_hide(true);
	return lane->fetch.limited ?: ret;
}

void demand_store(u64 addr, const u8 *bytes)
{
	struct page *page;

	/* The guest may name an address within this program. */
	if (!mapping_range_ok(addr, PAGE_SIZE))
		return;
	lock_take(&demand.lock);
	if (vgpu_fresh_takes_sent(&demand.fresh) && !page_find(addr) && !mapping_at(addr)) {
		page = page_add(addr, false);
		if (page) {
			memcpy(page_live(page), bytes, PAGE_SIZE);
			memcpy(page_orig(page), bytes, PAGE_SIZE);
			page->filled = true;
			page->seq = vgpu_fresh_fetch(&demand.fresh);
			page_unclaim(page);
			page_show(page);
		}
	}
	lock_drop(&demand.lock);
}
