/* SPDX-License-Identifier: MIT */
/* Pages of the guest process: see page.c. */
#ifndef ESHADOW_PAGE_H
#define ESHADOW_PAGE_H

#include "engine/shadow/base/lib.h"
#include "fresh.h"

/**
 * struct page - a page of the guest process
 * @addr: address of the page
 * @seq: number of the fetch, for fresh.h
 * @next: list entry of the page's bucket, or of a list of free entries
 * @busy: true if a thread has claimed the page, so that no other thread may work on it
 * @fetching: true if the page is @busy and all of its bytes, if any, came from the guest: there is
 *	nothing to write back
 * @mapped: true if the page is mapped at its address
 * @bad: true if the page could not be fetched: it is mapped without access until the call ends. A
 *	thread that has waited too long for the end of @busy may set it, too
 * @shut: true if the page is bad for the call of one lane only, while another lane fetches it;
 *	that lane opens the page again
 * @filled: true if the page has bytes of the guest
 */
struct page {
	u64 addr;
	u64 seq;
	struct page *next;
	bool busy;
	bool fetching;
	bool mapped;
	bool bad;
	bool shut;
	bool filled;
};

#define DEMAND_BUCKETS	4096

/**
 * struct demand - pages of the guest process that are in this shadow
 * @lock: lock of all fields
 * @fresh: numbering of fetches and of starts of calls
 * @claims: counter of claims that have ended; a futex
 * @gated: number of lanes that repeat a fetch while new calls are held back
 * @nr_pages: number of pages
 * @nr_good: number of those that can have bytes
 * @nr_mapped: number of pages that are mapped
 * @waiting: true if faults wait for claims to end
 * @top: index in @pages after the last entry that was ever used and can have bytes
 * @free: list of free entries that can have bytes
 * @free_bad: list of free entries that can only be bad
 * @pages: array of all entries; those that can have bytes come first
 * @buckets: hash table of the entries in use, by address
 * @live: bytes of each page
 * @orig: bytes that the guest gave for each page
 * @secret: secret memory (memfd_secret) that holds @live
 * @faults: the userfaultfd
 */
struct demand {
	struct lock lock;
	struct vgpu_fresh fresh;
	u32 claims;
	u32 gated;
	u32 nr_pages;
	u32 nr_good;
	u32 nr_mapped;
	bool waiting;
	u32 top;
	struct page *free;
	struct page *free_bad;
	struct page *pages;
	struct page *buckets[DEMAND_BUCKETS];
	u8 *live;
	u8 *orig;
	int secret;
	int faults;
};

extern struct demand demand;

/* Sets up the pages. If something is missing, exits with a status that says what. */
void page_init(void);
struct page *page_find(u64 addr);
/*
 * Adds an entry for a page, which the caller has claimed then. @bad: true for an entry without
 * memory for bytes, whose page can only be bad; each kind of entries has a limit. Return: the page,
 * or NULL at the limit. Context: demand.lock is held.
 */
struct page *page_add(u64 addr, bool bad);
bool page_has_bytes(const struct page *page);
void page_free(struct page *page);
/* Maps the page at its address. */
void page_show(struct page *page);
/* Maps the page without access as long as it is claimed. Context: demand.lock is held. */
void page_shut(struct page *page);
/* Undoes page_shut(): faults there are reported again. Context: demand.lock is held. */
void page_open(struct page *page);
/* Return: the bytes of the page, and the bytes that the guest gave. */
u8 *page_live(const struct page *page);
u8 *page_orig(const struct page *page);
static inline bool page_differs(const struct page *page)
{
	return page->filled && __builtin_memcmp(page_live(page), page_orig(page), PAGE_SIZE);
}
void page_unclaim(struct page *page);
/* Largest number of pages that are hidden at once. */
#define HIDE_MAX	64
/*
 * Unmaps claimed pages from their addresses. A run of pages at adjacent addresses is unmapped
 * atomically for all threads that access the run. Context: takes map_lock; demand.lock is not
 * held.
 */
void pages_hide(struct page **pages, u32 nr);
/*
 * Replaces everything at [addr, addr + len) by memory whose faults are reported. Context:
 * map_lock is held. Return: 0, or a negative errno.
 */
int demand_cover(u64 addr, u64 len);
/* Does the same in several steps, each of which is atomic for threads that access the memory. */
void demand_cover_moving(u64 addr, u64 len);
/* Notes that other memory replaces pages at [addr, addr + len). Context: demand.lock is held. */
void pages_cover(u64 addr, u64 len);
/* Wakes all threads that wait in a fault at this page. */
void page_wake(u64 addr);

/*
 * Drops demand.lock after claims have ended. Wakes the threads that wait for the end of claims, and
 * the pager if faults wait for it.
 */
void demand_drop(void);
/*
 * Waits with a deadline until demand.claims differs from @claims. Context: demand.lock is not
 * held.
 */
void demand_wait(u32 claims);

#endif /* ESHADOW_PAGE_H */
