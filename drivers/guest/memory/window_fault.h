/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of mappings in window mode, and pages that the window may be unable to show. */
#ifndef VGPU_WINDOW_FAULT_H
#define VGPU_WINDOW_FAULT_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpu_host;
struct vgpu_mapping;
struct vgpu_window_part;
struct vm_area_struct;
struct vm_fault;

/*
 * Resolve a fault on a mapping in window mode. For mapping_fault.c, under mapping->mode_lock; does
 * not wait. Return: VM_FAULT_RETRY: call vgpu_window_wait() first; else the result of a fault
 * handler.
 */
vm_fault_t vgpu_window_fault(struct vm_fault *vmf);
/* Insert a PMD mapping. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: try vgpu_window_fault(). */
vm_fault_t vgpu_window_huge_fault(struct vm_fault *vmf);
/* Handle pfn_mkwrite() of a mapping in window mode; called under mapping->mode_lock. */
vm_fault_t vgpu_window_mkwrite(struct vm_fault *vmf);
/*
 * Zap @vma before fork() copies it, if it had PMD mappings. fork() checks a PMD without the
 * page table's lock, and might copy one that is being zapped. Both processes fault anew.
 */
void vgpu_window_fork(struct vgpu_mapping *mapping, struct vm_area_struct *vma);
/*
 * Wait until the page at @pgoff may be inserted; called without locks. @deadline: the fault's,
 * see deadline.h. Return: 0: try the fault again; -EINTR, or the error of the host or the move.
 */
int vgpu_window_wait(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline);

/* Handle the message INVALIDATE of the host. */
void vgpu_window_invalidate(struct vgpu_host *host, const struct vgpu_window_part *part);

#endif /* VGPU_WINDOW_FAULT_H */
