// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resolving pages of bindings for faults, in two steps (touch.h): a fault waits for a touch, and
 * then inserts the binding's pages into the page tables of the faulting hypervisor or program.
 */
#include <linux/mmu_notifier.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "fault.h"
#include "window/ahead.h"
#include "window/binding.h"
#include "window/resolve.h"
#include "window/touch.h"
#include "window/window.h"

/* Maximum of workers of one window that are in drivers and for which no fault waits. */
#define BINDING_LEFT_MAX	64
/*
 * Maximum of workers of one window that are in drivers or are to run. A fault that needs one more
 * waits as if the driver had asked for a retry. A hypervisor has no more faults at once than
 * processors.
 */
#define BINDING_WORKERS_MAX	256
/*
 * Maximum of results of one binding that no fault has used: a thread that takes a signal may never
 * access the page again. Faults that use their results have as many as there are threads.
 */
#define BINDING_RESULTS_MAX	256
/*
 * Time after which a result is old: a fault does not report an old error, and a stale page with
 * an old result is resolved again with a new deadline.
 */
#define BINDING_AGE		HZ

/* Take a touch off the list of its binding. The caller puts the list's reference. */
static void touch_unlist(struct vgpu_touch *touch)
{
	lockdep_assert_held(&touch->binding->window->lock);
	list_del_init(&touch->node);
	touch->binding->nr_touches--;
}

/* Check whether the result is old: a thread that waited for the touch would have used it by now. */
static bool touch_is_old(const struct vgpu_touch *touch)
{
	return time_after(jiffies, touch->done_at + BINDING_AGE);
}

/* Drop a touch whose result was used, or is of no use any more. */
static void touch_end(struct vgpu_touch *touch)
{
	touch_unlist(touch);
	vgpu_touch_put(touch);
}

/*
 * Drop results for which no thread waits and that are old, or the oldest ones if there are too
 * many. A thread that comes back for such a result asks the driver again.
 */
static void touch_drop_unused(struct vgpu_binding *binding)
{
	struct vgpu_touch *touch, *prev;

	lockdep_assert_held(&binding->window->lock);
	list_for_each_entry_safe_reverse(touch, prev, &binding->touches, node)
		if (touch->done && !touch->wait.nr &&
		    (touch_is_old(touch) || binding->nr_touches > BINDING_RESULTS_MAX))
			touch_end(touch);
}

/*
 * Publish the result @ret of a touch that began at @start. @queued: true if a worker has found the
 * result. Consumes a reference of the touch.
 */
static void touch_over(struct vgpu_touch *touch, unsigned long start, int ret, bool queued)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	bool unlist;

	mutex_lock(&window->lock);
	window->workers.nr_touches -= queued;
	touch->slow = time_after(jiffies, start + VGPU_AHEAD_TIME);
	window->workers.nr_left -= touch->wait.left;
	touch->wait.left = false;
	touch->error = ret;
	touch->done = true;
	touch->done_at = jiffies;
	/* The touch leaves the list if no fault will use the result. */
	unlist = touch->wait.late || touch->covered || binding->gone;
	if (unlist)
		touch_unlist(touch);
	/* The lock is held, as the touch may begin anew after that. */
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	atomic64_inc(&window->stats.resolved);
	if (unlist)
		vgpu_touch_put(touch);
	vgpu_touch_put(touch);
}

static void touch_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	unsigned long start = jiffies;
	int ret;

	ret = vgpu_touch_resolve(touch);
	touch_over(touch, start, ret, true);
	vgpu_binding_put(binding);
}

/* Queue the worker of a touch, unless too many are stuck or there are too many. */
static void touch_queue(struct vgpu_touch *touch)
{
	struct vgpuh_window *window = touch->binding->window;

	lockdep_assert_held(&window->lock);
	if (window->workers.nr_left < BINDING_LEFT_MAX &&
	    window->workers.nr_touches < BINDING_WORKERS_MAX) {
		window->workers.nr_touches++;
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(touch->binding);
		queue_work(window->workers.wq, &touch->work);
	} else {
		/* If workers are stuck, a hypervisor waits for no further one. */
		touch->error = window->workers.nr_left < BINDING_LEFT_MAX ? -EAGAIN : -EBUSY;
		/* Another fault that waited for the touch may have been killed meanwhile. */
		window->workers.nr_left -= touch->wait.left;
		touch->wait.left = false;
		touch->done = true;
		touch->done_at = jiffies;
		complete_all(&touch->over);
	}
}

/* Resolve the page of a touch once more. */
static void touch_again(struct vgpu_touch *touch)
{
	touch->done = false;
	touch->covered = false;
	reinit_completion(&touch->over);
	touch_queue(touch);
}

/*
 * Choose the pages that are looked at with @offset: @nr is their number.
 * Return: offset of the first one.
 */
static u64 touch_range(struct vgpu_binding *binding, u64 offset, unsigned int *nr)
{
	lockdep_assert_held(&binding->window->lock);
	if (offset == binding->ahead.next && binding->ahead.step) {
		*nr = min_t(u64, binding->ahead.step, PMD_SIZE) >> PAGE_SHIFT;
		return offset;
	}
	*nr = VGPU_TOUCH_AROUND >> PAGE_SHIFT;
	return round_down(offset, VGPU_TOUCH_AROUND);
}

/*
 * Find or make a touch of the page. A new one (*@new_one is true) has to be resolved by the
 * caller.
 * Return: the touch with a reference and this thread among its waiters, or NULL.
 */
