// SPDX-License-Identifier: MIT
/* Lanes: a lane is one connection and one thread, which receives calls, makes them and replies. */
#include <asm/socket.h>
#include <linux/errno.h>
#include <linux/time.h>
#include <linux/uio.h>

#include "shadow.h"
#include "shadow/keys.h"
#include "shadow/message.h"

#define POLLIN		0x0001
#define POLLOUT		0x0004
#define POLLRDHUP	0x2000
#define SHUT_RDWR	2

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

static void lane_malformed(struct lane *lane)
{
	count(&counters->malformed, 1);
	lane_shutdown(lane);
}

/* --- cancels ---------------------------------------------------------------- */

void lane_cancel_locked(struct lane *lane)
{
	if (!lane->running || lane->upcalling || lane->signalled)
		return;
	lane->signalled = true;
	count(&counters->cancels, 1);
	thread_cancel(&lane->thread, &lane->syscall);
}

bool lane_look_again(struct lane *lane)
{
	bool in_driver;
	u32 state;

	lock_take(&lane->lock);
	state = __atomic_load_n(&lane->syscall.state, __ATOMIC_ACQUIRE);
	/* A signal ends the kernel's wait for a page, and the access is retried. */
	in_driver = lane->running && (state == SYSCALL_IN || state == SYSCALL_SIGNALLED);
	if (in_driver) {
		lane->signalled = true;
		thread_cancel(&lane->thread, &lane->syscall);
	}
	lock_drop(&lane->lock);
	return in_driver;
}

void lane_set_running(struct lane *lane, bool running)
{
	lock_take(&lane->lock);
	lane->running = running;
	lane->upcalling = false;
	if (running) {
		lane->signalled = false;
		lane->syscall.state = SYSCALL_OUT;
	}
	lock_drop(&lane->lock);
	watch_arm(lane, running);
}

bool lane_in_call(struct lane *lane)
{
	bool in_call;

	lock_take(&lane->lock);
	/* The thread of a call of class mm copies memory of the guest process by itself. */
	in_call = lane->running || lane->mm;
	lock_drop(&lane->lock);
	return in_call;
}

/* --- the connection ---------------------------------------------------------- */

/* Waits for events of the socket. Return: 0, or -ETIMEDOUT. */
static int lane_wait(struct lane *lane, short events, u64 deadline)
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
		to += ret;
		len -= ret;
	}
	return 0;
}

static u64 msg_deadline(void)
{
	return now_ns() + MSG_TIMEOUT_MS * NSEC_PER_MS;
}

/* --- upcalls of the lane's own thread ---------------------------------------- */

bool lane_answer_ok(const void *answer, u32 answer_len, u32 data_len)
{
	const struct vgpu_fetched *fetched = answer;
	u32 error = le32_to_cpu(fetched->error);
	u32 data = error ? 0 : data_len;

	_Static_assert(sizeof(struct vgpu_fetched) == sizeof(struct vgpu_written) &&
		       offsetof(struct vgpu_fetched, error) ==
		       offsetof(struct vgpu_written, error) &&
		       offsetof(struct vgpu_fetched, len) ==
		       offsetof(struct vgpu_written, reserved), "both answers are alike");
	return error <= MAX_ERRNO && le32_to_cpu(fetched->len) == data &&
	       le32_to_cpu(fetched->hdr.len) == answer_len + data;
}

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
	return ret ?: lane_answer_ok(answer, sizeof(*answer), 0) ? 0 : -EPROTO;
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

/* --- serving ---------------------------------------------------------------- */

/* Reads and discards a message that does not fit into the session's memory. */
static int lane_skip(struct lane *lane, u32 len)
{
	int ret = 0;

	while (!ret && len) {
		u32 part = min(len, (u32)THREAD_BUF);

		ret = lane_recv(lane, lane->reply_buf, part, msg_deadline());
		len -= part;
	}
	return ret;
}

/*
 * Receives the rest of a CALL whose header is @hdr. Return: 0; -ENOMEM: the call is too big, and
 * only its fixed part is kept; or -ENODEV.
 */
static int lane_recv_call(struct lane *lane, const struct vgpu_hdr *hdr)
{
	struct call *call = lane->call;
	u32 len = le32_to_cpu(hdr->len), first = len;
	int ret;

	call->msg = lane->buf;
	if (len > THREAD_BUF) {
		call->msg = budget_get(len);
		if (!call->msg) {
			/* The call will be refused: its fixed part is enough for that. */
			call->msg = lane->buf;
			first = sizeof(struct vgpu_call);
		}
	}
	call->msg_len = first;
	memcpy(call->msg, hdr, sizeof(*hdr));
	ret = lane_recv(lane, call->msg + sizeof(*hdr), first - sizeof(*hdr), msg_deadline());
	if (!ret && first < len)
		ret = lane_skip(lane, len - first) ?: -ENOMEM;
	return ret;
}

