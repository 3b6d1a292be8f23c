/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a page of the guest may be used by the calls that run: its freshness is a number.
 *
 * Starts of calls and fetches share one numbering. A page may be used only if it was fetched
 * after the newest start, because page tables belong to all threads of the shadow: then it is
 * fresh for every running call. The number is taken before the guest is asked, so a call that
 * starts meanwhile finds the page too old.
 *
 * Whoever uses these functions makes callers take turns.
 */
#ifndef VGPU_FRESH_H
#define VGPU_FRESH_H

#include "wire.h"

#ifdef __KERNEL__
#include <linux/minmax.h>
#endif

/* Most pages of one fetch. */
#define VGPU_FETCH_AHEAD	32U

/**
 * struct vgpu_fresh - the numbering of a session
 * @seq: the newest number
 * @last_start: that of the newest start
 * @running: calls that may use pages
 */
struct vgpu_fresh {
	u64 seq;
	u64 last_start;
	u32 running;
};

/* A call starts: no page is fresh from here on. */
static inline void vgpu_fresh_start(struct vgpu_fresh *fresh)
{
	fresh->running++;
	fresh->last_start = ++fresh->seq;
}

static inline void vgpu_fresh_end(struct vgpu_fresh *fresh)
{
	fresh->running--;
}

/* The number of what is fetched from here on. */
static inline u64 vgpu_fresh_fetch(struct vgpu_fresh *fresh)
{
	return ++fresh->seq;
}

/* May a page with that number be used? A page that could not be fetched has 0. */
static inline bool vgpu_fresh_usable(const struct vgpu_fresh *fresh, u64 seq)
{
	return seq > fresh->last_start;
}

/*
 * A page that came with a call was read before that call started here: it may be too old for
 * another one.
 */
static inline bool vgpu_fresh_takes_sent(const struct vgpu_fresh *fresh)
{
	return fresh->running == 1;
}

/**
 * vgpu_fresh_worthless - must a fetch be repeated with new calls held back?
 * @fresh: the numbering
 * @seq: of the fetch
 * @again: the call has fetched the same page before, and could not use it
 *
 * Other calls' starts have made it worthless, before it ended or before it was used. Without a
 * gate many threads would undo each other's fetches for ever.
 */
static inline bool vgpu_fresh_worthless(const struct vgpu_fresh *fresh, u64 seq, bool again)
{
	return again || !vgpu_fresh_usable(fresh, seq);
}

/**
 * struct vgpu_ahead - how much a driver that reads on gets at once
 * @next: where it would fault next
 * @nr: pages of the last fetch
 */
struct vgpu_ahead {
	u64 next;
	u32 nr;
};

/**
 * vgpu_ahead_pages - how many pages to ask for
 * @ahead: of the call
 * @addr: where the driver has faulted
 * @end: not beyond this, where a device mapping may begin, whose pages are not memory to be
 *	read for nothing
 *
 * A driver that goes through memory page by page gets twice as many each time.
 */
static inline u32 vgpu_ahead_pages(struct vgpu_ahead *ahead, u64 addr, u64 end)
{
	ahead->nr = addr == ahead->next ? min(2 * ahead->nr, VGPU_FETCH_AHEAD) : 1;
	return min_t(u64, ahead->nr, (end - addr) / VGPU_PAGE_SIZE);
}

#endif /* VGPU_FRESH_H */
