// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests: what the host remembers of a guest beyond its connection: the time that its answers have
 * taken while drivers waited for them (patience.h), and what it has done lately of what its rates
 * limit (rate.h). A guest that connects anew begins with what it had left, not with all of it. The
 * counters of its earlier connections are remembered as well, of the last GUESTS_KEPT guests.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "patience.h"
#include "peer/agent.h"
#include "peer/guest.h"
#include "peer/tally.h"

/* Number of guests without a connection of which only counters are left to be remembered. */
#define GUESTS_KEPT	64

static u64 guest_now(void)
{
	return ktime_to_us(ktime_get());
}

static void guest_free(struct vgpu_guest *guest)
{
	vgpu_tallies_free(guest);
	kfree(guest);
}

/*
 * Let guests that are not connected begin anew with their time and rates once they have all of that
 * time and owe nothing to the rates. Forget those that were first seen longest ago.
 */
static void guests_expire(struct vgpu_agent *agent)
{
	struct vgpu_guest *guest, *next;
	unsigned int kept = 0;

	lockdep_assert_held(&agent->guests_lock);
	list_for_each_entry_safe(guest, next, &agent->guests, node) {
		if (guest->peers || !vgpu_patience_is_whole(&guest->patience, guest_now()) ||
		    !vgpu_rates_are_whole(&guest->rates, ktime_get_ns()))
			continue;
		vgpu_patience_init(&guest->patience, USEC_PER_MSEC * (u64)agent->patience_ms,
				   guest_now());
		if (kept++ < GUESTS_KEPT)
			continue;
		list_del(&guest->node);
		guest_free(guest);
	}
}

struct vgpu_guest *vgpu_guest_find_locked(struct vgpu_agent *agent, u32 cid, u32 port, bool next)
{
	const u64 wanted = (u64)cid << 32 | port;
	struct vgpu_guest *guest, *found = NULL;
	u64 key, best = U64_MAX;

	lockdep_assert_held(&agent->guests_lock);
	list_for_each_entry(guest, &agent->guests, node) {
		key = (u64)guest->cid << 32 | guest->port;
		if (next ? key > wanted && key < best : key == wanted) {
			best = key;
			found = guest;
		}
	}
	return found;
}

struct vgpu_guest *vgpu_guest_get(struct vgpu_agent *agent, u32 cid, u32 port)
{
	struct vgpu_guest *guest;

	mutex_lock(&agent->guests_lock);
	guests_expire(agent);
	list_for_each_entry(guest, &agent->guests, node)
		if (guest->cid == cid && guest->port == port)
			goto found;
	guest = kzalloc(sizeof(*guest), GFP_KERNEL_ACCOUNT);
	if (!guest)
		goto out_unlock;
	guest->cid = cid;
	guest->port = port;
	spin_lock_init(&guest->lock);
	INIT_LIST_HEAD(&guest->tallies);
	vgpu_patience_init(&guest->patience, USEC_PER_MSEC * (u64)agent->patience_ms,
			   guest_now());
	list_add(&guest->node, &agent->guests);
found:
	guest->peers++;
	guest->connections++;
out_unlock:
	mutex_unlock(&agent->guests_lock);
	return guest;
}

void vgpu_guest_put(struct vgpu_agent *agent, struct vgpu_guest *guest)
{
	mutex_lock(&agent->guests_lock);
	guest->peers--;
	mutex_unlock(&agent->guests_lock);
}

void vgpu_guests_fini(struct vgpu_agent *agent)
{
	struct vgpu_guest *guest, *next;

	list_for_each_entry_safe(guest, next, &agent->guests, node)
		guest_free(guest);
}

u64 vgpu_guest_call(struct vgpu_guest *guest)
{
	u64 call;

	spin_lock(&guest->lock);
	call = vgpu_patience_call(&guest->patience);
	spin_unlock(&guest->lock);
	return call;
}

unsigned int vgpu_guest_wait_begin(struct vgpu_guest *guest, u64 call,
				   struct vgpu_guest_wait *wait)
{
	u64 left;

	spin_lock(&guest->lock);
	left = vgpu_patience_begin(&guest->patience, guest_now(), call, &wait->patience);
	spin_unlock(&guest->lock);
	wait->start = ktime_get_ns();
	return left ? max_t(u64, left / USEC_PER_MSEC, 1) : 0;
}

bool vgpu_guest_wait_end(struct vgpu_guest *guest, const struct vgpu_guest_wait *wait)
{
	u64 took = (ktime_get_ns() - wait->start) / NSEC_PER_USEC;
	bool spent;

	spin_lock(&guest->lock);
	spent = vgpu_patience_end(&guest->patience, &wait->patience, took, guest_now());
	spin_unlock(&guest->lock);
	return spent;
}

void vgpu_guest_set_patience(struct vgpu_guest *guest, u32 ms)
{
	spin_lock(&guest->lock);
	vgpu_patience_pass(&guest->patience, guest_now());
	vgpu_patience_resize(&guest->patience, USEC_PER_MSEC * (u64)ms);
	spin_unlock(&guest->lock);
}

void vgpu_guest_turn_take(struct vgpu_guest *guest, const struct vgpu_host_rates *rates,
			  bool open, u32 bytes, struct vgpu_turn *turn)
{
	spin_lock(&guest->lock);
	vgpu_turn_take(&guest->rates, rates, open, bytes, ktime_get_ns(), turn);
	spin_unlock(&guest->lock);
}

u64 vgpu_guest_turn_wait(struct vgpu_guest *guest, const struct vgpu_host_rates *rates,
			 const struct vgpu_turn *turn)
{
	u64 wait;

	spin_lock(&guest->lock);
	wait = vgpu_turn_wait(&guest->rates, rates, turn, ktime_get_ns());
	spin_unlock(&guest->lock);
	return wait;
}

void vgpu_guest_forget_rates(struct vgpu_guest *guest, const struct vgpu_host_rates *rates)
{
	spin_lock(&guest->lock);
	vgpu_rates_forget(&guest->rates, rates);
	spin_unlock(&guest->lock);
}

void vgpu_guest_turn_return(struct vgpu_guest *guest, const struct vgpu_turn *turn)
{
	spin_lock(&guest->lock);
	vgpu_turn_return(&guest->rates, turn);
	spin_unlock(&guest->lock);
}

u64 vgpu_guest_charge_bytes(struct vgpu_guest *guest, u64 rate, u64 bytes)
{
	u64 turn;

	spin_lock(&guest->lock);
	turn = vgpu_rate_take(&guest->rates.bytes, rate, bytes, ktime_get_ns());
	spin_unlock(&guest->lock);
	return turn;
}

void vgpu_guest_stat(struct vgpu_guest *guest, struct vgpu_host_peer_stat *stat)
{
	u64 left;

	spin_lock(&guest->lock);
	left = vgpu_patience_left(&guest->patience, guest_now());
	stat->out_patience_ms = left / USEC_PER_MSEC;
	stat->out_spent = guest->patience.total;
	stat->out_cut_off = vgpu_patience_is_cut_off(&guest->patience);
	spin_unlock(&guest->lock);
}
