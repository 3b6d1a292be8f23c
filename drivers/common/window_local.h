/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Local window: the interface by which vgpu_host shows a window to a vgpu_guest in the same
 * kernel. The guest module inserts the device's pages into the page tables of its programs.
 */
#ifndef VGPU_WINDOW_LOCAL_H
#define VGPU_WINDOW_LOCAL_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpuh_window;
struct vm_fault;

/**
 * struct vgpu_window_viewer - user that shows a window beside the window's device file
 * @node: list entry in the window's viewers
 * @zap: callback that unmaps the pages [offset, offset + len) of the window. Called from mmu
 *	notifiers: the callback must not reclaim memory
 */
struct vgpu_window_viewer {
	struct list_head node;
	void (*zap)(struct vgpu_window_viewer *viewer, u64 offset, u64 len);
};

/**
 * struct vgpu_window_local_ops - operations of the host module
 * @attach: function that finds a window by number and size, and adds a viewer. Return: the
 *	window with a reference, or NULL
 * @detach: function that removes the viewer, waits for running @zap callbacks, and drops the
 *	reference
 * @insert: function that inserts a PTE for the page bound at an offset, and PTEs for known
 *	pages of [first, end) around it. Return: VM_FAULT_RETRY if the page has to be resolved
 *	first, or the window is gone; else the result of the fault handler
 * @insert_huge: function that inserts a PMD mapping for the 2 MiB around an offset, all of
 *	which may be shown. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: try @insert
 * @resolve: function that asks the driver for the page bound at an offset. Called without
 *	locks; waits in TASK_KILLABLE. Return: 0: try @insert again, or -EINTR
 */
struct vgpu_window_local_ops {
	struct vgpuh_window *(*attach)(u64 id, u64 size, struct vgpu_window_viewer *viewer);
	void (*detach)(struct vgpuh_window *window, struct vgpu_window_viewer *viewer);
	vm_fault_t (*insert)(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset,
			     u64 first, u64 end);
	vm_fault_t (*insert_huge)(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset);
	int (*resolve)(struct vgpuh_window *window, u64 offset);
};

extern const struct vgpu_window_local_ops vgpu_window_local_ops;

#endif /* VGPU_WINDOW_LOCAL_H */
