// SPDX-License-Identifier: MIT
/*
 * Write-back: bytes that a driver wrote to demand pages are sent to the guest, and no other bytes
 * of the pages, as other threads of the guest write there, too.
 */
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/writeback.h"

_Static_assert(WRITEBACK_PAGES * VGPU_DIFF_RANGES <= VGPU_RANGES_MAX, "one message");

int writeback_prepare(struct lane *lane)
{
	if (!lane->batch)
		lane->batch = memory_get(sizeof(struct writeback));
	return lane->batch ? 0 : -ENOMEM;
}

u32 writeback_message(struct writeback *batch, u64 seq, struct iovec *iov)
{
	struct vgpu_wire_diff *diff = &batch->diff;
	u32 i, nr, pad, ranges_len;

	*diff = (struct vgpu_wire_diff) { .ranges = batch->head.ranges, .bytes = batch->data };
	for (i = 0; i < batch->nr; i++) {
		struct page *page = batch->pages[i];

		nr = diff->nr;
		vgpu_wire_diff_page(diff, page->addr, page_orig(page), page_live(page));
		if (diff->nr != nr)
			count(&counters->written_pages, 1);
	}
	if (!diff->nr)
		return 0;
	pad = vgpu_wire_pad(diff->len);
	memset(batch->data + diff->len, 0, pad - diff->len);
	ranges_len = diff->nr * sizeof(batch->head.ranges[0]);
	batch->head.msg = (struct vgpu_writeback) {
		.hdr.len = cpu_to_le32(sizeof(batch->head.msg) + ranges_len + pad),
		.hdr.type = cpu_to_le16(VGPU_MSG_WRITEBACK),
		.hdr.seq = cpu_to_le64(seq),
		.nr_ranges = cpu_to_le32(diff->nr),
	};
	iov[0] = (struct iovec) { &batch->head.msg, sizeof(batch->head.msg) + ranges_len };
	iov[1] = (struct iovec) { batch->data, pad };
	return sizeof(batch->head.msg) + ranges_len + pad;
}

/*
 * Writes back the claimed pages of the batch, and ends their claims. If the guest has answered,
 * the pages are clean afterwards: bytes that the guest refuses now, it would always refuse.
 * Otherwise the bytes may be another call's, which writes them back when it ends. Return: 0; 1:
 * the guest has refused some bytes; or a negative errno: the lane is of no use any more.
 */
static int batch_send(struct lane *lane, struct writeback *batch)
{
	struct vgpu_written answer;
	struct iovec iov[2];
	int ret = 0;
	u32 i;

	/* Hide the pages first, as drivers of other calls may be writing. */
	pages_hide(batch->pages, batch->nr);
	if (writeback_message(batch, lane->seq, iov)) {
		ret = lane_ask(lane, iov, 2, VGPU_MSG_WRITTEN, &answer);
		if (!ret && answer.error)
			ret = 1;
	}
	lock_take(&demand.lock);
	for (i = 0; i < batch->nr; i++) {
		struct page *page = batch->pages[i];

		if (ret >= 0)
			memcpy(page_orig(page), page_live(page), PAGE_SIZE);
		page_unclaim(page);
	}
	demand_drop();
	batch->nr = 0;
	return ret;
}

/*
 * Claims pages that differ, from index @next on, until the batch is full, or another thread has
 * claimed such a page. Return: true in the latter case; then @claims is the value to wait on.
 */
static bool batch_claim(struct writeback *batch, u64 from, u32 *next, u32 *claims)
{
	struct page *page;
	bool busy = false;

	lock_take(&demand.lock);
	*claims = demand.claims;
	for (; *next < demand.top; ++*next) {
		page = &demand.pages[*next];
		/* Bytes that other calls write from now on are written back by these calls. */
		if (page->seq > from || page->fetching)
			continue;
		busy = page->busy;
		if (busy)
			break;
		if (!page_differs(page))
			continue;
		if (batch->nr == WRITEBACK_PAGES)
			break;
		page->busy = true;
		batch->pages[batch->nr++] = page;
	}
	lock_drop(&demand.lock);
	return busy;
}

static u64 wait_end(void)
{
	return now_ns() + 2 * shared->fetch_timeout_ms * NSEC_PER_MS;
}

/*
 * Writes back all pages that differ, each at most once. Waits for pages that another thread is
 * sending: they may hold bytes of this call's driver, and the reply must not overtake these. Each
 * sender has a deadline.
 */
int writeback_all(struct lane *lane)
{
	struct writeback *batch = lane->batch;
	bool busy, refused = false;
	u32 next = 0, claims;
	u64 end, from;
	int ret;

	lock_take(&demand.lock);
	from = demand.nr_pages ? demand.fresh.seq : 0;
	lock_drop(&demand.lock);
	if (!from)
		return 0;
	if (lane->down || lane->last)
		return -EFAULT;
	batch->nr = 0;
	end = wait_end();
	for (;;) {
		busy = batch_claim(batch, from, &next, &claims);
		if (batch->nr) {
			ret = batch_send(lane, batch);
			if (ret < 0)
				return ret;
			refused |= ret;
			end = wait_end();
		} else if (!busy) {
			return refused ? -EFAULT : 0;
		} else if (now_ns() < end) {
			demand_wait(claims);
		} else {
			return -EFAULT;
		}
	}
}
