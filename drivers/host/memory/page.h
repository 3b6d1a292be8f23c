/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of guest processes.
 */
#ifndef _VGPU_HOST_PAGE_H
#define _VGPU_HOST_PAGE_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct page;
struct vgpu_demand;
struct vgpu_lane;
struct vgpu_session;

/* Page of the guest process; the rules are in demand.c. */
struct vgpu_page {
	struct page *page;
	u8 *orig;
	u64 addr;
	u64 seq;
	bool busy;
	bool dirty;
	struct vgpu_page *next;
};

void vgpu_page_init(struct vgpu_demand *demand);
/* Free all pages, when no lane and no VMA is left. */
void vgpu_page_fini(struct vgpu_session *session);
/* Check that @page may be mapped: it is fresh for every running call, and not claimed. */
bool vgpu_page_usable(const struct vgpu_demand *demand, const struct vgpu_page *page);
/*
 * Add a new page, claimed by the caller. Return: the page, or an ERR_PTR(): -ENOBUFS at the
 * limit.
 */
struct vgpu_page *vgpu_page_add_locked(struct vgpu_session *session, u64 addr);
void vgpu_page_unclaim_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/* Mark @page as clean: its changes were sent to the guest, or are of no interest. */
void vgpu_page_clean_locked(struct vgpu_demand *demand, struct vgpu_page *page);
/*
 * Wait, with a deadline, until the number of ended claims is not @claims any more.
 * Return: 0, also at the deadline; -EINTR; -ENOBUFS: a driver would wait, and the guest's time is
 * used up.
 */
int vgpu_page_wait_claims(struct vgpu_lane *lane, u64 claims);
void vgpu_page_zap(struct vgpu_session *session, u64 addr, u64 len);
void vgpu_page_zap_all(struct vgpu_session *session);
/* Store a page that came with the call. */
void vgpu_page_store(struct vgpu_lane *lane, u64 addr, const void *data);
/* End a call: free the pages that no running call may use any more. */
void vgpu_page_expire(struct vgpu_session *session);

#endif /* _VGPU_HOST_PAGE_H */
