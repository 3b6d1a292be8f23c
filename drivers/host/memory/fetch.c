// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetches of demand pages from the guest, in the middle of a call. No lock of this module is
 * held meanwhile, though the driver may hold some of its own.
 */
#include <linux/mm.h>

#include "conn.h"
#include "fresh.h"
#include "memory/fetch.h"
#include "memory/page.h"
#include "memory/writeback.h"
#include "session/lane.h"

static int fetch_pages(struct vgpuh_lane *lane, struct vgpuh_page **pages, unsigned int nr)
{
	struct vgpu_fetch msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_FETCH),
		.hdr.seq = cpu_to_le64(lane->proto.seq),
		.addr = cpu_to_le64(pages[0]->addr),
		.len = cpu_to_le32(nr * PAGE_SIZE),
	};
	struct kvec vec = { .iov_base = &msg, .iov_len = sizeof(msg) };
	struct kvec data[VGPU_FETCH_AHEAD];
	struct vgpu_fetched answer;
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		data[i].iov_base = page_address(pages[i]->page);
		data[i].iov_len = PAGE_SIZE;
	}
	ret = vgpuh_lane_upcall(lane, &vec, 1, sizeof(msg), VGPU_MSG_FETCHED, &answer,
				sizeof(answer), data, nr);
	if (ret)
		return ret;
	if (answer.error)
		return -EFAULT;
	atomic64_add(nr, &lane->session->peer->counters.fetched_pages);
	lane->call.cost.pages += nr;
	return 0;
}

/*
 * Claim new pages after pages[0] up to the first one that exists already.
 * Return: number of entries of @pages that are claimed.
 */
static unsigned int fetch_claim_ahead(struct vgpuh_session *session, struct vgpuh_page **pages,
				      unsigned int nr)
{
	struct vgpu_demand *demand = &session->demand;
	unsigned int i;

	mutex_lock(&demand->lock);
	for (i = 1; i < nr; i++) {
		u64 addr = pages[0]->addr + i * PAGE_SIZE;

		if (xa_load(&demand->pages, addr >> PAGE_SHIFT) ||
		    demand->nr_pages >= READ_ONCE(session->peer->limits.pages))
			break;
		pages[i] = vgpuh_page_add_locked(session, addr);
		if (IS_ERR(pages[i]))
			break;
	}
	mutex_unlock(&demand->lock);
	return i;
}

/*
 * Claim the page at @addr. Return: the page; NULL: there is nothing to do but to try again; or
 * an ERR_PTR().
 */
static struct vgpuh_page *fetch_claim(struct vgpuh_session *session, struct vgpuh_lane *lane,
				      u64 addr)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *page;
	u64 claims;

	mutex_lock(&demand->lock);
	page = xa_load(&demand->pages, addr >> PAGE_SHIFT);
	claims = demand->claims;
	if (!page) {
		page = vgpuh_page_add_locked(session, addr);
	} else if (page->busy) {
		mutex_unlock(&demand->lock);
		/* Another thread has the claim. The caller looks again, whatever the result is. */
		return ERR_PTR(vgpuh_page_wait_claims(lane, claims));
	} else if (vgpuh_page_usable(demand, page)) {
		page = NULL;
	} else {
		page->busy = true;
	}
	mutex_unlock(&demand->lock);
	return page;
}

/* Hold new calls back during the next fetch, if starts of calls have made this one worthless. */
static void fetch_close_gate(struct vgpu_demand *demand, struct vgpuh_lane *lane, u64 addr,
			     u64 seq)
{
	bool again = lane->fetch.addr == addr;

	lockdep_assert_held(&demand->lock);
	lane->fetch.addr = addr;
	if (lane->fetch.gating || !vgpu_fresh_worthless(&demand->fresh, seq, again))
		return;
	lane->fetch.gating = true;
	WRITE_ONCE(demand->gated, demand->gated + 1);
}

/*
 * Make the page at @addr usable, if possible, and perhaps some more up to @end.
 * Context: the mmap lock is not held.
 */
int vgpu_fetch_page(struct vgpuh_session *session, struct vgpuh_lane *lane, u64 addr, u64 end)
{
	struct vgpu_demand *demand = &session->demand;
	struct vgpuh_page *pages[VGPU_FETCH_AHEAD];
	unsigned int nr, i;
	u64 seq;
	int ret;

	pages[0] = fetch_claim(session, lane, addr);
	if (IS_ERR_OR_NULL(pages[0]))
		return PTR_ERR_OR_ZERO(pages[0]);
	/* The write-back ends the claim; the next pass claims the page again. */
	if (pages[0]->dirty)
		return vgpu_writeback_page(lane, pages[0]);

	nr = fetch_claim_ahead(session, pages, vgpu_ahead_pages(&lane->fetch.ahead, addr, end));
	/*
	 * The number is taken before the guest is asked: a call that starts meanwhile finds the
	 * pages too old. The start of a call may not have unmapped the first page yet: threads
	 * that still read the page find newer bytes than they expect, which does no harm.
	 */
	mutex_lock(&demand->lock);
	seq = vgpu_fresh_fetch(&demand->fresh);
	mutex_unlock(&demand->lock);
	ret = fetch_pages(lane, pages, nr);
	mutex_lock(&demand->lock);
	for (i = 0; i < nr; i++) {
		pages[i]->seq = ret ? 0 : seq;
		vgpuh_page_unclaim_locked(demand, pages[i]);
	}
	if (!ret)
		fetch_close_gate(demand, lane, addr, seq);
	/* After a failure the next pass asks for one page: perhaps only the pages ahead are bad. */
	lane->fetch.ahead.next = ret ? 0 : addr + nr * PAGE_SIZE;
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	return nr > 1 && !vgpu_conn_is_down(&lane->conn) ? 0 : ret;
}
