// SPDX-License-Identifier: GPL-2.0-only
/*
 * Upcalls about demand pages: fetches from the guest, in the middle of a call, and the write-back
 * of what drivers wrote. No lock of this module is held meanwhile, though the driver may hold some
 * of its own.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "conn.h"
#include "fresh.h"
#include "memory/demand.h"
#include "memory/upcall.h"
#include "session/lane.h"
#include "wire.h"

/*
 * --- write-back --------------------------------------------------------------
 *
 * The bytes that a driver wrote to demand pages are sent to the guest. No other byte of the pages
 * is sent, as other threads of the program write to them, too.
 */

#define BATCH_PAGES		16

static_assert(BATCH_PAGES * VGPU_DIFF_RANGES <= VGPU_RANGES_MAX);

/* Changed ranges of claimed pages that are to be sent in one message. */
struct writeback_batch {
	struct vgpuh_lane *lane;
	struct vgpuh_page *pages[BATCH_PAGES];
	unsigned int nr_pages;
	/* Errno of the first failure, for the caller; 0: nothing has failed. */
	int error;
	struct vgpu_wire_diff diff;
	struct vgpu_range ranges[BATCH_PAGES * VGPU_DIFF_RANGES];
	u8 data[BATCH_PAGES * VGPU_DIFF_BYTES] __aligned(8);
};

/* Send the ranges. Return: 0; 1: the guest refuses some; an errno: the lane cannot be used. */
static int batch_send(struct writeback_batch *batch)
{
	struct vgpu_wire_diff *diff = &batch->diff;
	u32 pad = vgpu_wire_pad(diff->len);
	u32 ranges_len = diff->nr * sizeof(batch->ranges[0]);
	u32 len = sizeof(struct vgpu_writeback) + ranges_len + pad;
	struct vgpu_writeback msg = {
		.hdr.len = cpu_to_le32(len),
		.hdr.type = cpu_to_le16(VGPU_MSG_WRITEBACK),
		.hdr.seq = cpu_to_le64(batch->lane->seq),
		.nr_ranges = cpu_to_le32(diff->nr),
	};
	struct kvec vec[] = {
		{ .iov_base = &msg, .iov_len = sizeof(msg) },
		{ .iov_base = batch->ranges, .iov_len = ranges_len },
		{ .iov_base = batch->data, .iov_len = pad },
	};
	struct vgpu_written answer;
	int ret;

	if (!diff->nr)
		return 0;
	memset(batch->data + diff->len, 0, pad - diff->len);
	ret = vgpuh_lane_upcall(batch->lane, vec, ARRAY_SIZE(vec), len, VGPU_MSG_WRITTEN, &answer,
				sizeof(answer), NULL, 0);
	diff->nr = 0;
	diff->len = 0;
	if (ret)
		return ret;
	return !!answer.error;
}

/*
 * Send the ranges and end the claims of their pages. The pages become clean if the guest has
 * answered: a range that it refuses now it would always refuse. Without an answer they stay
 * dirty, as the bytes may be those of another call, which sends them when it ends.
 */
static void batch_flush(struct writeback_batch *batch)
{
	struct vgpu_demand *demand = &batch->lane->session->demand;
	unsigned int i;
	int ret;

	if (!batch->nr_pages)
		return;
	ret = batch_send(batch);
	/*
	 * A refusal (1) means that the program does not have an address. Any other error is the
	 * lane's.
	 */
	if (ret && !batch->error)
		batch->error = ret < 0 ? ret : -EFAULT;
	mutex_lock(&demand->lock);
	for (i = 0; i < batch->nr_pages; i++) {
		if (ret >= 0)
			vgpuh_page_clean_locked(demand, batch->pages[i]);
		vgpuh_page_unclaim_locked(demand, batch->pages[i]);
	}
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	batch->nr_pages = 0;
}

/* Add the changed ranges of @page. Consumes the caller's claim of the page. */
static void batch_add(struct writeback_batch *batch, struct vgpuh_page *page)
{
	struct vgpuh_session *session = batch->lane->session;
	u32 nr = batch->diff.nr;

	vgpuh_page_zap(session, page->addr, PAGE_SIZE);
	vgpu_wire_diff_page(&batch->diff, page->addr, page->orig, page_address(page->page));
	if (batch->diff.nr != nr)
		atomic64_inc(&session->peer->counters.written_pages);
	batch->pages[batch->nr_pages++] = page;
	if (batch->nr_pages == BATCH_PAGES)
		batch_flush(batch);
}

