/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that the modules build for (6.1, 6.12, 7.x).
 * No other file asks for a version.
 */
#ifndef VGPU_COMPAT_H
#define VGPU_COMPAT_H

#include <linux/mm.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/version.h>

/* bind and connect take struct sockaddr_unsized from 6.19. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define sockaddr_unsized sockaddr
#endif

#ifndef ITER_SOURCE
#define ITER_SOURCE WRITE
#define ITER_DEST READ
#endif

/*
 * From 6.6 file-backed VMAs may fault under the VMA lock alone; what a handler
 * drops before it waits is then that lock.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline void release_fault_lock(struct vm_fault *vmf)
{
	mmap_read_unlock(vmf->vma->vm_mm);
}
#endif

/* VMA flags are written by helpers from 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif /* VGPU_COMPAT_H */
