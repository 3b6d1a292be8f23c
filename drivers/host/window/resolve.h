/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resolving pages of bindings for faults: waiting for a touch, and inserting its pages.
 */
#ifndef _VGPU_HOST_RESOLVE_H
#define _VGPU_HOST_RESOLVE_H

#include <linux/mm.h>
#include <linux/types.h>

struct vgpu_binding;
struct vgpuh_window;

/*
 * Ask the driver for the page at @offset, for @timeout at most. Context: no locks are held.
 * Return: 0 or -EINTR.
 */
int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout);
/*
 * Insert the page at @offset of the window into the fault's VMA, with those pages of [first,
 * end) around it that were found together with it. @local: true if the fault is not a
 * hypervisor's; a hypervisor's may not wait long and cannot have every page. Context:
 * window->lock is held.
 * Return: VM_FAULT_RETRY: the page has to be resolved first; VM_FAULT_SIGBUS: the page cannot
 * be had now; else what a fault handler returns.
 */
vm_fault_t vgpu_binding_insert_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
				      u64 offset, u64 first, u64 end, bool local);
/*
 * Insert the 2 MiB around @offset into the fault's VMA as one PMD mapping, if a binding is there
 * and they are known to be contiguous. Return: VM_FAULT_NOPAGE or VM_FAULT_FALLBACK.
 */
vm_fault_t vgpuh_window_insert_huge(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset,
				    bool local);

#endif /* _VGPU_HOST_RESOLVE_H */
