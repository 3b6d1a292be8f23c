/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection of a new lane of a session. */
#ifndef VGPU_LANE_CONNECT_H
#define VGPU_LANE_CONNECT_H

struct vgpu_lane;
struct vgpu_session;

struct vgpu_lane *vgpu_lane_connect(struct vgpu_session *session, unsigned long deadline);

#endif /* VGPU_LANE_CONNECT_H */
