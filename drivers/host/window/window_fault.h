/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults of a hypervisor that maps a window.
 */
#ifndef _VGPU_HOST_WINDOW_FAULT_H
#define _VGPU_HOST_WINDOW_FAULT_H

#include <linux/mm.h>

extern const struct vm_operations_struct vgpuh_window_vm_ops;

#endif /* _VGPU_HOST_WINDOW_FAULT_H */
