// SPDX-License-Identifier: MIT
/* Lanes: a lane is one connection of the guest, and one thread (serve.c). */
#include <linux/errno.h>
#include <linux/time.h>
#include <linux/uio.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/lane/watch.h"
#include "fresh.h"
#include "shadow/message.h"

#define POLLIN		0x0001
#define POLLOUT		0x0004
#define POLLRDHUP	0x2000
#define SHUT_RDWR	2

/*
 * Most bytes that a guest may have sent when it reads the reply that is the last one of a lane: the
 * answer to a FETCH, and a CANCEL.
 */
#define LANE_LATE_BYTES	(VGPU_FETCH_AHEAD * PAGE_SIZE + 4096)

static struct lane lanes[SHADOW_LANES];

struct lane *lane_by_index(u32 index)
{
	return index < SHADOW_LANES ? &lanes[index] : NULL;
}

struct lane *lane_by_tid(int tid)
{
	u32 i;

	for (i = 0; i < SHADOW_LANES; i++)
		if (lanes[i].thread.tid == tid)
			return &lanes[i];
	return NULL;
}

void lane_shutdown(struct lane *lane)
{
	lane->down = true;
	sys2(__NR_shutdown, lane->sock, SHUT_RDWR);
}

/* --- cancels ---------------------------------------------------------------- */

