/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that serves the control connection of a peer.
 */
#ifndef _VGPU_HOST_CONTROL_THREAD_H
#define _VGPU_HOST_CONTROL_THREAD_H

struct vgpu_peer;

/*
 * Initialize the work items of a new peer and start its thread, which takes over the caller's
 * reference. Return: 0 or a negative errno, after which the caller still has the only reference.
 */
int vgpuh_control_start(struct vgpu_peer *peer);

#endif /* _VGPU_HOST_CONTROL_THREAD_H */
