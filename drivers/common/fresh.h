/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Freshness: tells whether the running calls may use a page of the guest's memory.
 *
 * Starts of calls and fetches of pages draw numbers from one counter. A page may be used only
 * if the number of its fetch is higher than that of the newest start. All threads of the shadow
 * share the page table, so a usable page must be fresh for every running call. The number of a
 * fetch is drawn before the guest is asked, so a call that starts meanwhile finds the page too
 * old.
 *
 * The callers serialize these functions.
 */
#ifndef VGPU_FRESH_H
#define VGPU_FRESH_H

#include "wire.h"

/* Maximum number of pages of one fetch. */
#define VGPU_FETCH_AHEAD	32U

/**
 * struct vgpu_fresh - counter of starts and fetches of a session
 * @seq: newest number
 * @last_start: number of the newest start
 * @running: number of running calls that may use pages
 */
struct vgpu_fresh {
	u64 seq;
	u64 last_start;
	u32 running;
};

/* Start a call: no page fetched before may be used from here on. */
static inline void vgpu_fresh_start(struct vgpu_fresh *fresh)
{
	fresh->running++;
	fresh->last_start = ++fresh->seq;
}

static inline void vgpu_fresh_end(struct vgpu_fresh *fresh)
{
	fresh->running--;
}

/* Return: number of a fetch that begins here. */
static inline u64 vgpu_fresh_fetch(struct vgpu_fresh *fresh)
{
	return ++fresh->seq;
}

/*
 * Return: true if a page whose fetch has number @seq may be used; a failed page has number 0.
 */
static inline bool vgpu_fresh_usable(const struct vgpu_fresh *fresh, u64 seq)
{
	return seq > fresh->last_start;
}

/*
 * Return: true if a page that came with a call may be used. The guest read the page before the
 * call started here, so the page may be too old for other running calls.
 */
static inline bool vgpu_fresh_takes_sent(const struct vgpu_fresh *fresh)
{
	return fresh->running == 1;
}

/**
 * vgpu_fresh_worthless - find out if a fetch has to be repeated with new calls held back
 * @fresh: counter of the session
 * @seq: number of the fetch
 * @again: true if the call has fetched the same page before and could not use it
 *
 * Starts of other calls make a fetch worthless before it ends, or before its page is used.
 * Without a gate for new calls, many threads would undo each other's fetches for ever.
 */
static inline bool vgpu_fresh_worthless(const struct vgpu_fresh *fresh, u64 seq, bool again)
{
	return again || !vgpu_fresh_usable(fresh, seq);
}

/**
 * struct vgpu_ahead - read-ahead of a call
 * @next: address of the next fault if the driver goes on in order
 * @nr: number of pages of the last fetch
 */
struct vgpu_ahead {
	u64 next;
	u32 nr;
};

/**
 * vgpu_ahead_pages - compute how many pages to fetch
 * @ahead: read-ahead of the call
 * @addr: address of the driver's fault
 * @end: upper bound of the fetch: a device mapping may begin here, and its pages are not read
 *	ahead
 *
 * The number doubles with each fetch while the driver goes through memory page by page.
 *
 * Return: number of pages.
 */
static inline u32 vgpu_ahead_pages(struct vgpu_ahead *ahead, u64 addr, u64 end)
{
	ahead->nr = addr == ahead->next ? min(2 * ahead->nr, VGPU_FETCH_AHEAD) : 1;
	return min_t(u64, ahead->nr, (end - addr) / VGPU_PAGE_SIZE);
}

#endif /* VGPU_FRESH_H */
