// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write-back: bytes that a driver wrote to demand pages go to the guest, and
 * nothing else of the pages: other threads write there, too.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "host.h"

#define BATCH_PAGES		16

static_assert(BATCH_PAGES * VGPU_DIFF_RANGES <= VGPU_RANGES_MAX);

/* Ranges of claimed pages on their way to the guest. */
struct writeback_batch {
	struct vgpu_lane *lane;
	struct vgpu_page *pages[BATCH_PAGES];
	unsigned int nr_pages;
	/* Errno of the first failure, for the caller; 0: there was none. */
	int error;
	struct vgpu_wire_diff diff;
	struct vgpu_range ranges[BATCH_PAGES * VGPU_DIFF_RANGES];
	u8 data[BATCH_PAGES * VGPU_DIFF_BYTES] __aligned(8);
};

/* Return: 0, 1 (the guest refuses some), or an errno: the lane is of no use. */
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
	ret = vgpu_lane_upcall(batch->lane, vec, ARRAY_SIZE(vec), len, VGPU_MSG_WRITTEN, &answer,
			       sizeof(answer), NULL, 0);
	diff->nr = 0;
	diff->len = 0;
	if (ret)
		return ret;
	return !!answer.error;
}

/*
 * Sends what is left, and gives the pages back, as clean ones if the guest has answered: one that
 * it refuses now it refuses for ever. Else the bytes may be another call's, which sends them when
 * it ends.
 */
static void batch_flush(struct writeback_batch *batch)
{
	struct vgpu_demand *demand = &batch->lane->session->demand;
	unsigned int i;
	int ret;

	if (!batch->nr_pages)
		return;
	ret = batch_send(batch);
	/* A guest that refuses has no such address; a lane that could not ask it says why. */
	if (ret && !batch->error)
		batch->error = ret < 0 ? ret : -EFAULT;
	mutex_lock(&demand->lock);
	for (i = 0; i < batch->nr_pages; i++) {
		if (ret >= 0)
			vgpu_page_clean_locked(demand, batch->pages[i]);
		vgpu_page_unclaim_locked(demand, batch->pages[i]);
	}
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
	batch->nr_pages = 0;
}

/* Takes over the claim of @page. */
static void batch_add(struct writeback_batch *batch, struct vgpu_page *page)
{
	struct vgpu_session *session = batch->lane->session;
	u32 nr = batch->diff.nr;

	vgpu_page_zap(session, page->addr, PAGE_SIZE);
	vgpu_wire_diff_page(&batch->diff, page->addr, page->orig, page_address(page->page));
	if (batch->diff.nr != nr)
		atomic64_inc(&session->peer->counters.written_pages);
	batch->pages[batch->nr_pages++] = page;
	if (batch->nr_pages == BATCH_PAGES)
		batch_flush(batch);
}

/* Never inlined, so that a test can make it fail (mock_nomem.c). */
static noinline struct writeback_batch *batch_alloc(struct vgpu_lane *lane)
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

/* The page is as it was, for whoever waits for it. */
static void batch_give_back(struct vgpu_demand *demand, struct vgpu_page *page)
{
	mutex_lock(&demand->lock);
	vgpu_page_unclaim_locked(demand, page);
	mutex_unlock(&demand->lock);
	wake_up_all(&demand->wait);
}

/*
 * The first dirty page from *@index on. Claimed for the caller, unless somebody
 * else has it: then *@claims is the count to wait on.
 */
static struct vgpu_page *batch_claim(struct vgpu_demand *demand, unsigned long *index,
				     bool *taken, u64 *claims)
{
	struct vgpu_page *page = NULL;

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
 * Sends what is dirty, each page at most once: what other calls write from now on
 * is theirs to send. A page that another thread is sending may hold bytes of this
 * call's driver, so that the reply must not overtake it.
 */
int vgpu_writeback_all(struct vgpu_lane *lane)
{
	struct vgpu_demand *demand = &lane->session->demand;
	struct writeback_batch *batch = NULL;
	struct vgpu_page *page;
	unsigned long index = 0;
	bool taken;
	u64 claims;
	int ret = 0;

	while (!ret && (page = batch_claim(demand, &index, &taken, &claims))) {
		if (taken) {
			/* Its thread may be waiting for one of ours. */
			if (batch)
				batch_flush(batch);
			ret = vgpu_page_wait_claims(lane, claims);
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

/* What the driver wrote to the page goes before it is fetched anew. */
int vgpu_writeback_page(struct vgpu_lane *lane, struct vgpu_page *page)
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
