/* SPDX-License-Identifier: GPL-2.0-only */
/* Pool of lanes: each session has one. */
#ifndef VGPU_LANE_POOL_H
#define VGPU_LANE_POOL_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

struct vgpu_lane;
struct vgpu_session;

/**
 * struct vgpu_lane_want - requirements of a call for its lane
 * @kind: number shared by all calls that wait for the same thing on the host, such as calls of
 *	one ioctl; 0: the call does not wait for the device
 * @mm_class: true for a call of class mm, where mmap_lock may be held
 * @connected: true if only a connected lane will do, and none is to be connected
 * @interruptible: true if a signal ends the wait for a lane
 * @deadline: time in jiffies by which a lane must be idle or connected; 0: none
 */
struct vgpu_lane_want {
	u64 kind;
	bool mm_class;
	bool connected;
	bool interruptible;
	unsigned long deadline;
};

/**
 * struct vgpu_lane_pool - lanes of a session; all fields are guarded by session->lock
 * @lanes: list of all lanes
 * @coming: list of struct lane_coming for lanes that are being connected
 * @idle: list of the lanes that no call uses
 * @nr_idle: number of lanes in @idle
 * @mm_lane: lane kept for calls of class mm, whose end means the shadow's end; its own
 *	callbacks read the pointer without the lock
 * @mm_lane_busy: true while a call uses @mm_lane, or the lane is being connected
 * @nr_lanes: number of lanes that are connected or being connected
 * @lanes_max: limit of @nr_lanes
 * @wait: wait queue of calls that need a lane
 */
struct vgpu_lane_pool {
	struct list_head lanes;
	struct list_head coming;
	struct list_head idle;
	unsigned int nr_idle;
	struct vgpu_lane *mm_lane;
	bool mm_lane_busy;
	unsigned int nr_lanes;
	unsigned int lanes_max;
	wait_queue_head_t wait;
};

int vgpu_lane_start(struct vgpu_session *session);
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, struct vgpu_lane_want *want);
void vgpu_lane_put(struct vgpu_lane *lane);

#endif /* VGPU_LANE_POOL_H */
