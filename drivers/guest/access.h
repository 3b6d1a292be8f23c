/* SPDX-License-Identifier: GPL-2.0-only */
/* ->access of mappings, for debuggers. */
#ifndef VGPU_ACCESS_H
#define VGPU_ACCESS_H

struct vm_area_struct;

/**
 * vgpu_access - vm_ops->access of forwarded files
 * @vma: of a struct vgpu_mapping
 * @addr: first byte
 * @buf: kernel memory
 * @len: bytes
 * @write: from @buf
 *
 * Where the real mapping natively allows it, and no further than the page's end.
 *
 * Context: the mmap lock of @vma held for reading; waits for the host, killably, for some
 * seconds at most.
 * Return: bytes, or -EIO.
 */
int vgpu_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len, int write);

#endif /* VGPU_ACCESS_H */