/* The function is never inlined, so that a test can make it fail (mock_nomem.c). */
static noinline struct writeback_batch *batch_alloc(struct vgpuh_lane *lane)
{
	struct writeback_batch *batch = kvmalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);

	if (!batch)
		return NULL;
	batch->lane = lane;
	batch->nr_pages = 0;
	batch->diff = (struct vgpu_wire_diff) { .ranges = batch->ranges, .bytes = batch->data };
	batch->error = 0;
	return batch;
}

/* End the claim of an unchanged page, and wake the threads that wait for it. */
static void batch_give_back(struct vgpu_demand *demand, struct vgpuh_page *page)
{
	mutex_lock(&demand->lock);
	vgpuh_page_unclaim_locked(demand, page);
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
}

/*
 * Find the first dirty page from *@index on and claim it. If another thread has claimed it
 * already, *@taken is true, and *@claims is the argument for vgpuh_page_wait_claims().
 */
static struct vgpuh_page *batch_claim(struct vgpu_demand *demand, unsigned long *index,
				      bool *taken, u64 *claims)
{
	struct vgpuh_page *page = NULL;

	mutex_lock(&demand->lock);
	if (demand->nr_dirty)
		xa_for_each_start(&demand->pages, *index, page, *index)
			if (page->dirty)
				break;
	*taken = page && page->busy;
	*claims = demand->claims;
	if (page)
		page->busy = true;
	mutex_unlock(&demand->lock);
	return page;
}

/*
 * Send the dirty pages, each at most once: what other calls write from now on is sent by these
 * calls. A page that another thread is sending may hold bytes of this call's driver. The reply
 * must not overtake them, so the function waits for that thread.
 */
int vgpu_writeback_all(struct vgpuh_lane *lane)
{
	struct vgpu_demand *demand = &lane->session->demand;
	struct writeback_batch *batch = NULL;
	struct vgpuh_page *page;
	unsigned long index = 0;
	bool taken;
	u64 claims;
	int ret = 0;

	while (!ret && (page = batch_claim(demand, &index, &taken, &claims))) {
		if (taken) {
			/* The other thread may be waiting for a page that this one has claimed. */
			if (batch)
				batch_flush(batch);
			ret = vgpuh_page_wait_claims(lane, claims);
			continue;
		}
		index++;
		if (!batch)
			batch = batch_alloc(lane);
		if (batch) {
			batch_add(batch, page);
			continue;
		}
		batch_give_back(demand, page);
		ret = -ENOMEM;
	}
	if (batch) {
		batch_flush(batch);
		ret = ret ?: batch->error;
		kvfree(batch);
	}
	return ret;
}

/*
 * Send what the driver wrote to @page, which the caller has claimed, before the page is fetched
 * again. Ends the claim.
 */
static int writeback_page(struct vgpuh_lane *lane, struct vgpuh_page *page)
{
	struct writeback_batch *batch = batch_alloc(lane);
	int ret;

	if (!batch) {
		batch_give_back(&lane->session->demand, page);
		return -ENOMEM;
	}
	batch_add(batch, page);
	batch_flush(batch);
	ret = batch->error;
	kvfree(batch);
	return ret;
}

/* --- fetches ----------------------------------------------------------------- */

static int fetch_pages(struct vgpuh_lane *lane, struct vgpuh_page **pages, unsigned int nr)
{
	struct vgpu_fetch msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_FETCH),
		.hdr.seq = cpu_to_le64(lane->seq),
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
		    demand->nr_pages >= session->peer->limits.pages)
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
	bool again = lane->fetch_addr == addr;

	lockdep_assert_held(&demand->lock);
	lane->fetch_addr = addr;
	if (lane->gating || !vgpu_fresh_worthless(&demand->fresh, seq, again))
		return;
	lane->gating = true;
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
		return writeback_page(lane, pages[0]);

	nr = fetch_claim_ahead(session, pages, vgpu_ahead_pages(&lane->ahead, addr, end));
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
	lane->ahead.next = ret ? 0 : addr + nr * PAGE_SIZE;
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	return nr > 1 && !vgpu_conn_is_down(&lane->conn) ? 0 : ret;
}
