/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolving pages of bindings for faults.
 */
#ifndef _VGPU_HOST_RESOLVE_H
#define _VGPU_HOST_RESOLVE_H

#include <linux/types.h>

struct vgpu_binding;
struct vgpu_touch;

/*
 * Ask the driver for the page at @offset, for @timeout at most. Context: no locks are held.
 * Return: 0 or -EINTR.
 */
int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout);
/* Resolve the page of a touch once more. */
void vgpu_touch_again(struct vgpu_touch *touch);

#endif /* _VGPU_HOST_RESOLVE_H */
