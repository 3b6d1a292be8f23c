// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back: the bytes that a driver wrote to demand pages are sent to the guest. No other
 * byte of the pages is sent, as other threads of the program write to them, too.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory/page.h"
#include "memory/writeback.h"
#include "session/lane.h"
#include "wire.h"

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
		.hdr.seq = cpu_to_le64(batch->lane->proto.seq),
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

/* Send what the driver wrote to @page, before the page is fetched again. */
int vgpu_writeback_page(struct vgpuh_lane *lane, struct vgpuh_page *page)
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
