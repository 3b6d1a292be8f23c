// SPDX-License-Identifier: GPL-2.0-only
/*
 * Insertion of a binding's pages into the page tables of those who see the window.
 */
#include <linux/mmu_notifier.h>

#include "compat.h"
#include "fault.h"
#include "window/ahead.h"
#include "window/binding.h"
#include "window/insert.h"
#include "window/resolve.h"
#include "window/touch.h"
#include "window/window.h"

/*
 * Time after which a result is old: a fault does not report an old error, and a stale page with
 * an old result is resolved again with a new deadline.
 */
#define BINDING_AGE		HZ

static pgprot_t binding_prot(const struct vgpu_binding *binding, const struct vm_area_struct *vma)
{
	unsigned long flags = vma->vm_flags;

	/* The PTE is writable at once: KVM does not fault again for a page that it can read. */
	return vm_get_page_prot(binding->writable ? flags : flags & ~VM_WRITE);
}

/* Check whether the thread that waited for the touch did not fetch its result in time. */
static bool touch_is_old(const struct vgpu_touch *touch)
{
	return time_after(jiffies, touch->done_at + BINDING_AGE);
}

/* Check whether the result of the touch is not valid any more. */
static bool touch_is_stale(const struct vgpu_touch *touch)
{
	/* PROTECT came since: the driver was asked for reading, and no sequence has changed. */
	if (touch->writable != touch->binding->writable)
		return true;
	if (touch->error == -EAGAIN || touch->error == -EBUSY)
		return true;
	/* The thread that waited may have been killed, and the driver may be well again. */
	if (touch->error && touch_is_old(touch))
		return true;
	return mmu_interval_read_retry(&touch->binding->notifier, touch->seq);
}

/*
 * Drop touches of other pages that @touch has brought: their pages in [first, end) are in the
 * page tables now. A thread that waits for such a page finds it there and does not use its own
 * touch, whose result would be too old for the next fault of the page.
 */
static void touch_cover(struct vgpu_touch *touch, u64 first, u64 end)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpu_touch *other, *next;

	lockdep_assert_held(&binding->window->lock);
	list_for_each_entry_safe(other, next, &binding->touches, node) {
		if (other->offset < first || other->offset >= end || other == touch ||
		    (touch->huge == VGPU_TOUCH_NO_PFN &&
		     vgpu_touch_pfn(touch, other->offset) == VGPU_TOUCH_NO_PFN))
			continue;
		if (!other->done) {
			other->covered = true;
			continue;
		}
		list_del(&other->node);
		vgpu_touch_put(other);
	}
}

/* Drop a touch whose result was used. */
static void touch_end(struct vgpu_touch *touch)
{
	list_del(&touch->node);
	vgpu_touch_put(touch);
}

/*
 * Insert the pages that were found around the touch's own, within one page table of the VMA.
 * Return: end of the pages that are there without a gap.
 */
static u64 touch_insert_around(struct vgpu_touch *touch, struct vm_fault *vmf, u64 first,
			       u64 end, bool local)
{
	struct vgpu_binding *binding = touch->binding;
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PAGE_MASK;
	pgprot_t prot = binding_prot(binding, vma);
	unsigned long low = max(addr & PMD_MASK, vma->vm_start);
	unsigned long high = min((addr & PMD_MASK) + PMD_SIZE - 1, vma->vm_end - 1);
	u64 next = touch->offset + PAGE_SIZE, offset;

	first = max3(first, touch->first, touch->offset - min_t(u64, touch->offset, addr - low));
	end = min3(end, vgpu_touch_last(touch), touch->offset + (high - addr) + 1);
	for (offset = first; offset < end; offset += PAGE_SIZE) {
		unsigned long pfn = vgpu_touch_pfn(touch, offset);

		if (offset == touch->offset || pfn == VGPU_TOUCH_NO_PFN)
			continue;
		if ((!local && !vgpu_kvm_takes_pfn(pfn)) ||
		    vgpu_insert_pfn_cached(vma, addr + (offset - touch->offset), pfn, prot,
					   touch->prot) != VM_FAULT_NOPAGE)
			break;
		if (offset == next)
			next += PAGE_SIZE;
	}
	touch_cover(touch, first, offset);
	return next;
}