static struct vgpu_touch *touch_get(struct vgpu_binding *binding, u64 offset, bool *new_one)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch, *new;
	unsigned int nr;
	u64 first;

	mutex_lock(&window->lock);
	first = touch_range(binding, offset, &nr);
	mutex_unlock(&window->lock);
	new = vgpu_touch_alloc(binding, offset, first, nr, VGPU_WINDOW_TIMEOUT, touch_work);
	if (!new)
		return NULL;
	mutex_lock(&window->lock);
	touch = vgpu_touch_find(binding, offset);
	*new_one = !touch && !binding->gone;
	if (*new_one) {
		touch = new;
		new = NULL;
		list_add(&touch->node, &binding->touches);
		binding->nr_touches++;
		touch_drop_unused(binding);
	}
	if (touch) {
		kref_get(&touch->ref);
		touch->wait.nr++;
		window->workers.nr_left -= touch->wait.left;
		touch->wait.left = false;
	}
	mutex_unlock(&window->lock);
	kfree(new);
	return touch;
}

/* Resolve a new touch, from the page tables if the page was prepared, else by a worker. */
static void touch_begin(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	bool found;

	found = vgpu_touch_at_once(touch) ||
		(vgpuh_ahead_wait(binding, touch->offset) && vgpu_touch_at_once(touch));
	if (found) {
		kref_get(&touch->ref);
		touch_over(touch, jiffies, 0, false);
		return;
	}
	mutex_lock(&window->lock);
	touch_queue(touch);
	mutex_unlock(&window->lock);
}

int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch;
	bool new_one, busy;
	long ret;

	touch = touch_get(binding, offset, &new_one);
	/* The binding is gone, or there is no memory: the next fault finds out. */
	if (!touch)
		return schedule_timeout_killable(1) && fatal_signal_pending(current) ? -EINTR : 0;
	if (new_one)
		touch_begin(touch);
	ret = wait_for_completion_killable_timeout(&touch->over, timeout);
	mutex_lock(&window->lock);
	busy = touch->done && (touch->error == -EBUSY || touch->error == -EAGAIN);
	touch->wait.nr--;
	if (ret <= 0 && !touch->done && !touch->wait.nr) {
		window->workers.nr_left += !touch->wait.left;
		touch->wait.left = true;
	}
	if (!ret && !touch->done) {
		touch->wait.late = true;
		atomic64_inc(&window->stats.timeouts);
	}
	mutex_unlock(&window->lock);
	vgpu_touch_put(touch);
	/*
	 * The next fault tries again after this pause, if it does not get the window's own page
	 * (vgpu_binding_insert_locked()).
	 */
	if (busy)
		schedule_timeout_killable(HZ / 50);
	return ret < 0 ? -EINTR : 0;
}

/* --- insertion --------------------------------------------------------------- */

static pgprot_t binding_prot(const struct vgpu_binding *binding, const struct vm_area_struct *vma)
{
	unsigned long flags = vma->vm_flags;

	/* The PTE is writable at once: KVM does not fault again for a page that it can read. */
	return vm_get_page_prot(binding->writable ? flags : flags & ~VM_WRITE);
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
		    (touch->huge.pfn == VGPU_TOUCH_NO_PFN &&
		     vgpu_touch_pfn(touch, other->offset) == VGPU_TOUCH_NO_PFN))
			continue;
		if (!other->done) {
			other->covered = true;
			continue;
		}
		touch_end(other);
	}
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
				  touch_insert_around(touch, vmf, first, end, local), false);
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
		return touch->wait.late && !local ? VM_FAULT_SIGBUS : VM_FAULT_RETRY;
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
		touch_again(touch);
		return VM_FAULT_RETRY;
	}
	ret = stale ? VM_FAULT_SIGBUS : touch_insert(touch, vmf, first, end, local);
	touch_end(touch);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
/*
 * Insert PMD mappings behind that of a hypervisor's fault, so that the hypervisor need not wait for
 * them one by one. Return: their number.
 */
static unsigned int touch_insert_ahead(const struct vgpu_touch *touch, const struct vm_fault *vmf)
{
	unsigned int most = min(touch->huge.nr, vgpu_fault_room(vmf)), nr = 0;

	while (nr < most) {
		struct vm_fault next = vgpu_fault_behind(vmf, nr + 1);

		if (vgpu_insert_huge(&next, touch->huge.ahead[nr], touch->binding->writable,
				     touch->prot) != VM_FAULT_NOPAGE)
			break;
		nr++;
	}
	return nr;
}

static vm_fault_t binding_insert_huge_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
					     u64 offset, bool local)
{
	u64 first = round_down(offset, PMD_SIZE), end = first + PMD_SIZE;
	struct vgpu_touch *touch;
	vm_fault_t ret;

	/* Only a finished touch with known 2 MiB is used; else the single-page fault follows. */
	touch = vgpu_touch_find(binding, offset);
	if (!touch || !touch->done || touch->error || touch->huge.pfn == VGPU_TOUCH_NO_PFN ||
	    touch_is_stale(touch) || (!local && !touch->huge.kvm))
		return VM_FAULT_FALLBACK;
	/* A write that the binding does not allow is left to the single-page fault, too. */
	if (!binding->writable && (local ? vmf->vma->vm_flags & VM_WRITE :
					   vmf->flags & FAULT_FLAG_WRITE))
		return VM_FAULT_FALLBACK;
	ret = vgpu_insert_huge(vmf, touch->huge.pfn, binding->writable, touch->prot);
	if (ret != VM_FAULT_NOPAGE)
		return VM_FAULT_FALLBACK;
	/* A guest in this kernel inserts what its own mapping allows. */
	if (!local)
		end += touch_insert_ahead(touch, vmf) * PMD_SIZE;
	atomic64_add((end - first) / PMD_SIZE, &binding->window->stats.huge);
	touch_cover(touch, first, end);
	vgpuh_ahead_start(binding, touch, end, true);
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
