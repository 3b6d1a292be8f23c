// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices with a release function of this module, which whoever has the last reference
 * calls: perhaps some time after they were unregistered. The module is not unloaded before.
 */
#include <linux/atomic.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>

#include "device.h"

static atomic_t device_count;

/* A device was initialized: from now on it is released by its own function. */
void vgpu_device_begin(void)
{
	atomic_inc(&device_count);
}

/* The last thing that the release function does. */
void vgpu_device_end(void)
{
	if (atomic_dec_and_test(&device_count))
		wake_up_var(&device_count);
}

/* Module exit, after all of them were unregistered. */
void vgpu_device_global_exit(void)
{
	wait_var_event(&device_count, !atomic_read(&device_count));
}
