/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests: what the host remembers of a guest beyond its connection.
 */
#ifndef _VGPU_HOST_GUEST_H
#define _VGPU_HOST_GUEST_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <uapi/linux/vgpu_host.h>

#include "patience.h"
#include "rate.h"

struct vgpu_agent;

/**
 * struct vgpu_guest - what the host remembers of a guest beyond a connection
 * @node: list entry in agent->guests; protected by agent->guests_lock
 * @cid: context id of the guest
 * @port: port of the host to which the guest connects
 * @peers: number of the guest's connections; protected by agent->guests_lock
 * @lock: spinlock that protects @patience and @rates
 * @patience: budget of time that drivers may wait for the guest's answers
 * @rates: buckets of calls, opens and bytes that the guest's rates limit
 * @connections: number of the guest's connections so far; protected by agent->guests_lock
 * @past: sums of the counters of connections that have ended; protected by agent->lock
 * @tallies: list of the guest's tallies (tally.h); protected by agent->lock
 * @nr_tallies: number of entries of @tallies
 */
struct vgpu_guest {
	struct list_head node;
	u32 cid;
	u32 port;
	unsigned int peers;
	/* Lanes whose drivers wait hold this lock for short times. */
	spinlock_t lock;
	struct vgpu_patience patience;
	struct vgpu_rates rates;
	u64 connections;
	struct vgpu_host_guest_stat past;
	struct list_head tallies;
	u32 nr_tallies;
};

/**
 * struct vgpu_guest_wait - one wait of a driver for the guest
 * @patience: state between vgpu_patience_begin() and vgpu_patience_end()
 * @start: time at which the wait began, in nanoseconds of CLOCK_MONOTONIC
 */
struct vgpu_guest_wait {
	struct vgpu_patience_wait patience;
	u64 start;
};

/* Find or make the guest and count one more connection. Return: NULL if there is no memory. */
struct vgpu_guest *vgpu_guest_get(struct vgpu_agent *agent, u32 cid, u32 port);
void vgpu_guest_put(struct vgpu_agent *agent, struct vgpu_guest *guest);
void vgpu_guests_fini(struct vgpu_agent *agent);
/*
 * Find the guest, or with @next the first one after it, in the order of @cid and @port.
 * Context: agent->guests_lock is held. Return: the guest, or NULL.
 */
struct vgpu_guest *vgpu_guest_find_locked(struct vgpu_agent *agent, u32 cid, u32 port, bool next);
/* Note that a call begins. Return: value for the @call of vgpu_guest_wait_begin(). */
u64 vgpu_guest_call(struct vgpu_guest *guest);
/*
 * Begin a wait of the call's driver for an answer of the guest.
 * Return: milliseconds that it may last; 0: the driver may not wait.
 */
unsigned int vgpu_guest_wait_begin(struct vgpu_guest *guest, u64 call,
				   struct vgpu_guest_wait *wait);
/* End a wait of the call's driver. Return: true if this wait used up the guest's time. */
bool vgpu_guest_wait_end(struct vgpu_guest *guest, const struct vgpu_guest_wait *wait);
/* Change the time for which drivers may wait for the guest, in milliseconds. */
void vgpu_guest_set_patience(struct vgpu_guest *guest, u32 ms);
/* Take what a call needs of the guest's rates (vgpu_turn_take()). */
void vgpu_guest_turn_take(struct vgpu_guest *guest, const struct vgpu_host_rates *rates,
			  bool open, u32 bytes, struct vgpu_turn *turn);
/* Return the time in nanoseconds for which the call has to wait, a second at most; 0: none. */
u64 vgpu_guest_turn_wait(struct vgpu_guest *guest, const struct vgpu_host_rates *rates,
			 const struct vgpu_turn *turn);
/* Forget what the guest owes to rates that are 0, which means no limit. */
void vgpu_guest_forget_rates(struct vgpu_guest *guest, const struct vgpu_host_rates *rates);
/* Return the units of a call that does not go on (vgpu_turn_return()). */
void vgpu_guest_turn_return(struct vgpu_guest *guest, const struct vgpu_turn *turn);
/* Charge the guest for bytes that were received or sent. Return: their turn (vgpu_rate_take()). */
u64 vgpu_guest_charge_bytes(struct vgpu_guest *guest, u64 rate, u64 bytes);
void vgpu_guest_stat(struct vgpu_guest *guest, struct vgpu_host_peer_stat *stat);

#endif /* _VGPU_HOST_GUEST_H */
