/* SPDX-License-Identifier: GPL-2.0-only */
/* Dialers: each configured host has a thread that keeps it connected. */
#ifndef VGPU_DIALER_H
#define VGPU_DIALER_H

#include <linux/types.h>

int vgpu_dialer_global_init(void);
void vgpu_dialer_global_exit(void);
int vgpu_dialer_add(u32 cid, u32 port);
void vgpu_dialer_start_all(void);
void vgpu_dialer_stop_all(void);

#endif /* VGPU_DIALER_H */
