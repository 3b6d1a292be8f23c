// SPDX-License-Identifier: MIT
/*
 * Faults of lanes' threads. A fault becomes an upcall on the lane's socket, waits for the end of
 * another thread's claim, or fails. All of this runs in the pager.
 */
#include "engine/shadow/lane/watch.h"
#include "engine/shadow/memory/demand.h"
#include "engine/shadow/memory/fault.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/wait.h"
#include "engine/shadow/memory/writeback.h"

struct fault faults[SHADOW_LANES];
bool fault_waits[SHADOW_LANES];

/* --- the end of a fault ----------------------------------------------------- */

void wait_over(struct lane *lane)
{
	u64 took = now_ns() - fault_of(lane)->start;

	if (fault_waits[lane->index])
		wait_count(lane, fault_of(lane)->call, &fault_of(lane)->wait, took);
	fault_waits[lane->index] = false;
}

static void fault_over(struct lane *lane)
{
	u64 addr = fault_of(lane)->addr;
	struct lane *other;
	u32 i;

	fault_of(lane)->addr = 0;
	wait_over(lane);
	/*
	 * End the waits of other lanes for this page, too: page_wake() wakes their threads as well,
	 * and the page may be gone as soon as this lane's call is over.
	 */
	for (i = 0; i < SHADOW_LANES; i++) {
		other = lane_by_index(i);
		if (fault_waits[i] && fault_of(other)->addr == addr) {
			fault_of(other)->addr = 0;
			wait_over(other);
		}
	}
	page_wake(addr);
}

/*
 * Makes accesses to a page fail from here on, even if another thread has claimed the page. Bytes
 * that a driver has written to the page are still written back. Context: demand.lock is held.
 */
static void page_spoil(u64 addr)
{
	struct page *page = page_find(addr);

	if (!page) {
		page = page_add(addr, true);
		/* Without an entry for a bad page, nothing can end the access. */
		sys_exit_if(!page, ESHADOW_EXIT_PAGES);
		page_unclaim(page);
	}
	/* A mapped page is about to be hidden: the access is retried. */
	if (page->mapped)
		return;
	page->bad = true;
	/*
	 * If the page differs, keep its number: calls that may have written to it then write it
	 * back.
	 */
	if (!page_differs(page))
		page->seq = vgpu_fresh_fetch(&demand.fresh);
	page_show(page);
}

/* Return: true if another lane's upcall is about the page. */
static bool page_is_asked_for(const struct page *page, const struct lane *lane)
{
	const struct lane *other;
	u32 i, j;

	for (i = 0; i < SHADOW_LANES; i++) {
		other = lane_by_index(i);
		if (other == lane || fault_of(other)->upcall == UPCALL_NONE)
			continue;
		for (j = 0; j < fault_of(other)->nr; j++)
			if (fault_of(other)->pages[j] == page)
				return true;
	}
	return false;
}

void fault_fail(struct lane *lane, int limited)
{
	u64 addr = fault_of(lane)->addr;
	struct page *page = page_find(addr);
	bool alone = page && page->busy && page_is_asked_for(page, lane);

	if (limited)
		lane->fetch.limited = limited;
	if (!alone) {
		page_spoil(addr);
		lock_drop(&demand.lock);
		fault_over(lane);
		return;
	}
	if (!page->mapped)
		page_shut(page);
	lock_drop(&demand.lock);
	if (!lane_look_again(lane)) {
		fault_over(lane);
		return;
	}
	fault_of(lane)->addr = 0;
	wait_over(lane);
}

/* --- upcalls ---------------------------------------------------------------- */

static void upcall_begin(struct lane *lane, enum upcall upcall, u32 data_len)
{
	struct fault *fault = fault_of(lane);

	fault->upcall = upcall;
	fault->have = 0;
	fault->want = sizeof(fault->answer.fetched) + data_len;
	fault->start = now_ns();
	fault->end = fault->start + min(fault->may, shared->fetch_timeout_ms * NSEC_PER_MS);
	count(&counters->upcalls, 1);
	lock_take(&lane->lock);
	lane->driver.upcalling = true;
	lock_drop(&lane->lock);
	/* Arm again: a CANCEL may have disarmed the watch, and the driver may continue even so. */
	watch_arm(lane, true);
}

