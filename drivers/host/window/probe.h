/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes of bindings.
 */
#ifndef _VGPU_HOST_PROBE_H
#define _VGPU_HOST_PROBE_H

#include <linux/jiffies.h>

struct vgpu_binding;

/*
 * Time for which a probe may delay a MMAP. The guest holds the program's mmap lock meanwhile,
 * and the driver may wait for a thread whose fetch needs that lock: so half of a fetch's
 * deadline is a limit, too.
 */
#define VGPU_PROBE_MMAP		HZ
/*
 * Time for a BIND. The guest waits a second (MOVE_BIND_WAIT), then moves nothing of the program
 * for a while.
 */
#define VGPU_PROBE_BIND		(HZ / 4)

/*
 * Ask the driver for the first page of a new binding, for @time at most. Context: no locks are
 * held.
 * Return: 0: nothing is against the binding; -EOPNOTSUPP: the window cannot show what the
 * driver provides; -ENODEV, -EBUSY: the binding has ended meanwhile, with the window or by
 * itself.
 */
int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time);

#endif /* _VGPU_HOST_PROBE_H */
