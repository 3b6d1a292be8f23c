/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmap: makes a mapping of a forwarded file and sets up its VMA. mapping_mmap.c also has the
 * operations of such VMAs for fork(), munmap(), mprotect(), mremap() and debuggers.
 */
#ifndef VGPU_MAPPING_MMAP_H
#define VGPU_MAPPING_MMAP_H

struct vgpu_object;
struct vm_area_struct;

/**
 * vgpu_mapping_mmap - map a forwarded file
 * @object: object for which the file stands
 * @vma: the new VMA
 *
 * The shadow maps the same range of the real file at the same address.
 *
 * Context: mmap_lock held for writing; waits for the host killably, with calls of class mm only.
 * Return: what the driver's mmap returns, or -EINTR, -ENODEV (host lost), -ENOMEM.
 */
int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma);

#endif /* VGPU_MAPPING_MMAP_H */
