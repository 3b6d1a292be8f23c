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

static bool is_rated(void)
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

static u64 turn_wait(const struct vgpu_turn *turn)
{
	const struct vgpu_host_rates rates = rates_now();
	u64 ns;

	guest_lock_take();
	ns = vgpu_turn_wait(&patience->rates, &rates, turn, now_ns());
	guest_lock_drop();
	return ns;
}

int turn_begin(struct call *call)
{
	const u16 op = le16_to_cpu(call->view.call->op);
	struct vgpu_host_rates rates;
	struct vgpu_turn turn;
	bool delayed = false;
	int ret = -ERESTARTSYS;
	u64 ns, paid;

	if (!is_rated())
		return 0;
	rates = rates_now();
	guest_lock_take();
	vgpu_turn_take(&patience->rates, &rates, op == VGPU_OP_OPEN, call->msg_len, now_ns(),
		       &turn);
	guest_lock_drop();
	paid = turn.nr_bytes;
	call->lane->bytes -= min(call->lane->bytes, paid);
	/* A CLOSE should not be lost: later calls wait. */
	if (op == VGPU_OP_CLOSE)
		return 0;
	while ((ns = turn_wait(&turn))) {
		if (!delayed)
			__atomic_add_fetch(&use->delayed, 1, __ATOMIC_RELAXED);
		delayed = true;
		/* The guest gives an FDINFO up soon, and any of its programs can cause many. */
		if (op == VGPU_OP_FDINFO)
			ret = -EAGAIN;
		/* Bytes that come before the reply are a CANCEL; the end can be read, too. */
		else if (lane_wait(call->lane, POLLIN, now_ns() + ns) == -ETIMEDOUT)
			continue;
		guest_lock_take();
		vgpu_turn_return(&patience->rates, &turn);
		guest_lock_drop();
		return ret;
	}
	return 0;
}

void turn_end(struct lane *lane)
{
	const u64 bytes = lane->bytes;
	struct vgpu_host_rates rates;

	lane->bytes = 0;
	if (!is_rated() || !bytes)
		return;
	rates = rates_now();
	if (!rates.bytes)
		return;
	guest_lock_take();
	vgpu_rate_take(&patience->rates.bytes, rates.bytes, bytes, now_ns());
	guest_lock_drop();
}
