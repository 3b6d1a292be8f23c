// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a session: the table of demand pages, claims of pages, and the end of pages.
 *
 * A page may be used only if it was fetched after the newest start of a call (fresh.h). So a
 * start unmaps all pages, and a thread that accesses an older one fetches it again. Bytes that
 * a driver wrote go back before the reply of each call that may have written them, or before
 * the page is fetched again. They are found by comparison with a copy of the fetched page: a
 * byte that a driver overwrites with its old value is not sent.
 *
 * Only the thread that has claimed a page (page->busy) changes it. A claim is held over
 * upcalls. demand->lock is not: it is taken in faults, under the mmap lock.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "fresh.h"
#include "memory/page.h"
#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/limit.h"
#include "peer/peer.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"

static void page_free(struct vgpuh_page *page)
{
	__free_page(page->page);
	kfree(page->orig);
	kfree(page);
}

static struct vgpuh_page *page_alloc(u64 addr)
{
	struct vgpuh_page *page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);

	if (!page)
		return NULL;
	page->addr = addr;
	page->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page->page) {
		kfree(page);
		return NULL;
	}
	return page;
}

bool vgpuh_page_usable(const struct vgpu_demand *demand, const struct vgpuh_page *page)
{
	return !page->busy && vgpu_fresh_usable(&demand->fresh, page->seq);
}

/* Count a page of the peer. Return: false if all sessions together may not have more. */
static bool pages_charge(struct vgpu_peer *peer)
{
	u32 most = READ_ONCE(peer->bounds.all_pages);
	u32 nr = atomic_inc_return(&peer->memory.nr_pages);

	if (most && nr > most) {
		atomic_dec(&peer->memory.nr_pages);
		return false;
	}
	vgpuh_use_most(&peer->bounds.most.all_pages, nr);
	return true;
}

struct vgpuh_page *vgpuh_page_add_locked(struct vgpuh_session *session, u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpu_peer *peer = session->peer;
	struct vgpuh_page *page;
	int ret;

	lockdep_assert_held(&demand->lock);
	if (demand->nr_pages >= READ_ONCE(peer->limits.pages) || !pages_charge(peer))
		return ERR_PTR(-ENOBUFS);
	page = page_alloc(addr);
	if (!page) {
		atomic_dec(&peer->memory.nr_pages);
		return ERR_PTR(-ENOMEM);
	}
	page->busy = true;
	ret = xa_err(xa_store(&demand->pages, addr >> PAGE_SHIFT, page, GFP_KERNEL_ACCOUNT));
	if (ret) {
		page_free(page);
		atomic_dec(&peer->memory.nr_pages);
		return ERR_PTR(ret);
	}
	demand->nr_pages++;
	vgpuh_use_most(&peer->bounds.most.pages, demand->nr_pages);
	return page;
}

void vgpuh_page_unclaim_locked(struct vgpu_demand *demand, struct vgpuh_page *page)
{
	lockdep_assert_held(&demand->lock);
	page->busy = false;
	WRITE_ONCE(demand->claims, demand->claims + 1);
}

void vgpuh_page_clean_locked(struct vgpu_demand *demand, struct vgpuh_page *page)
{
	lockdep_assert_held(&demand->lock);
	if (!page->dirty)
		return;
	page->dirty = false;
	kfree(page->orig);
	page->orig = NULL;
	demand->nr_dirty--;
}

int vgpuh_page_wait_claims(struct vgpuh_lane *lane, u64 claims)
{
	struct vgpu_demand *demand = &lane->session->demand;
	struct vgpu_peer *peer = lane->session->peer;
	unsigned int timeout = peer->agent->fetch_timeout_ms, left;
	struct vgpu_guest_wait wait;
	long ret;

	/* The threads that hold the claims wait for the guest, and so does this lane's driver. */
	if (lane->driver.runs) {
		left = vgpu_guest_wait_begin(peer->guest, lane->driver.guest_call, &wait);
		if (!left)
			return -ENOBUFS;
		timeout = min(timeout, left);
	}
	ret = wait_event_killable_timeout(demand->wait, READ_ONCE(demand->claims) != claims,
					  msecs_to_jiffies(timeout));
	if (lane->driver.runs)
		vgpu_guest_wait_end(peer->guest, &wait);
	return ret < 0 ? -EINTR : 0;
}

void vgpuh_page_zap(struct vgpuh_session *session, u64 addr, u64 len)
{
	/* Copies of private mappings stay: the memory of rooms is mapped from the same file. */
	unmap_mapping_range(session->inode->i_mapping, addr, len, 0);
}

void vgpuh_page_zap_all(struct vgpuh_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	u64 inserts;
	bool mapped;

	mutex_lock(&demand->lock);
	mapped = demand->mapped;
	inserts = demand->inserts;
	mutex_unlock(&demand->lock);
	if (!mapped)
		return;
	vgpuh_page_zap(session, 0, VGPU_ROOM_OFFSET);
	/* Other threads may skip the zap only from now on. */
	mutex_lock(&demand->lock);
	if (inserts == demand->inserts)
		demand->mapped = false;
	mutex_unlock(&demand->lock);
}

void vgpuh_page_store(struct vgpuh_lane *lane, u64 addr, const void *data)
{
	struct vgpuh_session *session = lane->session;
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;

	mutex_lock(&demand->lock);
	/* A page that is not stored here will be fetched. */
	if (vgpu_fresh_takes_sent(&demand->fresh) && !xa_load(&demand->pages, addr >> PAGE_SHIFT)) {
		page = vgpuh_page_add_locked(session, addr);
		if (!IS_ERR(page)) {
			memcpy(page_address(page->page), data, PAGE_SIZE);
			page->seq = vgpu_fresh_fetch(&demand->fresh);
			vgpuh_page_unclaim_locked(demand, page);
		}
	}
	mutex_unlock(&demand->lock);
}

/* The function is never inlined, so that a test can trace it (mock_scale.c). */
noinline void vgpuh_page_expire(struct vgpuh_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page, *victims = NULL;
	unsigned long index;

	mutex_lock(&demand->lock);
	vgpu_fresh_end(&demand->fresh);
	xa_for_each(&demand->pages, index, page) {
		if (page->busy)
			continue;
		if (demand->fresh.running && (page->dirty || vgpuh_page_usable(demand, page)))
			continue;
		vgpuh_page_clean_locked(demand, page);
		xa_erase(&demand->pages, index);
		demand->nr_pages--;
		atomic_dec(&session->peer->memory.nr_pages);
		page->next = victims;
		victims = page;
	}
	mutex_unlock(&demand->lock);
	if (!victims)
		return;
	/* A call that starts now finds demand->mapped still set and unmaps the pages itself. */
	vgpuh_page_zap_all(session);
	while ((page = victims)) {
		victims = page->next;
		page_free(page);
	}
}

void vgpuh_page_init(struct vgpu_demand *demand)
{
	mutex_init(&demand->lock);
	/*
	 * The guest chooses the addresses, and pages that lie far apart take a node each or more.
	 * The flag has the nodes charged to the guest's control group.
	 */
	xa_init_flags(&demand->pages, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&demand->wait);
}

void vgpuh_page_fini(struct vgpuh_session *session)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;
	unsigned long index;

	xa_for_each(&demand->pages, index, page)
		page_free(page);
	xa_destroy(&demand->pages);
	atomic_sub(demand->nr_pages, &session->peer->memory.nr_pages);
}
