/* SPDX-License-Identifier: GPL-2.0-only */
/* Drivers of NVIDIA's nodes, which stand for the real ones. */
#ifndef VGPU_NVIDIA_DRIVER_H
#define VGPU_NVIDIA_DRIVER_H

#include <linux/types.h>

/* Numbers of NVIDIA's driver for its own nodes (Documentation/admin-guide/devices.txt). */
#define NVIDIA_MAJOR		195
#define NVIDIA_CARDS		248
#define NVIDIA_MODESET_MINOR	254
#define NVIDIA_CTL_MINOR	255

/* Drivers of NVIDIA, each of which has a module. */
enum vgpu_nvidia_driver {
	NVIDIA_MAIN,
	NVIDIA_UVM,
	NVIDIA_MODESET,
	NVIDIA_DRIVERS,
};

extern dev_t vgpu_nvidia_uvm_devt;

int vgpu_nvidia_driver_get(enum vgpu_nvidia_driver driver);
void vgpu_nvidia_driver_put(enum vgpu_nvidia_driver driver);
int vgpu_nvidia_driver_init(void);
void vgpu_nvidia_driver_exit(void);

#endif /* VGPU_NVIDIA_DRIVER_H */
