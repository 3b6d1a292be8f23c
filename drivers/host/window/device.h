/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices of windows, and the control ioctls about them.
 */
#ifndef _VGPU_HOST_WINDOW_DEVICE_H
#define _VGPU_HOST_WINDOW_DEVICE_H

#include <linux/types.h>

struct vgpu_cmd;
struct vgpu_host_window_create;
struct vgpu_host_window_destroy;
struct vgpu_host_window_drain;
struct vgpu_host_window_stat;

int vgpuh_window_init(void);
void vgpuh_window_exit(void);
int vgpuh_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd);
int vgpuh_window_destroy(const struct vgpu_host_window_destroy *args);
int vgpuh_window_drain(const struct vgpu_host_window_drain *args);
int vgpuh_window_stat(struct vgpu_host_window_stat *args);
/* Check whether @rdev is the device of a window. */
bool vgpuh_window_is_device(dev_t rdev);

#endif /* _VGPU_HOST_WINDOW_DEVICE_H */
