/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Service of lanes by threads of the shadow.
 */
#ifndef _VGPU_HOST_SERVE_H
#define _VGPU_HOST_SERVE_H

struct file;
struct vgpuh_session;

/* Make a lane of the connection @sock_fd. Return: the lane's file, or an ERR_PTR(). */
struct file *vgpuh_lane_create(struct vgpuh_session *session, struct file *shadow, int sock_fd);

#endif /* _VGPU_HOST_SERVE_H */