/* Waits for a CALL. Return: 0; -ENOMEM: the call is too big (lane_recv_call()); or -ESHUTDOWN. */
static int lane_next(struct lane *lane)
{
	struct vgpu_hdr hdr;
	int ret;

	for (;;) {
		ret = lane_wait(lane, POLLIN, 0);
		/*
		 * After the last reply nothing counts but the end: discard late answers and the
		 * like.
		 */
		if (!ret && lane->last) {
			ret = sys6(__NR_recvfrom, lane->sock, (long)lane->reply_buf, THREAD_BUF,
				   MSG_DONTWAIT, 0, 0);
			if (ret <= 0 && ret != -EAGAIN && ret != -EINTR)
				return -ESHUTDOWN;
			continue;
		}
		if (!ret)
			ret = lane_recv(lane, &hdr, sizeof(hdr), msg_deadline());
		if (ret)
			return -ESHUTDOWN;
		if (vgpu_wire_hdr_check(&hdr, &wire_limits) || hdr.flags)
			break;

		switch (le16_to_cpu(hdr.type)) {
		case VGPU_MSG_ACK:
			if (!lane->unacked || le64_to_cpu(hdr.seq) != lane->seq)
				goto malformed;
			lane->unacked = false;
			channel_tell_acked(lane);
			continue;
		case VGPU_MSG_CANCEL:
			/* The CANCEL is late, or it is the one that has interrupted the call. */
			if (lane->cancelled || le64_to_cpu(hdr.seq) != lane->seq)
				goto malformed;
			lane->cancelled = true;
			continue;
		case VGPU_MSG_CALL:
			lane->call->tsc_in = tsc_with_clock(&lane->call->clock_in);
			if (lane->unacked || le64_to_cpu(hdr.seq) != lane->seq + 1)
				goto malformed;
			lane->seq++;
			lane->cancelled = false;
			ret = lane_recv_call(lane, &hdr);
			return ret && ret != -ENOMEM ? -ESHUTDOWN : ret;
		default:
			goto malformed;
		}
	}
malformed:
	lane_malformed(lane);
	return -ESHUTDOWN;
}

static int lane_serve(struct lane *lane)
{
	struct call *call = lane->call;
	int ret;

	ret = lane_next(lane);
	if (ret == -ENOMEM) {
		call_reject(call, ret);
	} else if (ret) {
		return ret;
	} else if (call_run(call)) {
		call_finish(call);
		lane_malformed(lane);
		return -ESHUTDOWN;
	}
	/* Set this before sending: the guest owns the objects in the reply from then on. */
	lane->unacked = call->nr_objects;
	ret = call_send_reply(call);
	call_finish(call);
	return ret;
}

static int lane_send_ready(struct lane *lane)
{
	struct vgpu_hdr ready = {
		.len = cpu_to_le32(sizeof(ready)),
		.type = cpu_to_le16(VGPU_MSG_LANE_READY),
	};
	struct iovec iov = { &ready, sizeof(ready) };

	return lane_send(lane, &iov, 1, msg_deadline());
}

/* Number of lanes, and true if no more will come. */
static u32 nr_lanes;
static bool ending;

void lanes_end(void)
{
	__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&nr_lanes, __ATOMIC_SEQ_CST))
		sys_exit_group(SHADOW_EXIT_OK);
}

static void lane_over(void)
{
	channel_tell_usage(0, 0, -1);
	if (!__atomic_sub_fetch(&nr_lanes, 1, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&ending, __ATOMIC_SEQ_CST))
		sys_exit_group(SHADOW_EXIT_OK);
}

static void lane_main(void *arg)
{
	struct lane *lane = arg;
	int ret;

	ret = lane_send_ready(lane);
	while (!ret)
		ret = lane_serve(lane);
	/* Take back objects whose receipt the guest has not acknowledged. */
	if (lane->unacked)
		call_take_back(lane->call);
	/* Free memory of a message or call that the end has interrupted. */
	call_finish(lane->call);
	sys2(__NR_close, lane->sock, 0);
	lane_over();
}

static struct lane *lane_free(void)
{
	u32 i, nr = 0;
	struct lane *lane = NULL;

	for (i = 0; i < SHADOW_LANES; i++) {
		if (__atomic_load_n(&lanes[i].thread.tid, __ATOMIC_ACQUIRE))
			nr++;
		else if (!lane)
			lane = &lanes[i];
	}
	if (nr < shared->limits.lanes)
		return lane;
	count(&counters->refused, 1);
	return NULL;
}

/* Gives a lane memory, which is kept for later lanes. */
static int lane_get_memory(struct lane *lane)
{
	const u64 len = (sizeof(struct call) + PAGE_SIZE - 1) & PAGE_MASK;

	if (thread_prepare(&lane->thread, lane - lanes))
		return -ENOMEM;
	if (!lane->call)
		lane->call = memory_get(len);
	return lane->call ? writeback_prepare(lane) : -ENOMEM;
}

void lanes_init(void)
{
	u32 i;

	/* Ignore failures: the memory may be there when a lane needs it. */
	for (i = 0; i < SHADOW_LANES_READY && i < shared->limits.lanes; i++)
		if (lane_get_memory(&lanes[i]))
			break;
}

static int lane_prepare(struct lane *lane)
{
	if (lane_get_memory(lane))
		return -ENOMEM;
	lane->index = lane - lanes;
	lane->seq = 0;
	lane->unacked = false;
	lane->cancelled = false;
	lane->last = false;
	lane->down = false;
	lane->gating = false;
	lane->buf = thread_buf(&lane->thread, 0);
	lane->reply_buf = thread_buf(&lane->thread, 1);
	lane->call->own = (struct room) {
		.memory = thread_room(&lane->thread), .key = KEY_SHARED, .used = THREAD_SCRATCH,
	};
	lane->call->signals = NULL;
	lane->call->lane = lane;
	lane->call->nr_objects = 0;
	return 0;
}

void lane_start(int sock)
{
	struct lane *lane = lane_free();

	if (!lane || lane_prepare(lane)) {
		sys2(__NR_close, sock, 0);
		return;
	}
	lane->sock = sock;
	channel_tell_usage(0, 0, 1);
	__atomic_add_fetch(&nr_lanes, 1, __ATOMIC_SEQ_CST);
	if (!watch_lane(lane) && !thread_start(&lane->thread, lane_main, lane))
		return;
	sys2(__NR_close, sock, 0);
	lane_over();
}
