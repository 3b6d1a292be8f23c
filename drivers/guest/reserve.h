/* SPDX-License-Identifier: GPL-2.0-only */
/* The address range that a process keeps free for its shadow. */
#ifndef VGPU_RESERVE_H
#define VGPU_RESERVE_H

struct vgpu_session;

int vgpu_reserve_global_init(void);
void vgpu_reserve_global_exit(void);
int vgpu_reserve_current(struct vgpu_session *session);

#endif /* VGPU_RESERVE_H */
