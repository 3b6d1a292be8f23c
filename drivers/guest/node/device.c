// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count of the devices with a release function of this module. The last reference of a device
 * may be dropped some time after the device was unregistered; the module must not be unloaded
 * before.
 */
#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "node/device.h"

static atomic_t device_count;

/* Count a device after its initialization: its own release function will free it. */
void vgpu_device_begin(void)
{
	atomic_inc(&device_count);
}

/* Uncount a device. Called as the last step of its release function. */
void vgpu_device_end(void)
{
	if (atomic_dec_and_test(&device_count))
		wake_up_var(&device_count);
}

/* Wait until all devices are freed. For module exit, after all were unregistered. */
void vgpu_device_global_exit(void)
{
	wait_var_event(&device_count, !atomic_read(&device_count));
}
