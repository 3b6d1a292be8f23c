/* SPDX-License-Identifier: GPL-2.0-only */
/* Count of the devices with a release function of this module, see device.c. */
#ifndef VGPU_DEVICE_H
#define VGPU_DEVICE_H

void vgpu_device_begin(void);
void vgpu_device_end(void);
void vgpu_device_global_exit(void);

#endif /* VGPU_DEVICE_H */