/* Ends the wait for a turn, if it has not ended. */
static void lane_leave_queue(struct lane *lane)
{
	u32 waits = 0;

	if (!__atomic_compare_exchange_n(&lane->answered, &waits, LANE_CANCELLED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	count(&counters->cancels, 1);
	word_wake(&lane->answered);
}

void lane_cancel_locked(struct lane *lane)
{
	if (lane->driver.queued) {
		lane_leave_queue(lane);
		return;
	}
	if (!lane->driver.running || lane->driver.upcalling || lane->driver.signalled)
		return;
	lane->driver.signalled = true;
	count(&counters->cancels, 1);
	thread_cancel(&lane->thread, &lane->driver.syscall);
}

bool lane_look_again(struct lane *lane)
{
	bool in_driver;
	u32 state;

	lock_take(&lane->lock);
	state = __atomic_load_n(&lane->driver.syscall.state, __ATOMIC_ACQUIRE);
	/* A signal ends the kernel's wait for a page, and the access is retried. */
	in_driver = lane->driver.running && (state == SYSCALL_IN || state == SYSCALL_SIGNALLED);
	if (in_driver) {
		lane->driver.signalled = true;
		thread_cancel(&lane->thread, &lane->driver.syscall);
	}
	lock_drop(&lane->lock);
	return in_driver;
}

void lane_set_running(struct lane *lane, bool running)
{
	lock_take(&lane->lock);
	lane->driver.running = running;
	lane->driver.upcalling = false;
	if (running) {
		lane->driver.signalled = false;
		lane->driver.syscall.state = SYSCALL_OUT;
	}
	lock_drop(&lane->lock);
	watch_arm(lane, running);
}

void lane_set_queued(struct lane *lane, bool queued)
{
	lock_take(&lane->lock);
	lane->driver.queued = queued;
	lock_drop(&lane->lock);
	watch_arm(lane, queued);
}

bool lane_in_call(struct lane *lane)
{
	bool in_call;

	lock_take(&lane->lock);
	/* The thread of a call of class mm copies memory of the guest process by itself. */
	in_call = lane->driver.running || lane->mm;
	lock_drop(&lane->lock);
	return in_call;
}

/* --- the connection ---------------------------------------------------------- */

int lane_wait(struct lane *lane, short events, u64 deadline)
{
	struct { int fd; short events, revents; } poll = { .fd = lane->sock, .events = events };
	struct __kernel_timespec timeout;
	u64 now;
	long ret;

	for (;;) {
		if (deadline) {
			now = now_ns();
			if (now >= deadline)
				return -ETIMEDOUT;
			timeout.tv_sec = (deadline - now) / NSEC_PER_SEC;
			timeout.tv_nsec = (deadline - now) % NSEC_PER_SEC;
		}
		ret = sys6(__NR_ppoll, (long)&poll, 1, deadline ? (long)&timeout : 0, 0, 0, 0);
		if (ret > 0)
			return 0;
	}
}

bool lane_is_down(struct lane *lane)
{
	struct { int fd; short events, revents; } poll = { .fd = lane->sock, .events = POLLRDHUP };
	struct __kernel_timespec now = {};

	return sys6(__NR_ppoll, (long)&poll, 1, (long)&now, 0, 0, 0) > 0;
}

bool lane_pending(struct lane *lane)
{
	char byte;

	return sys6(__NR_recvfrom, lane->sock, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0) !=
		-EAGAIN;
}

int lane_send(struct lane *lane, struct iovec *iov, u32 nr, u64 deadline)
{
	struct user_msghdr header = { .iov = iov, .iovlen = nr };
	long ret;

	while (header.iovlen) {
		if (!header.iov->iov_len) {
			header.iov++;
			header.iovlen--;
			continue;
		}
		ret = sys3(__NR_sendmsg, lane->sock, (long)&header, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (ret == -EAGAIN) {
			ret = lane_wait(lane, POLLOUT, deadline);
			if (ret)
				return ret;
			continue;
		}
		if (ret == -EINTR)
			continue;
		if (ret < 0)
			return ret;
		count(&counters->bytes_out, ret);
		lane->bytes += ret;
		while (ret) {
			u64 part = min((u64)ret, header.iov->iov_len);

			header.iov->iov_base = (u8 *)header.iov->iov_base + part;
			header.iov->iov_len -= part;
			ret -= part;
			if (header.iov->iov_len)
				break;
			header.iov++;
			header.iovlen--;
		}
	}
	return 0;
}

int lane_recv(struct lane *lane, void *buf, u64 len, u64 deadline)
{
	u8 *to = buf;
	long ret;

	while (len) {
		ret = sys6(__NR_recvfrom, lane->sock, (long)to, len, MSG_DONTWAIT, 0, 0);
		if (ret == -EAGAIN) {
			ret = lane_wait(lane, POLLIN, deadline);
			if (ret)
				return ret;
			continue;
		}
		if (ret == -EINTR)
			continue;
		if (ret <= 0)
			return -ENODEV;
		count(&counters->bytes_in, ret);
		lane->bytes += ret;
		to += ret;
		len -= ret;
	}
	return 0;
}

int lane_drop_late(struct lane *lane)
{
	long ret = sys6(__NR_recvfrom, lane->sock, (long)lane->reply_buf, THREAD_BUF, MSG_DONTWAIT,
			0, 0);

	if (ret == -EAGAIN || ret == -EINTR)
		return 0;
	if (ret <= 0)
		return -ENODEV;
	lane->late += ret;
	return lane->late > LANE_LATE_BYTES ? -EPROTO : 0;
}

/* --- upcalls of the lane's own thread ---------------------------------------- */

void lane_upcall_failed(struct lane *lane, int error)
{
	if (error == -ETIMEDOUT) {
		count(&counters->fetch_timeouts, 1);
		/* The guest's thread will find the reply after its late answer. */
		lane->last = true;
		return;
	}
	if (error == -EPROTO)
		count(&counters->malformed, 1);
	lane_shutdown(lane);
}

static int ask_recv(struct lane *lane, u16 type, struct vgpu_written *answer, u64 deadline)
{
	struct vgpu_hdr *hdr = &answer->hdr;
	int ret;

	for (;;) {
		ret = lane_recv(lane, hdr, sizeof(*hdr), deadline);
		if (ret)
			return ret;
		if (vgpu_wire_hdr_check(hdr, &wire_limits) || hdr->flags ||
		    le64_to_cpu(hdr->seq) != lane->seq)
			return -EPROTO;
		if (le16_to_cpu(hdr->type) != VGPU_MSG_CANCEL)
			break;
		if (lane->cancelled)
			return -EPROTO;
		lane->cancelled = true;
	}
	if (le16_to_cpu(hdr->type) != type || le32_to_cpu(hdr->len) != sizeof(*answer))
		return -EPROTO;
	ret = lane_recv(lane, hdr + 1, sizeof(*answer) - sizeof(*hdr), deadline);
	return ret ?: vgpu_wire_answer_ok(answer, 0) ? 0 : -EPROTO;
}

int lane_ask(struct lane *lane, struct iovec *iov, u32 nr, u16 type, struct vgpu_written *answer)
{
	u64 timeout = shared->fetch_timeout_ms * NSEC_PER_MS, start = now_ns();
	int ret;

	if (lane->last || lane->down)
		return -EFAULT;
	count(&counters->upcalls, 1);
	ret = lane_send(lane, iov, nr, start + timeout);
	if (!ret)
		ret = ask_recv(lane, type, answer, start + timeout);
	if (!ret)
		return 0;
	lane_upcall_failed(lane, ret);
	return -EFAULT;
}
