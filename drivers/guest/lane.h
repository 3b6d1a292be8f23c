/* SPDX-License-Identifier: GPL-2.0-only */
/* Lanes: connections that carry one call at a time; each session has a pool. */
#ifndef VGPU_LANE_H
#define VGPU_LANE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include "conn.h"

struct vgpu_session;
struct vgpu_slot;

/**
 * struct vgpu_lane_want - what a call wants a lane for
 * @kind: number of what may wait for the device on the host, the same for calls that wait for
 *	the same; 0: it does not
 * @mm_class: mmap_lock may be held
 * @connected: whether only lanes that are there will do
 * @interruptible: signals end the wait for a lane
 * @deadline: jiffies, until which one has to be free or connected; 0: none
 */
struct vgpu_lane_want {
	u64 kind;
	bool mm_class;
	bool connected;
	bool interruptible;
	unsigned long deadline;
};

/**
 * struct vgpu_lane - one lane
 * @ref: the session's list holds one, the call on it another
 * @session: whose it is; valid while a call is on it
 * @entry: in session->lanes (session->lock); empty: it was taken off
 * @idle_entry: in session->idle (session->lock)
 * @kind: of the call on it; 0: none that waits (session->lock)
 * @conn: the connection; the call's thread sends and receives
 * @seq: number of the last call on it
 * @slot: of the window, for bytes of long messages; NULL: none. Like what follows the call's
 *	thread's, as long as the lane
 * @long_bytes: of messages that would have gone through one, had there been one
 * @slot_after: jiffies: no slot is asked for before
 * @tx_seen: conn.tx_bytes that were counted
 * @rx_seen: conn.rx_bytes that were counted
 */
struct vgpu_lane {
	struct kref ref;
	struct vgpu_session *session;
	struct list_head entry;
	struct list_head idle_entry;
	u64 kind;
	struct vgpu_conn conn;
	u64 seq;
	struct vgpu_slot *slot;
	u64 long_bytes;
	unsigned long slot_after;
	u64 tx_seen;
	u64 rx_seen;
};

int vgpu_lane_start(struct vgpu_session *session);
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, const struct vgpu_lane_want *wanted);
void vgpu_lane_put(struct vgpu_lane *lane);
void vgpu_lane_drop(struct vgpu_lane *lane);
void vgpu_lane_check(struct vgpu_session *session);
void vgpu_lane_end_all(struct vgpu_session *session);

#endif /* VGPU_LANE_H */
