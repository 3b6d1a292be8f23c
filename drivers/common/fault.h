/* SPDX-License-Identifier: GPL-2.0-only */
/* Page faults: helpers for the fault handlers of VMAs in the host and the guest module. */
#ifndef VGPU_FAULT_H
#define VGPU_FAULT_H

#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include <asm/memtype.h>

#include "compat.h"

/**
 * vgpu_insert_writable() - make the PTE of a page in a VM_PFNMAP VMA writable
 * @vmf: fault of a ->pfn_mkwrite
 * @page: page that belongs to the address of the fault
 *
 * Called at the end of ->pfn_mkwrite, with the lock held under which pages are found clean and
 * unmapped. The kernel would set the PTE writable after ->pfn_mkwrite has returned, without
 * that lock (finish_mkwrite_fault()). The PTE might then be a new one that looks the same but
 * was inserted after the page was sent: the write would go unnoticed.
 *
 * Return: result of ->pfn_mkwrite.
 */
static inline vm_fault_t vgpu_insert_writable(struct vm_fault *vmf, struct page *page)
{
	unsigned long addr = vmf->address & PAGE_MASK;

	zap_special_vma_range(vmf->vma, addr, PAGE_SIZE);
	return vmf_insert_pfn_prot(vmf->vma, addr, page_to_pfn(page),
				   vm_get_page_prot(vmf->vma->vm_flags));
}

/**
 * vgpu_insert_pfn_cached() - insert a PTE with the cache attribute of another protection
 * @vma: VMA, VM_PFNMAP or VM_MIXEDMAP
 * @addr: address of the PTE
 * @pfn: PFN to map
 * @prot: protection; its cache attribute is ignored
 * @like: protection that has the cache attribute
 *
 * The caller holds locks that an invalidation of page tables takes, so memory must not be
 * reclaimed here: a missing page table is allocated from the reserves. Each fault under way
 * takes at most one from there. The core has allocated another one already (__do_fault()), with
 * reclaim and within the limits of the caller's control group.
 *
 * Return: result of the fault handler.
 */
static inline vm_fault_t vgpu_insert_pfn_cached(struct vm_area_struct *vma, unsigned long addr,
						unsigned long pfn, pgprot_t prot, pgprot_t like)
{
	unsigned int flags = memalloc_noreclaim_save();
	vm_fault_t ret;

	if ((vma->vm_flags & VM_MIXEDMAP) && pfn_valid(pfn)) {
		/*
		 * The PTE is read-only until the first write: vmf_insert_mixed() takes no
		 * protection.
		 */
		ret = vgpu_insert_mixed(vma, addr, pfn);
	} else {
		prot = __pgprot((pgprot_val(prot) & ~_PAGE_CACHE_MASK) |
				(pgprot_val(like) & _PAGE_CACHE_MASK));
		ret = vmf_insert_pfn_prot(vma, addr, pfn, prot);
	}
	memalloc_noreclaim_restore(flags);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
/**
 * vgpu_insert_huge() - insert a PMD mapping of 2 MiB
 * @vmf: fault of a ->huge_fault
 * @pfn: first PFN
 * @write: true to make the mapping writable if the VMA is
 * @like: protection that has the cache attribute
 *
 * The caller holds the lock under which all PTEs and PMD mappings of the VMA are inserted;
 * otherwise a page table that is inserted meanwhile would be taken for a PMD mapping. No memory
 * is allocated.
 *
 * Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK if PTEs have to be inserted instead.
 */
static inline vm_fault_t vgpu_insert_huge(struct vm_fault *vmf, unsigned long pfn, bool write,
					  pgprot_t like)
{
	unsigned long first = vmf->address & PMD_MASK;
	struct vm_area_struct *vma = vmf->vma;

	if (first < vma->vm_start || vma->vm_end - first < PMD_SIZE ||
	    (vma->vm_flags & (VM_SHARED | VM_PFNMAP | VM_MIXEDMAP)) != (VM_SHARED | VM_PFNMAP))
		return VM_FAULT_FALLBACK;
	/*
	 * vmf_insert_pfn_pmd() takes the attribute that PAT has recorded; without PAT, the
	 * VMA's.
	 */
	if (!pat_enabled() &&
	    ((pgprot_val(like) ^ pgprot_val(vma->vm_page_prot)) & _PAGE_CACHE_MASK))
		return VM_FAULT_FALLBACK;
	/*
	 * The PMD has a page table, which stays until the VMA ends, or a PMD mapping that another
	 * thread has inserted, which the next fault finds.
	 */
	if (!pmd_none(pmdp_get_lockless(vmf->pmd)))
		return VM_FAULT_FALLBACK;
	/* A fault for reading gets a writable mapping, too, if the caller wants that. */
	return vgpu_insert_pfn_pmd(vmf, pfn, write && (vma->vm_flags & VM_WRITE));
}

/**
 * vgpu_fault_room() - count the PMD mappings that can be inserted behind that of a fault
 * @vmf: fault of a ->huge_fault
 *
 * They lie in the VMA and in the page of the PMD table that has the fault's own. The page stays
 * as long as the VMA, which the fault's lock keeps.
 *
 * Return: number of mappings.
 */
static inline unsigned int vgpu_fault_room(const struct vm_fault *vmf)
{
	unsigned long first = vmf->address & PMD_MASK;

	return min((vmf->vma->vm_end - first) / PMD_SIZE, PTRS_PER_PMD - pmd_index(first)) - 1;
}

/**
 * vgpu_fault_behind() - make a fault for a PMD mapping behind that of another fault
 * @vmf: fault of a ->huge_fault, whose own PMD mapping was inserted
 * @nr: distance in PMD mappings, from 1 to vgpu_fault_room()
 *
 * Return: the fault, for vgpu_insert_huge().
 */
static inline struct vm_fault vgpu_fault_behind(const struct vm_fault *vmf, unsigned int nr)
{
	unsigned long addr = (vmf->address & PMD_MASK) + nr * PMD_SIZE;

	return (struct vm_fault){
		.vma = vmf->vma,
		.gfp_mask = vmf->gfp_mask,
		.pgoff = linear_page_index(vmf->vma, addr),
		.address = addr,
		.real_address = addr,
		.flags = vmf->flags,
		.pud = vmf->pud,
		.pmd = vmf->pmd + nr,
	};
}
#endif

/**
 * vgpu_unmap_nested() - unmap pages from all VMAs of an inode
 * @mapping: address_space of the inode
 * @first: index of the first page
 * @nr: number of pages
 *
 * Called by mmu notifiers, which run while VMAs of another mm and inode are unmapped. The chain
 * ends here, as no notifier of vgpu's own is registered for the mm of these VMAs. lockdep has
 * one class for all inodes and one for all notifiers, and would report a recursion. Private
 * copies of programs stay mapped.
 */
static inline void vgpu_unmap_nested(struct address_space *mapping, pgoff_t first, pgoff_t nr)
{
	lockdep_off();
	unmap_mapping_pages(mapping, first, nr, false);
	lockdep_on();
}

#endif /* VGPU_FAULT_H */
