/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of guest processes.
 */
#ifndef _VGPU_HOST_PAGE_H
#define _VGPU_HOST_PAGE_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpu_demand;
struct vgpuh_lane;
struct vgpuh_session;

/* Page of the guest process; the rules are in demand.c. */
struct vgpuh_page {
	struct page *page;
	u8 *orig;
	u64 addr;
	u64 seq;
	bool busy;
	bool dirty;
	struct vgpuh_page *next;
};

void vgpuh_page_init(struct vgpu_demand *demand);
/* Free all pages, when no lane and no VMA is left. */
void vgpuh_page_fini(struct vgpuh_session *session);
/* Check that @page may be mapped: it is fresh for every running call, and not claimed. */
bool vgpuh_page_usable(const struct vgpu_demand *demand, const struct vgpuh_page *page);
/*
 * Add a new page, claimed by the caller. Return: the page, or an ERR_PTR(): -ENOBUFS at the
 * limit.
 */
struct vgpuh_page *vgpuh_page_add_locked(struct vgpuh_session *session, u64 addr);
void vgpuh_page_unclaim_locked(struct vgpu_demand *demand, struct vgpuh_page *page);
/* Mark @page as clean: its changes were sent to the guest, or are of no interest. */
void vgpuh_page_clean_locked(struct vgpu_demand *demand, struct vgpuh_page *page);
/*
 * Wait, with a deadline, until the number of ended claims is not @claims any more.
 * Return: 0, also at the deadline; -EINTR; -ENOBUFS: a driver would wait, and the guest's time is
 * used up.
 */
int vgpuh_page_wait_claims(struct vgpuh_lane *lane, u64 claims);
void vgpuh_page_zap(struct vgpuh_session *session, u64 addr, u64 len);
void vgpuh_page_zap_all(struct vgpuh_session *session);
/* Store a page that came with the call. */
void vgpuh_page_store(struct vgpuh_lane *lane, u64 addr, const void *data);
/* End a call: free the pages that no running call may use any more. */
void vgpuh_page_expire(struct vgpuh_session *session);

#endif /* _VGPU_HOST_PAGE_H */
