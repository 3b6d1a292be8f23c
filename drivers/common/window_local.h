/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A window between two modules of one kernel: what vgpu_host offers a vgpu_guest
 * that is its own guest. The guest puts the pages themselves into the page tables
 * of its programs.
 */
#ifndef VGPU_WINDOW_LOCAL_H
#define VGPU_WINDOW_LOCAL_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct vgpu_slot;
struct vgpu_window;
struct vm_fault;

/**
 * struct vgpu_window_viewer - one that shows a window beside its device file
 * @node: among the window's viewers
 * @zap: pages [offset, offset + len) are not to be seen any more when it returns.
 *	Called from mmu notifiers: no memory may be reclaimed
 */
struct vgpu_window_viewer {
	struct list_head node;
	void (*zap)(struct vgpu_window_viewer *viewer, u64 offset, u64 len);
};

/**
 * struct vgpu_window_local_ops - what the host module does
 * @attach: find the window of that number and size and add a viewer. Return: the window with
 *	a reference, or NULL
 * @detach: take the viewer away, for whom no @zap runs then, and the reference
 * @insert: put what is bound at an offset into the page tables, and what is known of
 *	[first, end) around it. Return: VM_FAULT_RETRY: it has to be resolved first; else
 *	what a fault handler returns
 * @insert_huge: put the 2 MiB in which an offset is into the page tables, which may all be
 *	shown. Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK: try @insert
 * @resolve: ask the driver for what is bound at an offset; without locks; waits
 *	killably. Return: 0: look again, or -EINTR
 * @slot_get: the slot of that number, if it has that id, with its bytes and the place where
 *	the id changes when it is taken away. Return: a reference, or NULL
 * @slot_put: give it back
 */
struct vgpu_window_local_ops {
	struct vgpu_window *(*attach)(u64 id, u64 size, struct vgpu_window_viewer *viewer);
	void (*detach)(struct vgpu_window *window, struct vgpu_window_viewer *viewer);
	vm_fault_t (*insert)(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
			     u64 first, u64 end);
	vm_fault_t (*insert_huge)(struct vgpu_window *window, struct vm_fault *vmf, u64 offset);
	int (*resolve)(struct vgpu_window *window, u64 offset);
	struct vgpu_slot *(*slot_get)(struct vgpu_window *window, u32 nr, u64 id, void **memory,
				      const __le64 **id_now);
	void (*slot_put)(struct vgpu_slot *slot);
};

extern const struct vgpu_window_local_ops vgpu_window_local_ops;

#endif /* VGPU_WINDOW_LOCAL_H */
