/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Touches of bindings.
 *
 * A fault resolves a page in two steps. First a worker reads the sequence of the binding's MMU
 * interval notifier and asks the driver for the page, in the shadow's mm and without locks of
 * windows. This step is a *touch*. Then the faulting thread inserts the page into its page tables
 * under window->lock, unless the notifier was called since. The notifier's callback changes the
 * sequence under window->lock before it zaps PTEs, so a page that is inserted after the callback
 * was resolved after it. One fault uses the result of a touch.
 */
#ifndef _VGPU_HOST_TOUCH_H
#define _VGPU_HOST_TOUCH_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct vgpu_binding;

/* Size of the aligned part of a window that is looked at together with a page. */
#define VGPU_TOUCH_AROUND	SZ_64K
#define VGPU_TOUCH_NO_PFN	(~0UL)
/* Maximum number of PMD mappings that are inserted together with that of a touch. */
#define VGPU_TOUCH_HUGE_AHEAD	7
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
 * struct vgpu_touch_wait - threads that wait for a touch
 * @nr: number of threads that wait, or are about to
 * @late: true if a wait has timed out, so hypervisors do not wait for the touch any more
 * @left: true if all waiting threads have given up while the worker is in the driver; counted in
 *	window->workers.nr_left
 */
struct vgpu_touch_wait {
	unsigned int nr;
	bool late;
	bool left;
};

/**
 * struct vgpu_touch_huge - the 2 MiB around the page of a touch
 * @pfn: PFN of their first page if they are contiguous and have one cache attribute; else
 *	VGPU_TOUCH_NO_PFN
 * @kvm: true if KVM can safely map them as one PMD mapping
 * @nr: number of entries of @ahead
 * @ahead: first PFNs of the PMD mappings that follow in the shadow's page tables and that KVM can
 *	map; none unless the program goes on in order
 */
struct vgpu_touch_huge {
	unsigned long pfn;
	bool kvm;
	unsigned int nr;
	unsigned long ahead[VGPU_TOUCH_HUGE_AHEAD];
};

/**
 * struct vgpu_touch - one page that is being resolved or was resolved, with the pages around it
 * @ref: reference count: the binding's list, the worker, and waiting threads
 * @node: list entry in binding->touches, except for a probe; protected by window->lock, as all
 *	fields below
 * @work: work item that resolves the page; holds a reference of the binding
 * @binding: binding that has the page
 * @offset: offset of the page in the window
 * @probe: true if the touch only finds out what the driver provides
 * @kvm: of a probe: true if a hypervisor will want the page
 * @deadline: time in jiffies at which a driver that makes no progress is given up
 * @over: completion, completed when @done is set
 * @done: true if the result is there
 * @done_at: time of the result in jiffies
 * @wait: threads that wait for the touch
 * @covered: true if another touch has brought the page meanwhile
 * @error: 0, or why there is no page; -EAGAIN: try again; -EBUSY: too many workers are stuck;
 *	-EEXIST: there is a page, but its PFN cannot be found; -EOPNOTSUPP: of a probe:
 *	hypervisors cannot have the page
 * @writable: true if the binding was writable when the driver was asked
 * @slow: true if the driver took longer than a preparation may, so none follows
 * @prot: cache attribute of the pages
 * @huge: the 2 MiB around @offset
 * @seq: sequence of the notifier
 * @first: offset in the window of the first page that is looked at
 * @nr: number of pages that are looked at; the page at @offset is among them
 * @pfns: PFNs of these pages; VGPU_TOUCH_NO_PFN: unknown
 */
struct vgpu_touch {
	struct kref ref;
	struct list_head node;
	struct work_struct work;
	struct vgpu_binding *binding;
	u64 offset;
	bool probe;
	bool kvm;
	unsigned long deadline;
	struct completion over;
	bool done;
	unsigned long done_at;
	struct vgpu_touch_wait wait;
	bool covered;
	int error;
	bool writable;
	bool slow;
	pgprot_t prot;
	struct vgpu_touch_huge huge;
	unsigned long seq;
	u64 first;
	unsigned int nr;
	unsigned long pfns[];
};

static inline void vgpu_touch_release(struct kref *ref)
{
	kfree(container_of(ref, struct vgpu_touch, ref));
}

static inline void vgpu_touch_put(struct vgpu_touch *touch)
{
	kref_put(&touch->ref, vgpu_touch_release);
}

/* Return the entry of touch->pfns for the page at touch->offset. */
static inline unsigned long *vgpu_touch_own(struct vgpu_touch *touch)
{
	return &touch->pfns[(touch->offset - touch->first) >> PAGE_SHIFT];
}

/* Return the offset in the window of the end of the pages that are looked at. */
static inline u64 vgpu_touch_last(const struct vgpu_touch *touch)
{
	return touch->first + ((u64)touch->nr << PAGE_SHIFT);
}

/* Return the PFN that the touch has found at @offset of the window, or VGPU_TOUCH_NO_PFN. */
static inline unsigned long vgpu_touch_pfn(const struct vgpu_touch *touch, u64 offset)
{
	if (offset < touch->first || offset >= vgpu_touch_last(touch))
		return VGPU_TOUCH_NO_PFN;
	return touch->pfns[(offset - touch->first) >> PAGE_SHIFT];
}

/* Allocate a touch of @offset that looks at @nr pages from @first on. It is in no list yet. */
struct vgpu_touch *vgpu_touch_alloc(struct vgpu_binding *binding, u64 offset, u64 first,
				    unsigned int nr, unsigned long time, work_func_t work);
/* Find the touch of the page at @offset, or NULL. Context: window->lock is held. */
struct vgpu_touch *vgpu_touch_find(struct vgpu_binding *binding, u64 offset);
/*
 * Look for the page in the shadow's page tables from the faulting thread itself, without asking
 * the driver and without waiting. A program that accesses a mapping in order finds its next pages
 * prepared, and need not wait until a worker gets a processor. The sequence of the touch is the
 * one that a worker has read last; the function fails if the notifier was called since.
 * Return: true if the page is found.
 */
bool vgpu_touch_at_once(struct vgpu_touch *touch);
/*
 * Resolve the page of a touch. It may take until touch->deadline, or for ever in the driver.
 * Context: process, no locks are held. Return: 0, or why there is no page.
 */
int vgpu_touch_resolve(struct vgpu_touch *touch);

/*
 * Ask the driver for the first page of a new binding, for @time at most. Context: no locks are
 * held.
 * Return: 0: nothing is against the binding; -EOPNOTSUPP: the window cannot show what the
 * driver provides; -ENODEV, -EBUSY: the binding has ended meanwhile, with the window or by
 * itself.
 */
int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time);

#endif /* _VGPU_HOST_TOUCH_H */
