/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernel versions that the mock device builds for.
 */
#ifndef VGPU_MOCK_KVER_H
#define VGPU_MOCK_KVER_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* Kernels before 6.17 have pfn_t, a type for PFNs. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#include <linux/pfn_t.h>
#endif

static inline vm_fault_t vgpu_mock_insert_mixed(struct vm_fault *vmf, unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return vmf_insert_mixed(vmf->vma, vmf->address, __pfn_to_pfn_t(pfn, PFN_DEV));
#else
	return vmf_insert_mixed(vmf->vma, vmf->address, pfn);
#endif
}

static inline void vgpu_mock_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

/* These kernels can insert a PMD mapping of PFNs into a VM_PFNMAP VMA. */
#ifdef CONFIG_ARCH_SUPPORTS_PMD_PFNMAP
#define VGPU_MOCK_HAVE_HUGE
static inline vm_fault_t vgpu_mock_insert_huge(struct vm_fault *vmf, unsigned long pfn)
{
	bool write = vmf->flags & FAULT_FLAG_WRITE;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	return vmf_insert_pfn_pmd(vmf, __pfn_to_pfn_t(pfn, PFN_DEV), write);
#else
	return vmf_insert_pfn_pmd(vmf, pfn, write);
#endif
}
#endif

#endif /* VGPU_MOCK_KVER_H */
