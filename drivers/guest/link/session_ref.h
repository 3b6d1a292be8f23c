/* SPDX-License-Identifier: GPL-2.0-only */
/* References of sessions, and the queue of the work items that hold them. */
#ifndef VGPU_SESSION_REF_H
#define VGPU_SESSION_REF_H

struct vgpu_session;

int vgpu_session_global_init(void);
void vgpu_session_global_exit(void);
struct vgpu_session *vgpu_session_get(struct vgpu_session *session);
void vgpu_session_put(struct vgpu_session *session);
void vgpu_session_start_later(struct vgpu_session *session);
void vgpu_session_check_later(struct vgpu_session *session);

#endif /* VGPU_SESSION_REF_H */
