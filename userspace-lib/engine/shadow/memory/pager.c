// SPDX-License-Identifier: MIT
/*
 * The pager: a thread that serves the page faults of all lanes, and watches the lanes' sockets
 * while their calls run. It waits for all answers of the guest at once, never for a single one.
 *
 * A fault of a lane's thread becomes an upcall on the lane's socket. Without an upcall, the
 * socket can only have a CANCEL, or its end, and then the lane's thread gets a signal.
 */
#include <linux/errno.h>
#include <linux/eventpoll.h>
#include <linux/uio.h>
#include <linux/userfaultfd.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/base/shared.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/lane/watch.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/pager.h"
#include "engine/shadow/memory/writeback.h"
#include "engine/shadow/thread/thread.h"
#include "shadow/layout.h"
#include "shadow/message.h"

#define PAGER_EVENTS	16
/*
 * Number of attempts to take the lock. It is bounded, as a shadow that held the lock may have
 * been killed.
 */
#define PATIENCE_SPINS	(1U << 20)

/* True for each lane whose fault waits for the end of another thread's claim. */
static bool waits[SHADOW_LANES];

/* Kinds of upcalls to the guest. */
enum upcall {
	UPCALL_NONE = 0,
	UPCALL_FETCH,
	UPCALL_WRITEBACK,
};

/**
 * struct fault - a fault of a lane's thread that the pager serves
 * @addr: address of the page; 0: there is no fault
 * @call: number of the lane's call at the fault
 * @upcall: kind of the upcall to the guest
 * @pages: pages that were claimed for the upcall
 * @nr: number of entries of @pages
 * @seq: number of the fetch
 * @end: deadline in nanoseconds of the upcall, or of the wait for a page that others have claimed
 * @start: time in nanoseconds at which that began
 * @may: time in nanoseconds that the driver may wait
 * @wait: state of vgpu_patience_begin()
 * @have: number of bytes of the answer that were received
 * @want: length of the answer in bytes
 * @answer: fixed part of the answer
 */
struct fault {
	u64 addr;
	u64 call;
	enum upcall upcall;
	struct page *pages[VGPU_FETCH_AHEAD];
	u32 nr;
	u64 seq;
	u64 end;
	u64 start;
	u64 may;
	struct vgpu_patience_wait wait;
	u32 have;
	u32 want;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetched fetched;
		struct vgpu_written written;
	} answer;
};

/* The fault of each lane's thread. */
static struct fault faults[SHADOW_LANES];

/* A lane that never had a connection has a fault, too, but no index yet. */
static struct fault *fault_of(const struct lane *lane)
{
	return &faults[lane - lane_by_index(0)];
}

/* --- time that drivers may wait for the guest --------------------------------- */

static void patience_take(void)
{
	u32 i;

	for (i = 0; i < PATIENCE_SPINS; i++) {
		if (!__atomic_exchange_n(&patience->lock, 1, __ATOMIC_ACQUIRE))
			return;
		__builtin_ia32_pause();
	}
}

static void patience_drop(void)
{
	__atomic_store_n(&patience->lock, 0, __ATOMIC_RELEASE);
}

/*
 * Begins a wait of the lane's driver. Return: time in nanoseconds that the driver may wait; 0:
 * none.
 */
static u64 patience_begin(struct lane *lane)
{
	u64 may;

	patience_take();
	may = vgpu_patience_begin(&patience->patience, now_ns() / NSEC_PER_US, lane->guest_call,
				  &fault_of(lane)->wait);
	patience_drop();
	return may * NSEC_PER_US;
}

static void patience_end(const struct lane *lane, u64 took)
{
	patience_take();
	vgpu_patience_end(&patience->patience, &fault_of(lane)->wait, took / NSEC_PER_US,
			  now_ns() / NSEC_PER_US);
	patience_drop();
}

/* --- the end of a fault ----------------------------------------------------- */

