/* SPDX-License-Identifier: GPL-2.0-only */
/* ->access of mappings, for debuggers. */
#ifndef VGPU_ACCESS_H
#define VGPU_ACCESS_H

struct vm_area_struct;

/**
 * vgpu_access - vm_ops->access of forwarded files
 * @vma: VMA of a struct vgpu_mapping
 * @addr: address of the first byte
 * @buf: kernel memory for the bytes
 * @len: number of bytes
 * @write: true to write from @buf, false to read into it
 *
 * Reads or writes up to the end of the page, if the real mapping allows that natively.
 *
 * Context: mmap_lock held for reading; waits for the host, killably, for some seconds at most.
 * Return: number of bytes, or -EIO.
 */
int vgpu_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len, int write);

#endif /* VGPU_ACCESS_H */
