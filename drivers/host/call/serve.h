/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Service of lanes by threads of the shadow.
 */
#ifndef _VGPU_HOST_SERVE_H
#define _VGPU_HOST_SERVE_H

struct file;
struct vgpuh_session;

int vgpuh_lane_create(struct vgpuh_session *session, struct file *shadow, int sock_fd,
		      struct file **file);

#endif /* _VGPU_HOST_SERVE_H */
