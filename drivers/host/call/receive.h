/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receipt of calls: messages of the guest on a lane, between two calls.
 */
#ifndef _VGPU_HOST_RECEIVE_H
#define _VGPU_HOST_RECEIVE_H

#include <linux/types.h>

struct vgpuh_lane;

/**
 * vgpuh_lane_malformed() - end a lane's connection, as the guest has broken the protocol
 * @lane: lane
 * @type: type of the message, for the log; 0: unknown
 */
void vgpuh_lane_malformed(struct vgpuh_lane *lane, u32 type);

/**
 * vgpuh_lane_recv() - wait for a CALL, and receive it into the lane's call
 * @lane: lane; the caller is its thread, and no call runs on it
 *
 * Until a message begins, the wait has no end but a signal, work that is pending on the way to user
 * mode, or the end of the connection. A message that has begun has to be complete within
 * VGPU_MSG_TIMEOUT_MS.
 *
 * Return: 0; -EINTR: return to user mode first; -ENOMEM: there is a CALL that is too long to be
 * kept; -ESHUTDOWN: the connection has ended.
 */
int vgpuh_lane_recv(struct vgpuh_lane *lane);

#endif /* _VGPU_HOST_RECEIVE_H */
