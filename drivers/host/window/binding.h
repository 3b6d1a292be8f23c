/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings.
 */
#ifndef _VGPU_HOST_BINDING_H
#define _VGPU_HOST_BINDING_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vgpu_peer;
struct vgpu_unbind;
struct vgpu_window;

/*
 * Time for which a probe may delay a MMAP. The guest holds the program's mmap lock meanwhile,
 * and the driver may wait for a thread whose fetch needs that lock: so half of a fetch's
 * deadline is a limit, too.
 */
#define VGPU_PROBE_MMAP		HZ
/*
 * Time for a BIND. The guest waits a second (MOVE_BIND_WAIT), then moves nothing of the program
 * for a while.
 */
#define VGPU_PROBE_BIND		(HZ / 4)

/**
 * struct vgpu_binding - a range of a window that shows a range of a shadow
 * @ref: reference count: the window's tree, mappings, work that is under way
 * @window: window that has the range, with a reference
 * @window_id: number of the window when the binding was made
 * @peer: peer of the shadow, with a reference
 * @offset: offset of the range in the window
 * @mm: mm of the shadow, with a reference of the struct
 * @addr: address of the range in the shadow
 * @len: number of bytes
 * @pgoff: page offset in the file at @addr
 * @file: file of the shadow's VMA, for comparison only: the mappings hold the reference
 * @writable: true if the shadow's VMA is writable
 * @prot: cache attribute that the guest is given; written before the guest gets it
 * @users: number of mappings that show the binding; protected by the session's map_lock
 * @notifier: notifier of changes of the shadow's page tables
 * @node: node of window->bindings; protected by window->lock, as the fields below
 * @listed: true while the binding is in the tree
 * @ended_node: list entry in window->ended, once the binding has left the tree
 * @gone: true if no page of the binding may be inserted into page tables any more
 * @touches: list of pages that are being resolved or were resolved
 * @seq: sequence of @notifier that a worker has read last; 0, which is no valid one: none yet
 * @next: offset in the window of the next page of a program that accesses memory in order
 * @step: number of bytes to prepare there; 0: the last touch was not in order, or was slow
 * @ahead: start of the last preparation, an offset in the window; constant during a preparation
 * @ahead_end: end of the last preparation; constant during a preparation
 * @ahead_busy: true while a preparation is under way, which holds a reference
 * @ahead_over: completion, completed at the end of a preparation
 * @ahead_work: preparation: has the driver populate the shadow's page tables
 * @bad_node: list entry in peer->bad_bindings; protected by peer->events_lock, as the fields
 *	below
 * @bad_first: offset of the first page that failed since the last INVALIDATE
 * @bad_end: end of the last such page; equal to @bad_first: none has failed
 */
struct vgpu_binding {
	struct kref ref;
	struct vgpu_window *window;
	u64 window_id;
	struct vgpu_peer *peer;
	u64 offset;
	struct mm_struct *mm;
	u64 addr;
	u64 len;
	pgoff_t pgoff;
	const struct file *file;
	bool writable;
	pgprot_t prot;
	u32 users;
	struct mmu_interval_notifier notifier;

	struct rb_node node;
	bool listed;
	struct list_head ended_node;
	bool gone;
	struct list_head touches;
	unsigned long seq;
	u64 next;
	u64 step;
	u64 ahead;
	u64 ahead_end;
	bool ahead_busy;
	struct completion ahead_over;
	struct work_struct ahead_work;

	struct list_head bad_node;
	u64 bad_first;
	u64 bad_end;
};

/**
 * struct vgpu_binding_place - what is to be bound
 * @addr: address in the shadow, which is current
 * @len: number of bytes
 * @pgoff: page offset in the file at @addr
 * @file: file of the VMA
 * @writable: true if the VMA is writable
 * @prot: page protection of the VMA
 * @seq: number of the last control message that was sent before the call
 */
struct vgpu_binding_place {
	u64 addr;
	u64 len;
	pgoff_t pgoff;
	const struct file *file;
	bool writable;
	pgprot_t prot;
	u64 seq;
};

/*
 * Bind a range of current, at @offset of the window that the peer knows as @id.
 * Context: the mmap lock is not held.
 * Return: the binding with a reference, or ERR_PTR(): -ENODEV: no such window; -EBUSY:
 * something is bound there, or the guest has given the range back since the call; -ENOMEM.
 */
struct vgpu_binding *vgpu_binding_make(struct vgpu_peer *peer, u64 id, u64 offset,
				       const struct vgpu_binding_place *place);
/*
 * Ask the driver for the first page of a new binding, for @time at most. Context: no locks are
 * held.
 * Return: 0: nothing is against the binding; -EOPNOTSUPP: the window cannot show what the
 * driver provides; -ENODEV, -EBUSY: the binding has ended meanwhile, with the window or by
 * itself.
 */
int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time);
/* Find the binding to be shown at @offset, or NULL. Context: window->lock is held. */
struct vgpu_binding *vgpu_binding_find_locked(struct vgpu_window *window, u64 offset);
void vgpu_binding_get(struct vgpu_binding *binding);
void vgpu_binding_put(struct vgpu_binding *binding);
/*
 * Insert the page at @offset of the window into the fault's VMA, with those pages of [first,
 * end) around it that were found together with it. @local: true if the fault is not a
 * hypervisor's; a hypervisor's may not wait long and cannot have every page. Context:
 * window->lock is held.
 * Return: VM_FAULT_RETRY: the page has to be resolved first; VM_FAULT_SIGBUS: the page cannot
 * be had now; else what a fault handler returns.
 */
vm_fault_t vgpu_binding_insert_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
				      u64 offset, u64 first, u64 end, bool local);
/*
 * Insert the 2 MiB around @offset into the fault's VMA as one PMD mapping, if they are known to
 * be contiguous. Context: window->lock is held. Return: VM_FAULT_NOPAGE or VM_FAULT_FALLBACK.
 */
vm_fault_t vgpu_binding_insert_huge_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
					   u64 offset, bool local);
/*
 * Ask the driver for the page at @offset, for @timeout at most. Context: no locks are held.
 * Return: 0 or -EINTR.
 */
int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout);
/* Queue an INVALIDATE: programs of the guest have lost these pages. Context: any. */
void vgpu_binding_fail(struct vgpu_binding *binding, u64 offset, u64 len);
/*
 * End a binding: none of its pages is shown when the function returns, nor later. The caller
 * holds a reference. @tell: true if the guest is to be notified.
 */
void vgpu_binding_end(struct vgpu_binding *binding, bool tell);
/* Work function of a window's @end_work. */
void vgpu_binding_end_work(struct work_struct *work);
/* Make the binding writable, after the shadow's VMAs have become writable. */
void vgpu_binding_widen(struct vgpu_binding *binding);
/* Refuse calls that the peer made before it gave a range back: they do not bind there. */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind);
/*
 * End all bindings that overlap the range, are of @peer (NULL: any), and were made when the
 * window had the number @id (0: any).
 */
void vgpu_binding_end_range(struct vgpu_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len, bool tell);

#endif /* _VGPU_HOST_BINDING_H */
