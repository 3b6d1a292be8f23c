/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of a session: those of the guest process that were fetched for its shadow.
 */
#ifndef _VGPU_HOST_PAGE_H
#define _VGPU_HOST_PAGE_H

#include <linux/types.h>

struct page;
struct vgpu_demand;
struct vgpuh_lane;
struct vgpuh_session;

/**
 * struct vgpuh_page - page of the guest process; protected by demand->lock, see page.c
 * @page: memory of the page; its bytes are changed by the thread with the claim, and by drivers
 * @orig: copy of the bytes from before a driver's first write; NULL: the page is not dirty
 * @addr: address of the page in the guest process
 * @seq: number of the fetch (fresh.h); 0: the page was not fetched yet, or the fetch failed
 * @busy: true while a thread has claimed the page
 * @dirty: true if a driver may have written bytes that were not sent to the guest
 * @next: next page of a list of pages that are to be freed, or NULL
 */
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
/* Unmap all pages, unless none is mapped. */
void vgpuh_page_zap_all(struct vgpuh_session *session);
/* Store a page that came with the call. */
void vgpuh_page_store(struct vgpuh_lane *lane, u64 addr, const void *data);
/* End a call: free the pages that no running call may use any more. */
void vgpuh_page_expire(struct vgpuh_session *session);

#endif /* _VGPU_HOST_PAGE_H */
