/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of mappings in copy mode, which insert cached pages and make pages dirty. */
#ifndef VGPU_SPACE_FAULT_H
#define VGPU_SPACE_FAULT_H

#include <linux/mm.h>
#include <linux/types.h>

/*
 * The functions below are for the faults of mapping_fault.c, where vm_private_data of vmf->vma is a
 * struct vgpu_mapping. They are called under its mode_lock, and do not wait for the host.
 *
 * vgpu_space_fault() inserts the PTE of a cached page, or hands the page to the core. Return: what
 * a fault handler returns; VM_FAULT_RETRY: the caller has to call vgpu_space_wait() first.
 */
vm_fault_t vgpu_space_fault(struct vm_fault *vmf);
/*
 * Make a page dirty and writable. @as_page: true for ->page_mkwrite, where vmf->page is returned
 * locked on success. Return: VM_FAULT_RETRY: the page may not become dirty yet; else what the
 * handler returns.
 */
vm_fault_t vgpu_space_mkwrite(struct vm_fault *vmf, bool as_page);

/* Check whether a fault makes its page dirty: the core copies that of a private mapping instead. */
static inline bool vgpu_space_fault_writes(const struct vm_fault *vmf)
{
	return (vmf->flags & FAULT_FLAG_WRITE) && (vmf->vma->vm_flags & VM_SHARED);
}

#endif /* VGPU_SPACE_FAULT_H */
