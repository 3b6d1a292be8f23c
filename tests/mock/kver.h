/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that the mock device builds for.
 */
#ifndef VGPU_MOCK_KVER_H
#define VGPU_MOCK_KVER_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#endif /* VGPU_MOCK_KVER_H */