/* The socket has room for a message if the guest reads. A guest that does not loses its lane. */
static bool upcall_send(struct lane *lane, struct iovec *iov, u32 nr, u32 len)
{
	struct user_msghdr header = { .iov = iov, .iovlen = nr };
	long ret = sys3(__NR_sendmsg, lane->sock, (long)&header, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (ret > 0) {
		count(&counters->bytes_out, ret);
		lane->bytes += ret;
	}
	return ret == len;
}

static bool upcall_fetch(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	struct vgpu_fetch msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_FETCH),
		.hdr.seq = cpu_to_le64(lane->seq),
		.addr = cpu_to_le64(fault->pages[0]->addr),
		.len = cpu_to_le32(fault->nr * PAGE_SIZE),
	};
	struct iovec iov = { &msg, sizeof(msg) };

	upcall_begin(lane, UPCALL_FETCH, fault->nr * PAGE_SIZE);
	return upcall_send(lane, &iov, 1, sizeof(msg));
}

/* Writes back the page, as it has bytes that the guest does not have, before it is fetched anew. */
static bool upcall_writeback(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	struct writeback *batch = lane->batch;
	struct iovec iov[2];
	u32 len;

	batch->pages[0] = fault->pages[0];
	batch->nr = 1;
	len = writeback_message(batch, lane->seq, iov);
	upcall_begin(lane, UPCALL_WRITEBACK, 0);
	return len && upcall_send(lane, iov, 2, len);
}

static void upcall_over(struct lane *lane)
{
	struct fault *fault = fault_of(lane);

	wait_count(lane, fault->call, &fault->wait, now_ns() - fault->start);
	fault->upcall = UPCALL_NONE;
	lock_take(&lane->lock);
	lane->driver.upcalling = false;
	/* A CANCEL came before the answer and was kept back. The driver is interrupted now. */
	if (lane->cancelled)
		lane_cancel_locked(lane);
	lock_drop(&lane->lock);
}

/* Gives up a claimed page that could not be fetched. Context: demand.lock is held. */
static void page_unfetched(struct page *page)
{
	page_open(page);
	page_unclaim(page);
	if (page->bad)
		page->seq = vgpu_fresh_fetch(&demand.fresh);
	else
		page_free(page);
}

/* Ends a fetch. @bad: the claimed pages could not be fetched. */
static void fetch_end(struct lane *lane, bool bad)
{
	struct fault *fault = fault_of(lane);
	bool again;
	u32 i;

	lock_take(&demand.lock);
	for (i = 0; i < fault->nr; i++) {
		struct page *page = fault->pages[i];

		if (bad && fault->nr > 1) {
			page_unfetched(page);
			continue;
		}
		page_open(page);
		if (!bad)
			memcpy(page_orig(page), page_live(page), PAGE_SIZE);
		page->filled = !bad;
		/* Another thread may have waited too long for the page, and made it bad. */
		page->bad |= bad;
		page->seq = page->bad ? vgpu_fresh_fetch(&demand.fresh) : fault->seq;
		page_unclaim(page);
		if (vgpu_fresh_usable(&demand.fresh, page->seq))
			page_show(page);
	}
	/*
	 * After a failed fetch of several pages, the next attempt asks for one: maybe only the
	 * pages ahead are bad.
	 */
	lane->fetch.ahead.next = bad ? 0 : fault->addr + fault->nr * PAGE_SIZE;
	again = bad ? fault->nr > 1 : !vgpu_fresh_usable(&demand.fresh, fault->seq);
	if (!bad && !lane->fetch.gating &&
	    vgpu_fresh_worthless(&demand.fresh, fault->seq, lane->fetch.addr == fault->addr)) {
		lane->fetch.gating = true;
		demand.gated++;
	}
	lane->fetch.addr = fault->addr;
	if (!again)
		demand_ungate(lane);
	demand_drop();
	if (!bad)
		count(&counters->fetched_pages, fault->nr);
	if (again && !lane->down)
		fault_serve(lane);
	else
		fault_over(lane);
}

/*
 * Ends a write-back. @lost: the guest has not received it, and other lanes may have more success.
 */
static void writeback_end(struct lane *lane, bool lost, bool bad)
{
	struct page *page = fault_of(lane)->pages[0];

	lock_take(&demand.lock);
	if (!lost)
		memcpy(page_orig(page), page_live(page), PAGE_SIZE);
	page_open(page);
	page_unclaim(page);
	if (bad)
		page_spoil(page->addr);
	demand_drop();
	if (bad)
		fault_over(lane);
	else
		fault_serve(lane);
}

