// SPDX-License-Identifier: MIT
/*
 * Turns: calls wait until the rates of the guest (rate.h) allow them. All shadows of the guest
 * share the buckets. A shadow that its guest has taken over could make calls without a turn, as it
 * could use the device without calls.
 */
#include <linux/errno.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/turn.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/thread/syscall.h"
#include "rate.h"

#define POLLIN		0x0001
#define POLLRDHUP	0x2000

/*
 * Longest time for which a lane waits after a call that did not go on. The guest gives an FDINFO up
 * after a longer time.
 */
#define TURN_LEAVE_NS	(VGPU_RATE_SECOND / 10)

bool turns_count(void)
{
	return __atomic_load_n(&shared->rated, __ATOMIC_RELAXED);
}

/* vgpud may change the rates at any time. */
static struct vgpu_host_rates rates_now(void)
{
	return (struct vgpu_host_rates) {
		.calls = __atomic_load_n(&shared->rates.calls, __ATOMIC_RELAXED),
		.opens = __atomic_load_n(&shared->rates.opens, __ATOMIC_RELAXED),
		.bytes = __atomic_load_n(&shared->rates.bytes, __ATOMIC_RELAXED),
	};
}

static u64 turn_left(const struct vgpu_turn *turn)
{
	const struct vgpu_host_rates rates = rates_now();
	u64 ns;

	guest_lock_take();
	ns = vgpu_turn_wait(&patience->rates, &rates, turn, now_ns());
	guest_lock_drop();
	return ns;
}

void turn_take(struct call *call, bool open, u32 bytes, struct vgpu_turn *turn)
{
	const struct vgpu_host_rates rates = rates_now();

	guest_lock_take();
	vgpu_turn_take(&patience->rates, &rates, open, bytes, now_ns(), turn);
	guest_lock_drop();
	call->paid = min(call->lane->bytes, (u64)turn->nr_bytes);
	call->lane->bytes -= call->paid;
}

/*
 * Returns the units of a call that does not go on. Others need not wait for these units, but the
 * call's own lane waits for a part of their time: a guest could send calls that do not go on as
 * fast as it likes otherwise.
 */
static void turn_leave(struct call *call, const struct vgpu_turn *turn)
{
	const struct vgpu_host_rates rates = rates_now();
	u64 ns = NSEC_PER_MS, end, now;
	u32 never = 0;

	guest_lock_take();
	vgpu_turn_return(&patience->rates, turn);
	guest_lock_drop();
	call->lane->bytes += call->paid;
	call->paid = 0;
	if (rates.calls)
		ns = max(ns, turn->nr_calls * VGPU_RATE_SECOND / rates.calls);
	if (rates.bytes)
		ns = max(ns, turn->nr_bytes * VGPU_RATE_SECOND / rates.bytes);
	end = now_ns() + min(ns, TURN_LEAVE_NS);
	while ((now = now_ns()) < end)
		word_wait(&never, 0, (end - now) / NSEC_PER_MS + 1);
}

int turn_wait(struct call *call, const struct vgpu_turn *turn, bool over)
{
	/* Bytes that come before the reply are a CANCEL; the end of the lane can be read, too. */
	const short events = over ? POLLRDHUP : POLLIN;
	bool delayed = false;
	u64 ns;

	while ((ns = turn_left(turn))) {
		if (!delayed)
			__atomic_add_fetch(&use->delayed, 1, __ATOMIC_RELAXED);
		delayed = true;
		/* The guest gives an FDINFO up soon, and any of its programs can cause many. */
		if (!over && le16_to_cpu(call->view.call->op) == VGPU_OP_FDINFO) {
			turn_leave(call, turn);
			return -EAGAIN;
		}
		if (lane_wait(call->lane, events, now_ns() + ns) == -ETIMEDOUT)
			continue;
		turn_leave(call, turn);
		call->left = true;
		return -ERESTARTSYS;
	}
	return 0;
}

void turn_end(struct lane *lane)
{
	const bool left = lane->call->left;
	const u64 bytes = lane->bytes;
	struct vgpu_host_rates rates;
	u64 turn;

	lane->bytes = 0;
	lane->call->left = false;
	if (!turns_count() || !bytes)
		return;
	rates = rates_now();
	if (!rates.bytes)
		return;
	guest_lock_take();
	turn = vgpu_rate_take(&patience->rates.bytes, rates.bytes, bytes, now_ns());
	guest_lock_drop();
	if (left)
		lane->call->rest = (struct vgpu_turn) { .bytes = turn, .nr_bytes = 1 };
}

/*
 * The bytes have been received already. If the lane did not wait, a program with a timer could send
 * calls over and over, and all others of the guest would wait for their bytes. A CLOSE never waits,
 * and an FDINFO fails where its own turn has not come.
 */
void turn_rest(struct call *call)
{
	const struct vgpu_call *msg = (const void *)call->msg;
	u16 op = le16_to_cpu(msg->op);
	u64 ns;

	if (!call->rest.nr_bytes || op == VGPU_OP_CLOSE || op == VGPU_OP_FDINFO)
		return;
	while ((ns = turn_left(&call->rest)))
		if (lane_wait(call->lane, POLLRDHUP, now_ns() + ns) != -ETIMEDOUT)
			break;
	call->rest.nr_bytes = 0;
}