static vm_fault_t touch_insert(struct vgpu_touch *touch, struct vm_fault *vmf, u64 first,
			       u64 end, bool local)
{
	struct vgpu_binding *binding = touch->binding;
	unsigned long pfn = *vgpu_touch_own(touch);
	vm_fault_t ret;

	if (touch->error)
		return touch->error == -ENOMEM && local ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	/* A write to a hypervisor's read-only page is handled by window_pfn_mkwrite(). */
	if (local && !binding->writable && (vmf->vma->vm_flags & VM_WRITE))
		return VM_FAULT_SIGBUS;
	if (!local && !vgpu_kvm_takes_pfn(pfn))
		return VM_FAULT_SIGBUS;
	ret = vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK, pfn,
				     binding_prot(binding, vmf->vma), touch->prot);
	if (ret == VM_FAULT_NOPAGE)
		vgpuh_ahead_start(binding, touch,
				  touch_insert_around(touch, vmf, first, end, local));
	return ret;
}

vm_fault_t vgpu_binding_insert_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
				      u64 offset, u64 first, u64 end, bool local)
{
	struct vgpu_touch *touch;
	bool stale, old;
	vm_fault_t ret;

	/* Another fault has inserted a PMD mapping since this one began. */
	if (vgpu_fault_is_huge(vmf))
		return VM_FAULT_NOPAGE;
	touch = vgpu_touch_find(binding, offset);
	if (!touch)
		return VM_FAULT_RETRY;
	/* A stuck driver keeps one worker for each page, and delays a hypervisor once. */
	if (!touch->done)
		return touch->late && !local ? VM_FAULT_SIGBUS : VM_FAULT_RETRY;
	stale = touch_is_stale(touch);
	/* An old result and its deadline belong to an earlier fault: this one gets more time. */
	old = touch_is_old(touch);
	if (stale && old)
		touch->deadline = jiffies + VGPU_WINDOW_TIMEOUT;
	if (stale && (local || old ||
		      (touch->error != -EBUSY && time_before(jiffies, touch->deadline)))) {
		/* Memory that moves is resolved page by page, which takes less time. */
		touch->first = touch->offset;
		touch->nr = 1;
		/*
		 * The deadline stays: a driver that moves memory again and again delays the
		 * fault no longer.
		 */
		vgpu_touch_again(touch);
		return VM_FAULT_RETRY;
	}
	ret = stale ? VM_FAULT_SIGBUS : touch_insert(touch, vmf, first, end, local);
	touch_end(touch);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t binding_insert_huge_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
					     u64 offset, bool local)
{
	u64 first = round_down(offset, PMD_SIZE);
	struct vgpu_touch *touch;
	vm_fault_t ret;

	/* Only a finished touch with known 2 MiB is used; else the single-page fault follows. */
	touch = vgpu_touch_find(binding, offset);
	if (!touch || !touch->done || touch->error || touch->huge == VGPU_TOUCH_NO_PFN ||
	    touch_is_stale(touch) || (!local && !touch->huge_kvm))
		return VM_FAULT_FALLBACK;
	/* A write that the binding does not allow is left to the single-page fault, too. */
	if (!binding->writable && (local ? vmf->vma->vm_flags & VM_WRITE :
					   vmf->flags & FAULT_FLAG_WRITE))
		return VM_FAULT_FALLBACK;
	ret = vgpu_insert_huge(vmf, touch->huge, binding->writable, touch->prot);
	if (ret != VM_FAULT_NOPAGE)
		return VM_FAULT_FALLBACK;
	atomic64_inc(&binding->window->stats.huge);
	touch_cover(touch, first, first + PMD_SIZE);
	vgpuh_ahead_start(binding, touch, first + PMD_SIZE);
	touch_end(touch);
	return VM_FAULT_NOPAGE;
}

vm_fault_t vgpuh_window_insert_huge(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset,
				    bool local)
{
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct vgpu_binding *binding;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		ret = binding_insert_huge_locked(binding, vmf, offset, local);
	mutex_unlock(&window->lock);
	return ret;
}
#endif
