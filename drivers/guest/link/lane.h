/* SPDX-License-Identifier: GPL-2.0-only */
/* Lanes: connections that carry one call at a time. */
#ifndef VGPU_LANE_H
#define VGPU_LANE_H

#include <linux/kref.h>
#include <linux/types.h>

#include "conn.h"

struct vgpu_session;

/**
 * struct vgpu_lane - one lane
 * @ref: references: one of the session's list, one of the call on the lane
 * @session: session of the lane; valid while a call is on the lane
 * @entry: entry in session->pool.lanes (session->lock); empty once the lane is unlisted
 * @idle_entry: entry in session->pool.idle (session->lock)
 * @kind: kind of the call on the lane; 0: none, or a call that does not wait (session->lock)
 * @conn: connection; the thread of the call sends and receives on it
 * @seq: number of the last call. Used by the thread of the call only, like all fields below
 * @tx_seen: part of conn.tx_bytes that was added to the statistics
 * @rx_seen: part of conn.rx_bytes that was added to the statistics
 */
struct vgpu_lane {
	struct kref ref;
	struct vgpu_session *session;
	struct list_head entry;
	struct list_head idle_entry;
	u64 kind;
	struct vgpu_conn conn;
	u64 seq;
	u64 tx_seen;
	u64 rx_seen;
};

struct vgpu_lane *vgpu_lane_connect(struct vgpu_session *session, unsigned long deadline,
				    bool hasty);
void vgpu_lane_free(struct kref *ref);
void vgpu_lane_keep_mm_locked(struct vgpu_session *session, struct vgpu_lane *lane);
void vgpu_lane_keep_idle_locked(struct vgpu_session *session);
void vgpu_lane_drop(struct vgpu_lane *lane);
void vgpu_lane_check(struct vgpu_session *session);
void vgpu_lane_end_all(struct vgpu_session *session);

#endif /* VGPU_LANE_H */