void upcall_end(struct lane *lane, int error)
{
	enum upcall upcall = fault_of(lane)->upcall;

	if (error)
		lane_upcall_failed(lane, error);
	upcall_over(lane);
	/* The lane failed, and cannot ask again for a single page: fail that page now. */
	if (error && upcall == UPCALL_FETCH && fault_of(lane)->nr > 1) {
		u32 i;

		lock_take(&demand.lock);
		for (i = 1; i < fault_of(lane)->nr; i++)
			page_unfetched(fault_of(lane)->pages[i]);
		fault_of(lane)->nr = 1;
		lock_drop(&demand.lock);
	}
	if (upcall == UPCALL_FETCH)
		fetch_end(lane, error || fault_of(lane)->answer.fetched.error);
	else
		writeback_end(lane, error, error || fault_of(lane)->answer.written.error);
}

/* --- serving a fault --------------------------------------------------------- */

/*
 * Claims pages that follow pages[0], as far as none of them is here. Context: demand.lock is
 * held.
 */
static void fault_claim_ahead(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	u32 nr = vgpu_ahead_pages(&lane->fetch.ahead, fault->addr, mapping_next(fault->addr));

	for (fault->nr = 1; fault->nr < nr; fault->nr++) {
		u64 addr = fault->addr + fault->nr * PAGE_SIZE;

		if (page_find(addr))
			break;
		fault->pages[fault->nr] = page_add(addr, false);
		if (!fault->pages[fault->nr])
			break;
	}
}

/* Return: true if the lane may ask the guest. */
static bool fault_may_ask(const struct lane *lane)
{
	return !lane->down && !lane->last && !lane->mm &&
		(shared->features & VGPU_FEATURE_DEMAND);
}

/*
 * Return: an errno if the driver of the lane's call must not wait for the guest, else 0. Context:
 * demand.lock is held.
 */
static int fault_limited(struct lane *lane)
{
	struct fault *fault = fault_of(lane);

	if (lane->no_demand)
		return -EOPNOTSUPP;
	fault->may = wait_begin(lane, &fault->wait);
	return fault->may ? 0 : -ENOBUFS;
}

void fault_serve(struct lane *lane)
{
	u64 timeout = shared->fetch_timeout_ms * NSEC_PER_MS;
	struct fault *fault = fault_of(lane);
	int limited;
	bool dirty;
	struct page *new = NULL, *page;

	wait_over(lane);
	lock_take(&demand.lock);
	page = page_find(fault->addr);
	if (mapping_at(fault->addr) ||
	    (page && !page->busy &&
	     (page->mapped || vgpu_fresh_usable(&demand.fresh, page->seq)))) {
		if (page)
			page_show(page);
		lock_drop(&demand.lock);
		fault_over(lane);
		return;
	}
	limited = fault_limited(lane);
	if (page && page->busy && !limited) {
		/*
		 * Another thread has claimed the page. Look again when that claim ends, whatever
		 * its result.
		 */
		fault_waits[lane->index] = true;
		fault->start = now_ns();
		/* The thread that asks the guest about the page gives up earlier. */
		fault->end = fault->start + min(fault->may, 2 * timeout);
		demand.waiting = true;
		lock_drop(&demand.lock);
		return;
	}
	/* A page without bytes was bad, and is fetched anew. */
	if (page && !page->busy && !page_has_bytes(page)) {
		page_free(page);
		page = NULL;
	}
	if (!limited && !page && fault_may_ask(lane)) {
		new = page_add(fault->addr, false);
		if (!new)
			limited = -ENOBUFS;
	}
	if (!fault_may_ask(lane) || limited) {
		fault_fail(lane, fault_may_ask(lane) ? limited : 0);
		return;
	}
	if (page)
		page->busy = true;
	else
		page = new;
	fault->pages[0] = page;
	fault->nr = 1;
	dirty = page_differs(page);
	page->bad = false;
	page->filled = dirty;
	page->fetching = !dirty;
	if (!dirty)
		fault_claim_ahead(lane);
	/*
	 * Take the number before asking: a call that starts meanwhile then finds the pages too
	 * old.
	 */
	fault->seq = vgpu_fresh_fetch(&demand.fresh);
	lock_drop(&demand.lock);
	if (!(dirty ? upcall_writeback(lane) : upcall_fetch(lane)))
		upcall_end(lane, -EPROTO);
}

void fault_refuse(u64 addr)
{
	struct page *page;

	lock_take(&demand.lock);
	page = page_find(addr);
	/* A claimed page will be usable or bad after a while: the thread retries until then. */
	if (page && !page->busy && vgpu_fresh_usable(&demand.fresh, page->seq))
		page_show(page);
	else if (!page || !page->busy)
		page_spoil(addr);
	lock_drop(&demand.lock);
	page_wake(addr);
}