/* Ends a wait for a claim. Its time counts like that of an upcall. */
static void wait_over(struct lane *lane)
{
	u64 took = now_ns() - fault_of(lane)->start;

	if (waits[lane->index]) {
		lane->upcall_ns += took;
		patience_end(lane, took);
	}
	waits[lane->index] = false;
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
		if (waits[i] && fault_of(other)->addr == addr) {
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
		page = page_add_bad(addr);
		/* Without an entry for a bad page, nothing can end the access. */
		if (!page)
			sys_exit_group(ESHADOW_EXIT_PAGES);
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

/*
 * Makes the access of the lane's driver fail. @limited: errno of a limit, or 0. If another lane
 * has asked the guest for the page, that lane's access keeps waiting: that lane is not woken, and
 * the page is not bad for its call. Context: demand.lock is held, and dropped.
 */
static void fault_fail(struct lane *lane, int limited)
{
	u64 addr = fault_of(lane)->addr;
	struct page *page = page_find(addr);
	bool alone = page && page->busy && page_is_asked_for(page, lane);

	if (limited)
		lane->limited = limited;
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
	lane->upcalling = true;
	lock_drop(&lane->lock);
	/* Arm again: a CANCEL may have disarmed the watch, and the driver may continue even so. */
	watch_arm(lane, true);
}

/* The socket has room for a message if the guest reads. A guest that does not loses its lane. */
static bool upcall_send(struct lane *lane, struct iovec *iov, u32 nr, u32 len)
{
	struct user_msghdr header = { .iov = iov, .iovlen = nr };
	long ret = sys3(__NR_sendmsg, lane->sock, (long)&header, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (ret > 0)
		count(&counters->bytes_out, ret);
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
	u64 took = now_ns() - fault->start;

	lane->upcall_ns += took;
	patience_end(lane, took);
	fault->upcall = UPCALL_NONE;
	lock_take(&lane->lock);
	lane->upcalling = false;
	/* A CANCEL came before the answer and was kept back. The driver is interrupted now. */
	if (lane->cancelled)
		lane_cancel_locked(lane);
	lock_drop(&lane->lock);
}

static void fault_serve(struct lane *lane);

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
	bool again, kick;
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
	lane->ahead.next = bad ? 0 : fault->addr + fault->nr * PAGE_SIZE;
	again = bad ? fault->nr > 1 : !vgpu_fresh_usable(&demand.fresh, fault->seq);
	if (!bad && !lane->gating &&
	    vgpu_fresh_worthless(&demand.fresh, fault->seq, lane->fetch_addr == fault->addr)) {
		lane->gating = true;
		demand.gated++;
	}
	lane->fetch_addr = fault->addr;
	if (!again && lane->gating) {
		lane->gating = false;
		demand.gated--;
		demand.claims++;
	}
	kick = demand.waiting;
	lock_drop(&demand.lock);
	demand_woken(kick);
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
	bool kick;

	lock_take(&demand.lock);
	if (!lost)
		memcpy(page_orig(page), page_live(page), PAGE_SIZE);
	page_open(page);
	page_unclaim(page);
	if (bad)
		page_spoil(page->addr);
	kick = demand.waiting;
	lock_drop(&demand.lock);
	demand_woken(kick);
	if (bad)
		fault_over(lane);
	else
		fault_serve(lane);
}

static void upcall_end(struct lane *lane, int error)
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
	u32 nr = vgpu_ahead_pages(&lane->ahead, fault->addr, mapping_next(fault->addr));

	for (fault->nr = 1; fault->nr < nr; fault->nr++) {
		u64 addr = fault->addr + fault->nr * PAGE_SIZE;

		if (page_find(addr))
			break;
		fault->pages[fault->nr] = page_add(addr);
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

/* Return: an errno if the driver of the lane's call must not wait for the guest, else 0. */
static int fault_limited(struct lane *lane)
{
	u64 timeout = shared->fetch_timeout_ms * NSEC_PER_MS;
	struct fault *fault = fault_of(lane);

	if (lane->no_demand)
		return -EOPNOTSUPP;
	/*
	 * All upcalls of a call together have the time limit of a single upcall. All waits for the
	 * guest together have the time that is left of the guest's budget.
	 */
	fault->may = lane->upcall_ns > timeout ? 0 : patience_begin(lane);
	return fault->may ? 0 : -ENOBUFS;
}

static void fault_serve(struct lane *lane)
{
	u64 timeout = shared->fetch_timeout_ms * NSEC_PER_MS;
	struct fault *fault = fault_of(lane);
	int limited;
	bool dirty;
	struct page *page;

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
		waits[lane->index] = true;
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
	if (!limited && !page && !demand.free)
		limited = -ENOBUFS;
	if (!fault_may_ask(lane) || limited) {
		fault_fail(lane, fault_may_ask(lane) ? limited : 0);
		return;
	}
	if (page)
		page->busy = true;
	else
		page = page_add(fault->addr);
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

/*
 * Refuses a fault outside of all lanes' calls: by a kernel thread that works for a driver, or a
 * debugger.
 */
static void fault_refuse(u64 addr)
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

static void faults_read(void)
{
	struct uffd_msg msgs[PAGER_EVENTS];
	struct lane *lane;
	u64 addr;
	long ret;
	u32 i;

	ret = sys3(__NR_read, demand.faults, (long)msgs, sizeof(msgs));
	for (i = 0; ret > 0 && i < ret / sizeof(msgs[0]); i++) {
		/* Memory was moved, and the mover waits only for this read. */
		if (msgs[i].event != UFFD_EVENT_PAGEFAULT)
			continue;
		addr = msgs[i].arg.pagefault.address & PAGE_MASK;
		/*
		 * A fault elsewhere is in the blank memory for moves (page.c), which must never be
		 * accessed.
		 */
		if (!mapping_range_ok(addr, PAGE_SIZE))
			sys_exit_group(ESHADOW_EXIT_FAULTS);
		lane = lane_by_tid(msgs[i].arg.pagefault.feat.ptid);
		if (!lane || !lane_in_call(lane)) {
			fault_refuse(addr);
			continue;
		}
		/* A signal has interrupted the wait, and the thread has faulted again. */
		if (fault_of(lane)->addr == addr)
			continue;
		fault_of(lane)->addr = addr;
		fault_of(lane)->call = lane->seq;
		fault_serve(lane);
	}
}

/* --- answers ---------------------------------------------------------------- */

/* Finds the place of the next bytes of the answer. Return: number of bytes that fit there. */
static u32 answer_room(struct fault *fault, u8 **to)
{
	u32 fixed = sizeof(fault->answer.fetched), at, i;

	if (fault->have < sizeof(fault->answer.hdr)) {
		*to = (u8 *)&fault->answer + fault->have;
		return sizeof(fault->answer.hdr) - fault->have;
	}
	if (fault->have < fixed) {
		*to = (u8 *)&fault->answer + fault->have;
		return fixed - fault->have;
	}
	at = fault->have - fixed;
	i = at / PAGE_SIZE;
	*to = page_live(fault->pages[i]) + at % PAGE_SIZE;
	return PAGE_SIZE - at % PAGE_SIZE;
}

/* Checks the header of an answer. Return: 0, or a negative errno. */
static int answer_header(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	struct vgpu_hdr *hdr = &fault->answer.hdr;
	u16 type = fault->upcall == UPCALL_FETCH ? VGPU_MSG_FETCHED : VGPU_MSG_WRITTEN;
	u32 len = le32_to_cpu(hdr->len);

	if (vgpu_wire_hdr_check(hdr, &wire_limits) || hdr->flags ||
	    le64_to_cpu(hdr->seq) != lane->seq)
		return -EPROTO;
	if (le16_to_cpu(hdr->type) == VGPU_MSG_CANCEL) {
		if (lane->cancelled)
			return -EPROTO;
		lane->cancelled = true;
		fault->have = 0;
		return 0;
	}
	if (le16_to_cpu(hdr->type) != type ||
	    (len != sizeof(fault->answer.fetched) && len != fault->want))
		return -EPROTO;
	fault->want = len;
	return 0;
}

/* Reads the answer. Return: 1 if it is complete, 0 if more has to come, or a negative errno. */
static int answer_read(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	u32 before, room;
	long ret;
	u8 *to;

	for (;;) {
		before = fault->have;
		room = answer_room(fault, &to);
		ret = sys6(__NR_recvfrom, lane->sock, (long)to, min(room, fault->want - before),
			   MSG_DONTWAIT, 0, 0);
		if (ret == -EAGAIN || ret == -EINTR)
			return 0;
		if (ret <= 0)
			return -ENODEV;
		count(&counters->bytes_in, ret);
		fault->have += ret;
		if (before < sizeof(fault->answer.hdr) &&
		    fault->have == sizeof(fault->answer.hdr)) {
			int error = answer_header(lane);

			if (error)
				return error;
		}
		if (fault->have == fault->want)
			return 1;
	}
}

static void lane_ready(struct lane *lane)
{
	struct fault *fault = fault_of(lane);
	u32 data_len;
	int ret;

	if (fault->upcall == UPCALL_NONE) {
		lock_take(&lane->lock);
		/* The bytes may belong to an earlier call, and may have been read since. */
		if (lane->running && lane_pending(lane))
			lane_cancel_locked(lane);
		lock_drop(&lane->lock);
		return;
	}
	data_len = fault->upcall == UPCALL_FETCH ? fault->nr * PAGE_SIZE : 0;
	ret = answer_read(lane);
	if (ret > 0)
		ret = lane_answer_ok(&fault->answer, sizeof(fault->answer.fetched), data_len) ?
			1 : -EPROTO;
	/*
	 * Arm again, as more may come while the call runs. This must not be later: after
	 * upcall_end() the lane's thread continues, and its call may end.
	 */
	watch_arm(lane, true);
	if (ret < 0)
		upcall_end(lane, ret);
	else if (ret)
		upcall_end(lane, 0);
}

/* --- the loop ---------------------------------------------------------------- */

/*
 * Ends the wait of a thread that has left it because a signal ended the access; its time counts
 * all the same. Return: true if the thread has left.
 */
static bool wait_left(struct lane *lane)
{
	if (lane_in_call(lane) && fault_of(lane)->call == lane->seq)
		return false;
	wait_over(lane);
	fault_of(lane)->addr = 0;
	return true;
}

static void wait_expired(struct lane *lane)
{
	if (wait_left(lane))
		return;
	lock_take(&demand.lock);
	fault_fail(lane, 0);
}

static void retry_waiting(void)
{
	u32 i;

	lock_take(&demand.lock);
	demand.waiting = false;
	lock_drop(&demand.lock);
	for (i = 0; i < SHADOW_LANES; i++)
		if (waits[i] && !wait_left(lane_by_index(i)))
			fault_serve(lane_by_index(i));
}

/*
 * Ends upcalls and waits whose deadline has passed. Return: milliseconds until the next deadline,
 * or -1.
 */
static int deadlines(void)
{
	u64 now = now_ns(), first = 0;
	u32 i;

	for (i = 0; i < SHADOW_LANES; i++) {
		struct lane *lane = lane_by_index(i);

		if (fault_of(lane)->upcall == UPCALL_NONE && !waits[i])
			continue;
		if (now >= fault_of(lane)->end && waits[i])
			wait_expired(lane);
		else if (now >= fault_of(lane)->end)
			upcall_end(lane, fault_of(lane)->have ? -EPROTO : -ETIMEDOUT);
		else if (!first || fault_of(lane)->end < first)
			first = fault_of(lane)->end;
	}
	return first ? (int)((first - now) / NSEC_PER_MS) + 1 : -1;
}

static void pager_main(void *arg)
{
	struct epoll_event events[PAGER_EVENTS];
	bool any = false;
	long nr, i;

	(void)arg;
	for (;;) {
		nr = watch_wait(events, PAGER_EVENTS, any ? deadlines() : -1);
		for (i = 0; i < nr; i++) {
			if (events[i].data == WATCH_FAULTS) {
				faults_read();
				any = true;
			} else if (events[i].data == WATCH_KICK) {
				watch_kicked();
				retry_waiting();
			} else {
				lane_ready(lane_by_index(events[i].data));
			}
		}
	}
}

void pager_init(void)
{
	static struct thread thread;

	if (watch_init(demand.faults) || thread_prepare(&thread, SHADOW_LANES) ||
	    thread_start(&thread, pager_main, NULL))
		sys_exit_group(SHADOW_EXIT_THREAD);
}
