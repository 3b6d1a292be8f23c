/* SPDX-License-Identifier: GPL-2.0-only */
/* Dialers: each configured host has a thread that keeps it connected. */
#ifndef VGPU_DIALER_H
#define VGPU_DIALER_H

#include <linux/types.h>

struct vgpu_dialer;

int vgpu_dialer_global_init(void);
void vgpu_dialer_global_exit(void);
struct vgpu_dialer *vgpu_dialer_start(u32 cid, u32 port);
void vgpu_dialer_stop(struct vgpu_dialer *dialer);

#endif /* VGPU_DIALER_H */
