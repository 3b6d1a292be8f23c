/* SPDX-License-Identifier: GPL-2.0-only */
/* Pool of lanes: each session has one. */
#ifndef VGPU_LANE_POOL_H
#define VGPU_LANE_POOL_H

#include <linux/types.h>

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

int vgpu_lane_start(struct vgpu_session *session);
struct vgpu_lane *vgpu_lane_get(struct vgpu_session *session, const struct vgpu_lane_want *wanted);
void vgpu_lane_put(struct vgpu_lane *lane);

#endif /* VGPU_LANE_POOL_H */
