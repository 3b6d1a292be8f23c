/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings.
 */
#ifndef _VGPU_HOST_BINDING_H
#define _VGPU_HOST_BINDING_H

#include <linux/completion.h>
#include <linux/interval_tree.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct file;
struct vgpu_peer;
struct vgpu_unbind;
struct vgpuh_window;

/**
 * struct vgpu_binding_ahead - preparation of a binding's pages; see ahead.c
 * @next: offset in the window of the next page of a program that accesses memory in order;
 *	protected by window->lock, as all fields
 * @step: number of bytes to prepare there; 0: the last touch was not in order, or was slow
 * @first: start of the last preparation, an offset in the window; constant during a preparation
 * @end: end of the last preparation; constant during a preparation, and afterwards where it ended
 * @busy: true while a preparation is under way, which holds a reference of the binding
 * @over: completion, completed at the end of a preparation
 * @work: preparation: has the driver populate the shadow's page tables
 */
struct vgpu_binding_ahead {
	u64 next;
	u64 step;
	u64 first;
	u64 end;
	bool busy;
	struct completion over;
	struct work_struct work;
};

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
 * @prot: protection with the cache attribute that the guest is given; written before the reply
 * @users: number of mappings that show the binding; protected by the session's map_lock
 * @notifier: notifier of changes of the shadow's page tables
 * @node: node of window->bindings.tree, by offset; protected by window->lock, as the fields below
 * @listed: true while the binding is in the tree
 * @ended_node: list entry in window->bindings.ended, once the binding has left the tree
 * @gone: true if no page of the binding may be inserted into page tables any more
 * @touches: list of pages that are being resolved or were resolved, the newest first
 * @nr_touches: number of entries of @touches
 * @seq: sequence of @notifier that a worker has read last; 0, which is no valid one: none yet
 * @ahead: preparation of pages that a program will access soon
 * @bad_node: list entry in peer->offer.bad; protected by peer->events.lock, as the fields
 *	below
 * @bad_first: offset of the first page that failed since the last INVALIDATE
 * @bad_end: end of the last such page; equal to @bad_first: none has failed
 */
struct vgpu_binding {
	struct kref ref;
	struct vgpuh_window *window;
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

	struct interval_tree_node node;
	bool listed;
	struct list_head ended_node;
	bool gone;
	struct list_head touches;
	unsigned int nr_touches;
	unsigned long seq;
	struct vgpu_binding_ahead ahead;

	struct list_head bad_node;
	u64 bad_first;
	u64 bad_end;
};

void vgpu_binding_get(struct vgpu_binding *binding);
void vgpu_binding_put(struct vgpu_binding *binding);
/* Queue an INVALIDATE: programs of the guest have lost these pages. Context: any. */
void vgpu_binding_fail(struct vgpu_binding *binding, u64 offset, u64 len);
/* Check that the VMA shows, at the address, the mapping that was bound. */
bool vgpu_binding_shows(const struct vgpu_binding *binding, const struct vm_area_struct *vma,
			u64 addr);

static inline u64 vgpu_binding_addr(const struct vgpu_binding *binding, u64 offset)
{
	return binding->addr + (offset - binding->offset);
}

/**
 * struct vgpu_binding_place - range of a shadow that is to be bound
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
/* Find the binding to be shown at @offset, or NULL. Context: window->lock is held. */
struct vgpu_binding *vgpu_binding_find_locked(struct vgpuh_window *window, u64 offset);
/*
 * End a binding: none of its pages is shown when the function returns, nor later. The caller
 * holds a reference. @tell: true if the guest is to be notified.
 */
void vgpu_binding_end(struct vgpu_binding *binding, bool tell);
/* Work function of window->bindings.work. */
void vgpu_binding_end_work(struct work_struct *work);
/* Make the binding writable, after the shadow's VMAs have become writable. */
void vgpu_binding_widen(struct vgpu_binding *binding);
/* Refuse calls that the peer made before it gave a range back: they do not bind there. */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind);
/*
 * End all bindings that overlap the range, are of @peer (NULL: any), and were made when the
 * window had the number @id (0: any). The guest is not notified.
 */
void vgpu_binding_end_range(struct vgpuh_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len);

#endif /* _VGPU_HOST_BINDING_H */
