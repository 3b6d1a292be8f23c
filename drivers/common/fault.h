/* SPDX-License-Identifier: GPL-2.0-only */
/* What the faults of both modules share. */
#ifndef VGPU_FAULT_H
#define VGPU_FAULT_H

#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include <asm/memtype.h>

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

/**
 * vgpu_insert_pfn_cached() - put a page into a VMA with another's cache attribute
 * @vma: VM_PFNMAP, or VM_MIXEDMAP
 * @addr: where
 * @pfn: which
 * @prot: protection, whose cache attribute does not count
 * @like: has the cache attribute
 *
 * Under locks that the invalidation of page tables takes, no memory may be reclaimed:
 * a page table comes from what is there. It is one for each fault that is under way at most:
 * the core has allocated one, too, before it asked (__do_fault()), with reclaim and within the
 * limits of the caller's control group.
 *
 * Return: what a fault handler returns.
 */
static inline vm_fault_t vgpu_insert_pfn_cached(struct vm_area_struct *vma, unsigned long addr,
						unsigned long pfn, pgprot_t prot, pgprot_t like)
{
	unsigned int flags = memalloc_noreclaim_save();
	vm_fault_t ret;

	if ((vma->vm_flags & VM_MIXEDMAP) && pfn_valid(pfn)) {
		/* Writable when it is written to: the kernel wants no protection of ours. */
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
 * vgpu_insert_huge() - put 2 MiB into a VMA, as one entry
 * @vmf: of a huge_fault; its VMA is VM_PFNMAP and shared, and has all the 2 MiB
 * @pfn: the first page
 * @write: writable at once if the VMA is
 * @like: has the cache attribute
 *
 * Under a lock that all have who put pages into the VMA: a table that comes meanwhile would
 * be taken for an entry. Nothing is allocated.
 *
 * Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: it has to be single pages.
 */
static inline vm_fault_t vgpu_insert_huge(struct vm_fault *vmf, unsigned long pfn, bool write,
					  pgprot_t like)
{
	unsigned long first = vmf->address & PMD_MASK;
	struct vm_area_struct *vma = vmf->vma;

	if (first < vma->vm_start || vma->vm_end - first < PMD_SIZE ||
	    (vma->vm_flags & (VM_SHARED | VM_PFNMAP | VM_MIXEDMAP)) != (VM_SHARED | VM_PFNMAP))
		return VM_FAULT_FALLBACK;
	/* Where there are others than that of the VMA, the kernel takes what is recorded. */
	if (!pat_enabled() &&
	    ((pgprot_val(like) ^ pgprot_val(vma->vm_page_prot)) & _PAGE_CACHE_MASK))
		return VM_FAULT_FALLBACK;
	/* A table stays until the VMA ends; another's entry is found by the next fault. */
	if (!pmd_none(pmdp_get_lockless(vmf->pmd)))
		return VM_FAULT_FALLBACK;
	/* A fault for reading has it writable, too, where it may be written to. */
	return vgpu_insert_pfn_pmd(vmf, pfn, write && (vma->vm_flags & VM_WRITE));
}
#endif

/**
 * vgpu_unmap_nested() - take pages away from all VMAs of an inode
 * @mapping: the inode's
 * @first: first page
 * @nr: pages
 *
 * For the callbacks of an mmu notifier, which run inside the unmapping of other
 * VMAs, of another mm and inode: a chain that ends there, as nothing follows the
 * page tables of these. lockdep knows one class each for inodes and notifiers. Private
 * copies of programs stay.
 */
static inline void vgpu_unmap_nested(struct address_space *mapping, pgoff_t first, pgoff_t nr)
{
	lockdep_off();
	unmap_mapping_pages(mapping, first, nr, false);
	lockdep_on();
}

#endif /* VGPU_FAULT_H */
