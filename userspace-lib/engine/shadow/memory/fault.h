/* SPDX-License-Identifier: MIT */
/* Faults of lanes' threads: see fault.c. */
#ifndef ESHADOW_FAULT_H
#define ESHADOW_FAULT_H

#include "engine/shadow/lane/lane.h"

struct page;

/* Kinds of upcalls to the guest. */
enum upcall {
	UPCALL_NONE = 0,
	UPCALL_FETCH,
	UPCALL_WRITEBACK,
};

/**
 * struct fault - a fault of a lane's thread that the pager serves
 * @addr: address of the page; 0: there is no fault
 * @call: number of the lane's call at the fault
 * @upcall: kind of the upcall to the guest
 * @pages: pages that were claimed for the upcall
 * @nr: number of entries of @pages
 * @seq: number of the fetch
 * @end: deadline in nanoseconds of the upcall, or of the wait for a page that others have claimed
 * @start: time in nanoseconds at which the upcall or the wait began
 * @may: time in nanoseconds that the driver may wait
 * @wait: state of vgpu_patience_begin()
 * @have: number of bytes of the answer that were received
 * @want: length of the answer in bytes
 * @answer: fixed part of the answer
 */
struct fault {
	u64 addr;
	u64 call;
	enum upcall upcall;
	struct page *pages[VGPU_FETCH_AHEAD];
	u32 nr;
	u64 seq;
	u64 end;
	u64 start;
	u64 may;
	struct vgpu_patience_wait wait;
	u32 have;
	u32 want;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetched fetched;
		struct vgpu_written written;
	} answer;
};

/* The fault of each lane's thread. */
extern struct fault faults[SHADOW_LANES];
/* True for each lane whose fault waits for the end of another thread's claim. */
extern bool fault_waits[SHADOW_LANES];

/* A lane that never had a connection has a fault, too, but no index yet. */
static inline struct fault *fault_of(const struct lane *lane)
{
	return &faults[lane - lane_by_index(0)];
}

/* Serves the fault at @addr of the lane's struct fault. */
void fault_serve(struct lane *lane);
/* Ends a wait for a claim. Its time counts like that of an upcall. */
void wait_over(struct lane *lane);
/*
 * Makes the access of the lane's driver fail. @limited: errno of a limit, or 0. If another lane
 * has asked the guest for the page, that lane's access keeps waiting: that lane is not woken, and
 * the page is not bad for its call. Context: demand.lock is held, and dropped.
 */
void fault_fail(struct lane *lane, int limited);
void upcall_end(struct lane *lane, int error);
/*
 * Refuses a fault outside of all lanes' calls: by a kernel thread that works for a driver, or a
 * debugger.
 */
void fault_refuse(u64 addr);

#endif /* ESHADOW_FAULT_H */
