/* SPDX-License-Identifier: GPL-2.0-only */
/* Reserved range: addresses that a process keeps free for its shadow. */
#ifndef VGPU_RESERVE_H
#define VGPU_RESERVE_H

#include <linux/types.h>

struct vgpu_session;

int vgpu_reserve_global_init(void);
void vgpu_reserve_global_exit(void);
int vgpu_reserve_current(struct vgpu_session *session);
int vgpu_reserve_low(u64 len, unsigned long *addr);
void vgpu_reserve_low_end(unsigned long addr, u64 len);

#endif /* VGPU_RESERVE_H */
