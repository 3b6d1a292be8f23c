// SPDX-License-Identifier: MIT
/*
 * The pager: a thread that serves the page faults of all lanes, and watches the lanes' sockets
 * while their calls run. It waits for all answers of the guest at once, never for a single one.
 *
 * A fault of a lane's thread becomes an upcall on the lane's socket. Without an upcall, the
 * socket can only have a CANCEL, or its end, and then the lane's thread gets a signal.
 */
#include <linux/eventpoll.h>
#include <linux/userfaultfd.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/lane/watch.h"
#include "engine/shadow/memory/fault.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/pager.h"
#include "engine/shadow/thread/thread.h"

#define PAGER_EVENTS	16

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
		sys_exit_if(!mapping_range_ok(addr, PAGE_SIZE), ESHADOW_EXIT_FAULTS);
		lane = lane_by_tid(msgs[i].arg.pagefault.feat.ptid);
		if (!lane || !lane_in_call(lane)) {
			fault_refuse(addr);
			continue;
		}
		/* A wait of an earlier call must not count for this one, nor hide its fault. */
		if (fault_waits[lane->index])
			wait_left(lane);
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

	if (fault->have < sizeof(fault->answer.hdr))
		fixed = sizeof(fault->answer.hdr);
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
		lane->bytes += ret;
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
		if ((lane->driver.running || lane->driver.queued) && lane_pending(lane))
			lane_cancel_locked(lane);
		lock_drop(&lane->lock);
		return;
	}
	data_len = fault->upcall == UPCALL_FETCH ? fault->nr * PAGE_SIZE : 0;
	ret = answer_read(lane);
	if (ret > 0)
		ret = vgpu_wire_answer_ok(&fault->answer, data_len) ? 1 : -EPROTO;
	/*
	 * Arm again, as more may come while the call runs. This must not be later: after
	 * upcall_end() the lane's thread continues, and its call may end.
	 */
	watch_arm(lane, true);
	if (ret)
		upcall_end(lane, ret < 0 ? ret : 0);
}

/* --- the loop ---------------------------------------------------------------- */

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
		if (fault_waits[i] && !wait_left(lane_by_index(i)))
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

		if (fault_of(lane)->upcall == UPCALL_NONE && !fault_waits[i])
			continue;
		if (now >= fault_of(lane)->end && fault_waits[i])
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
