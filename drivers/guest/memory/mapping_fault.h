/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults of mappings: fault handlers of their VMAs, which serve a fault in the mode of the mapping,
 * and wait for the host without the locks of the fault. mapping_fault.c itself inserts copies
 * (cached pages of a space), and window_fault.c inserts pages of the window.
 */
#ifndef VGPU_MAPPING_FAULT_H
#define VGPU_MAPPING_FAULT_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct vm_fault;

/**
 * struct vgpu_mapping_error - error that a fault has left for its retry; protected by mapping->lock
 * @error: errno with which the page at @index could not be fetched; 0: none
 * @index: offset of the page in the space, in pages
 * @task: task whose fault left @error, and whose retry takes it; never dereferenced
 */
struct vgpu_mapping_error {
	int error;
	pgoff_t index;
	const struct task_struct *task;
};

/**
 * vgpu_mapping_fault - vm_ops->fault of forwarded files
 * @vmf: the fault, on a VMA of a struct vgpu_mapping
 *
 * Context: mmap_lock held for reading, or the lock of the VMA. Waits for the host, killably, with
 * neither of them.
 * Return: the result of a fault handler.
 */
vm_fault_t vgpu_mapping_fault(struct vm_fault *vmf);

/**
 * vgpu_mapping_huge_fault - vm_ops->huge_fault of forwarded files
 * @vmf: the fault, on a VMA of a struct vgpu_mapping
 * @order: order of the mapping that the core asks for
 *
 * Inserts a PMD mapping if that is possible at once. Other faults are left to
 * vgpu_mapping_fault().
 *
 * Context: as vgpu_mapping_fault(), but does not wait.
 * Return: VM_FAULT_NOPAGE or VM_FAULT_FALLBACK.
 */
vm_fault_t vgpu_mapping_huge_fault(struct vm_fault *vmf, unsigned int order);

/**
 * vgpu_mapping_page_mkwrite - vm_ops->page_mkwrite of forwarded files
 * @vmf: the fault, on a VMA of a struct vgpu_mapping
 *
 * Context: mmap_lock held for reading, or the lock of the VMA. Does not wait for the host.
 * Return: the result of such a handler.
 */
vm_fault_t vgpu_mapping_page_mkwrite(struct vm_fault *vmf);

/**
 * vgpu_mapping_pfn_mkwrite - vm_ops->pfn_mkwrite of forwarded files
 * @vmf: the fault, on a VMA of a struct vgpu_mapping
 *
 * Context: as vgpu_mapping_page_mkwrite().
 * Return: the result of such a handler.
 */
vm_fault_t vgpu_mapping_pfn_mkwrite(struct vm_fault *vmf);

#endif /* VGPU_MAPPING_FAULT_H */
