/* SPDX-License-Identifier: GPL-2.0-only */
/* What the faults of both modules share. */
#ifndef VGPU_FAULT_H
#define VGPU_FAULT_H

#include <linux/mm.h>

#include "compat.h"

/**
 * vgpu_insert_writable() - make the entry of a page of a VM_PFNMAP mapping writable
 * @vmf: of a pfn_mkwrite
 * @page: belongs there
 *
 * For the end of a pfn_mkwrite, with the lock held under which pages are found
 * clean and unmapped. The kernel would do it after our return, without that lock
 * (finish_mkwrite_fault()): perhaps to an entry that looks the same, but was made
 * after the page was sent, so that nobody would know of the write.
 *
 * Return: what the pfn_mkwrite returns.
 */
static inline vm_fault_t vgpu_insert_writable(struct vm_fault *vmf, struct page *page)
{
	unsigned long addr = vmf->address & PAGE_MASK;

	zap_special_vma_range(vmf->vma, addr, PAGE_SIZE);
	return vmf_insert_pfn_prot(vmf->vma, addr, page_to_pfn(page),
				   vm_get_page_prot(vmf->vma->vm_flags));
}

#endif /* VGPU_FAULT_H */
