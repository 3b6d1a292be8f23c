// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings.
 *
 * A fault resolves a page in two steps. First a worker reads the sequence of the binding's MMU
 * interval notifier and asks the driver for the page, in the shadow's mm and without locks of
 * this file. This step is a *touch* (struct vgpu_touch). Then the faulting thread inserts the
 * page into its page tables under window->lock, unless the notifier was called since. The
 * notifier's callback changes the sequence under window->lock before it zaps PTEs, so a page
 * that is inserted after the callback was resolved after it. A touch is used once.
 *
 * The worker also collects the pages that the shadow's page tables already have around the
 * page. The fault inserts them together with the page: the sequence is that of the whole
 * binding, so it is valid for all of them. If 2 MiB are physically contiguous, the fault
 * inserts one PMD mapping, where the faulting VMA can have one.
 *
 * A program that accesses a mapping in order would need a touch for each page if the driver
 * provides single pages. So each time a touch begins where the last one ended, another worker
 * has the driver populate the shadow's page tables for the bytes that follow, twice as many as
 * before, up to 2 MiB. This *preparation* changes nothing but the shadow's page tables. The next
 * touch finds the pages there as it finds any pages around its own.
 *
 * A guest should not write to memory that the window cannot show. So the host itself makes the
 * first touch of a binding, its *probe*, which inserts nothing into the window.
 *
 * A worker may be stuck in a driver for ever. Everything but its own reference of the binding
 * ends without it.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "fault.h"
#include "peer/control.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/window.h"

/* Maximum of workers of one window that are in drivers and for which no fault waits. */
#define BINDING_LEFT_MAX	64
/*
 * Time after which a result is old: a fault does not report an old error, and a stale page with
 * an old result is resolved again with a new deadline.
 */
#define BINDING_AGE		HZ
/* Size of the aligned part of a window that is looked at together with a page. */
#define BINDING_AROUND		SZ_64K
/* Maximum of bytes in one preparation; one page table maps as many. */
#define BINDING_AHEAD_MAX	PMD_SIZE
/* Time after which a preparation ends, and for which a touch waits for it at most. */
#define BINDING_AHEAD_TIME	max(HZ / 50, 1)
/* Maximum of preparations of one window at once: each that is stuck in a driver keeps a worker. */
#define BINDING_AHEAD_WORKERS	8
#define BINDING_NO_PFN		(~0UL)
/* Number of calls of a driver's handler without result before each further one is delayed. */
#define BINDING_TRIES		4

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
 * @late: true if a wait has timed out, so hypervisors do not wait for the touch any more
 * @waiters: number of threads that wait for the touch, or are about to
 * @left: true if all waiting threads have given up while the worker is in the driver; counted in
 *	window->nr_left
 * @covered: true if another touch has brought the page meanwhile
 * @error: 0, or why there is no page; -EAGAIN: try again; -EBUSY: too many workers are stuck;
 *	-EEXIST: there is a page, but its PFN cannot be found; -EOPNOTSUPP: of a probe:
 *	hypervisors cannot have the page
 * @writable: true if the binding was writable when the driver was asked
 * @slow: true if the driver took longer than a preparation may, so none follows
 * @prot: cache attribute of the pages
 * @huge: PFN of the first page of the 2 MiB around @offset if these are contiguous and have one
 *	cache attribute; else BINDING_NO_PFN
 * @huge_kvm: true if KVM can safely map these 2 MiB as one PMD mapping
 * @seq: sequence of the notifier
 * @first: offset in the window of the first page that is looked at
 * @nr: number of pages that are looked at; the page at @offset is among them
 * @pfns: PFNs of these pages; BINDING_NO_PFN: unknown
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
	bool late;
	unsigned int waiters;
	bool left;
	bool covered;
	int error;
	bool writable;
	bool slow;
	pgprot_t prot;
	unsigned long huge;
	bool huge_kvm;
	unsigned long seq;
	u64 first;
	unsigned int nr;
	unsigned long pfns[];
};

static void touch_release(struct kref *ref)
{
	kfree(container_of(ref, struct vgpu_touch, ref));
}

static void touch_put(struct vgpu_touch *touch)
{
	kref_put(&touch->ref, touch_release);
}

static void binding_release(struct kref *ref)
{
	struct vgpu_binding *binding = container_of(ref, struct vgpu_binding, ref);
	struct vgpu_touch *touch, *next;

	/* Neither a worker nor a waiting thread is left. */
	list_for_each_entry_safe(touch, next, &binding->touches, node)
		touch_put(touch);
	vgpu_window_put(binding->window);
	vgpu_peer_put(binding->peer);
	mmdrop(binding->mm);
	kfree(binding);
}

void vgpu_binding_get(struct vgpu_binding *binding)
{
	kref_get(&binding->ref);
}

void vgpu_binding_put(struct vgpu_binding *binding)
{
	kref_put(&binding->ref, binding_release);
}

static u64 binding_addr(const struct vgpu_binding *binding, u64 offset)
{
	return binding->addr + (offset - binding->offset);
}

/* --- the notifier --------------------------------------------------------- */

static bool binding_invalidate(struct mmu_interval_notifier *notifier,
			       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct vgpu_binding *binding = container_of(notifier, struct vgpu_binding, notifier);
	struct vgpu_window *window = binding->window;
	u64 first, end;

	/* Zapping PTEs sleeps, so the OOM reaper has to get memory elsewhere. */
	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&window->lock);
	mmu_interval_set_seq(notifier, seq);
	mutex_unlock(&window->lock);

	first = max_t(u64, range->start, binding->addr);
	end = min_t(u64, range->end, binding->addr + binding->len);
	if (first >= end)
		return true;
	atomic64_inc(&window->zaps);
	vgpu_window_zap(window, binding->offset + (first - binding->addr), end - first);
	return true;
}

static const struct mmu_interval_notifier_ops binding_notifier_ops = {
	.invalidate = binding_invalidate,
};

/* --- touches: asking the driver ------------------------------------------- */

/* Check that the VMA shows, at the address, the mapping that was bound. */
static bool binding_shows(const struct vgpu_binding *binding, const struct vm_area_struct *vma,
			  u64 addr)
{
	pgoff_t pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);

	return vma->vm_file == binding->file &&
	       pgoff == binding->pgoff + ((addr - binding->addr) >> PAGE_SHIFT) &&
	       (vma->vm_flags & VM_SHARED) &&
	       (!binding->writable || (vma->vm_flags & VM_WRITE));
}

/* Return the entry of touch->pfns for the page at touch->offset. */
static unsigned long *touch_own(struct vgpu_touch *touch)
{
	return &touch->pfns[(touch->offset - touch->first) >> PAGE_SHIFT];
}

/* Return the offset in the window of the end of the pages that are looked at. */
static u64 touch_last(const struct vgpu_touch *touch)
{
	return touch->first + ((u64)touch->nr << PAGE_SHIFT);
}

/* Return the PFN that the touch has found at @offset of the window, or BINDING_NO_PFN. */
static unsigned long touch_pfn(const struct vgpu_touch *touch, u64 offset)
{
	if (offset < touch->first || offset >= touch_last(touch))
		return BINDING_NO_PFN;
	return touch->pfns[(offset - touch->first) >> PAGE_SHIFT];
}

/* Look for a PTE at @offset of the window that has the cache attribute of the touch's own page. */
static int touch_look(const struct vgpu_touch *touch, struct vm_area_struct *vma, u64 offset,
		      struct vgpu_entry *entry)
{
	const struct vgpu_binding *binding = touch->binding;
	u64 addr = binding_addr(binding, offset);

	if (offset < binding->offset || offset - binding->offset >= binding->len ||
	    addr < vma->vm_start || addr >= vma->vm_end ||
	    vgpu_follow_pfn(vma, addr, touch->writable, entry) ||
	    ((pgprot_val(entry->prot) ^ pgprot_val(touch->prot)) & _PAGE_CACHE_MASK))
		return -ENOENT;
	return 0;
}

/* Return the number of pages that the entry maps from @offset on, within binding and VMA. */
static unsigned long touch_run(const struct vgpu_touch *touch, const struct vm_area_struct *vma,
			       u64 offset, const struct vgpu_entry *entry)
{
	const struct vgpu_binding *binding = touch->binding;
	u64 addr = binding_addr(binding, offset);

	if (!entry->huge)
		return 1;
	return (min3(round_down(addr, PMD_SIZE) + PMD_SIZE, binding->addr + binding->len,
		     (u64)vma->vm_end) - addr) >> PAGE_SHIFT;
}

/* Collect the pages around the touch's own that have PTEs. The driver is not asked. */
static void touch_look_around(struct vgpu_touch *touch, struct vm_area_struct *vma)
{
	struct vgpu_entry entry;
	unsigned long run;
	unsigned int i;

	for (i = 0; i < touch->nr; i++) {
		u64 offset = touch->first + ((u64)i << PAGE_SHIFT);

		if (touch_look(touch, vma, offset, &entry))
			continue;
		touch->pfns[i] = entry.pfn;
		/* A PMD mapping is looked up once for all of its pages. */
		run = touch_run(touch, vma, offset, &entry);
		for (; run > 1 && i + 1 < touch->nr; run--)
			touch->pfns[++i] = ++entry.pfn;
	}
}

/* Find out whether the 2 MiB around the page are contiguous; many drivers insert single PTEs. */
static void touch_look_huge(struct vgpu_touch *touch, struct vm_area_struct *vma)
{
#ifdef VGPU_HAVE_HUGE
	const struct vgpu_binding *binding = touch->binding;
	u64 first = round_down(touch->offset, PMD_SIZE), offset = first;
	unsigned long pfn = *touch_own(touch) - ((touch->offset - first) >> PAGE_SHIFT);
	struct vgpu_entry entry;

	/* The PMD mapping may not be larger than the binding. */
	if (pfn % PTRS_PER_PMD || first < binding->offset ||
	    first + PMD_SIZE > binding->offset + binding->len)
		return;
	while (offset < first + PMD_SIZE) {
		if (touch_look(touch, vma, offset, &entry) ||
		    entry.pfn != pfn + ((offset - first) >> PAGE_SHIFT))
			return;
		/* Continue behind the PTE or PMD mapping. */
		offset += entry.huge ? PMD_SIZE - binding_addr(binding, offset) % PMD_SIZE :
				       PAGE_SIZE;
	}
	touch->huge = pfn;
	touch->huge_kvm = vgpu_kvm_takes_huge(pfn);
#endif
}

/*
 * Check whether the page is resolved for writing. A touch does so at once if the binding is
 * writable. A probe does so only if the VMA is not readable, so that the driver is notified of
 * actual writes.
 */
static bool touch_writes(const struct vgpu_touch *touch, const struct vm_area_struct *vma)
{
	return touch->probe ? !(vma->vm_flags & VM_READ) : touch->writable;
}

/* Return the PFN that is mapped at the address already, or BINDING_NO_PFN. */
static unsigned long touch_peek(struct vm_area_struct *vma, u64 addr)
{
	struct vgpu_entry entry;
	struct page *page;

	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return vgpu_follow_pfn(vma, addr, false, &entry) ? BINDING_NO_PFN : entry.pfn;
	if (vgpu_get_user_page_remote(vma->vm_mm, addr, FOLL_NOFAULT, &page, NULL) != 1)
		return BINDING_NO_PFN;
	put_page(page);
	return page_to_pfn(page);
}

/*
 * Check that a hypervisor can have each page of the first BINDING_AROUND bytes that is mapped
 * now. The first page alone does not tell: in an allocation with one reference count for all
 * pages, the first page has that count and looks like a single page (vgpu_kvm_takes_pfn()).
 */
static int touch_examine(const struct vgpu_touch *touch, struct vm_area_struct *vma, u64 addr)
{
	u64 end = min3(addr + BINDING_AROUND, touch->binding->addr + touch->binding->len,
		       (u64)vma->vm_end);
	unsigned long pfn;

	for (; touch->kvm && addr < end; addr += PAGE_SIZE) {
		pfn = touch_peek(vma, addr);
		if (pfn != BINDING_NO_PFN && !vgpu_kvm_takes_pfn(pfn))
			return -EOPNOTSUPP;
	}
	return 0;
}

static int touch_raw(struct vgpu_touch *touch, struct vm_area_struct *vma, u64 addr, bool ask)
{
	bool write = touch_writes(touch, vma);
	struct vgpu_entry entry;
	bool unlocked = false;
	int ret;

	ret = vgpu_follow_pfn(vma, addr, write, &entry);
	if (!ret) {
		touch->prot = entry.prot;
		*touch_own(touch) = entry.pfn;
		if (touch->probe)
			return touch_examine(touch, vma, addr);
		touch_look_around(touch, vma);
		touch_look_huge(touch, vma);
		return 0;
	}
	if (!ask)
		return -ENOENT;
	ret = fixup_user_fault(vma->vm_mm, addr, FAULT_FLAG_REMOTE | (write ? FAULT_FLAG_WRITE : 0),
			       &unlocked);
	return ret ?: -EAGAIN;
}

/*
 * Collect the ordinary pages around the touch's own that the shadow has. The driver is not
 * asked.
 */
static void touch_pages_around(struct vgpu_touch *touch, struct vm_area_struct *vma,
			       unsigned int flags)
{
	const struct vgpu_binding *binding = touch->binding;
	struct page *page;
	unsigned int i;

	for (i = 0; i < touch->nr; i++) {
		u64 offset = touch->first + ((u64)i << PAGE_SHIFT);
		u64 addr = binding_addr(binding, offset);

		if (offset < binding->offset || offset - binding->offset >= binding->len ||
		    addr < vma->vm_start || addr >= vma->vm_end ||
		    vgpu_get_user_page_remote(vma->vm_mm, addr, flags | FOLL_NOFAULT, &page,
					      NULL) != 1)
			continue;
		touch->pfns[i] = page_to_pfn(page);
		put_page(page);
	}
}

static int touch_page(struct vgpu_touch *touch, struct vm_area_struct *vma, u64 addr, bool ask,
		      int *locked)
{
	unsigned int flags = touch_writes(touch, vma) ? FOLL_WRITE : 0;
	struct mm_struct *mm = vma->vm_mm;
	struct page *page;
	long ret;

	touch->prot = vma->vm_page_prot;
	if (ask)
		ret = vgpu_get_user_page_remote(mm, addr, flags, &page, locked);
	else
		ret = vgpu_get_user_page_remote(mm, addr, flags | FOLL_NOFAULT, &page, NULL);
	if (ret != 1)
		return ret ?: -EAGAIN;
	*touch_own(touch) = page_to_pfn(page);
	/*
	 * The notifier is called when the page changes. A reference would keep the page from
	 * moving.
	 */
	put_page(page);
	if (!touch->probe) {
		/* The VMA may be gone if the lock was dropped. */
		if (*locked)
			touch_pages_around(touch, vma, flags);
		return 0;
	}
	/* The page is examined at the next try, if the lock was dropped. */
	return *locked ? touch_examine(touch, vma, addr) : -EAGAIN;
}

/*
 * Find the page that the shadow has at the address. If there is none and @ask is true, ask the
 * driver. Context: the mmap lock is held; *@locked is 0 afterwards if it was dropped.
 * Return: as touch_once().
 */
static int touch_find_page(struct vgpu_touch *touch, struct mm_struct *mm, bool ask, int *locked)
{
	struct vgpu_binding *binding = touch->binding;
	u64 addr = binding_addr(binding, touch->offset);
	struct vm_area_struct *vma;

	touch->writable = READ_ONCE(binding->writable);
	memset64((u64 *)touch->pfns, BINDING_NO_PFN, touch->nr);
	touch->huge = BINDING_NO_PFN;
	vma = vma_lookup(mm, addr);
	if (!vma || !binding_shows(binding, vma, addr))
		return -EFAULT;
	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return touch_raw(touch, vma, addr, ask);
	return touch_page(touch, vma, addr, ask, locked);
}

/* Resolve the page once. Return: 0, -EAGAIN (look again), or why there is no page. */
static int touch_once(struct vgpu_touch *touch, struct mm_struct *mm)
{
	struct vgpu_binding *binding = touch->binding;
	int locked = 1;
	int ret;

	touch->seq = mmu_interval_read_begin(&binding->notifier);
	WRITE_ONCE(binding->seq, touch->seq);
	mmap_read_lock(mm);
	ret = touch_find_page(touch, mm, true, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return ret;
}

/*
 * Look for the page in the shadow's page tables from the faulting thread itself. The driver is
 * not asked, and nothing is waited for. So a program that accesses a mapping in order, and whose
 * next pages are prepared, needs no worker; it would wait for one as long as other tasks have
 * the worker's processor. The sequence is the one that a worker has read last, if nothing has
 * changed since.
 * Return: true if the page is found.
 */
static bool touch_at_once(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct mm_struct *mm = binding->mm;
	bool found = false;
	int locked = 1;

	touch->seq = READ_ONCE(binding->seq);
	if (mmu_interval_check_retry(&binding->notifier, touch->seq) || !mmget_not_zero(mm))
		return false;
	if (mmap_read_trylock(mm)) {
		found = !touch_find_page(touch, mm, false, &locked);
		mmap_read_unlock(mm);
	}
	mmput_async(mm);
	return found;
}

static int touch_resolve(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct mm_struct *mm = binding->mm;
	unsigned int tries = 0;
	int ret = -EAGAIN;

	if (!mmget_not_zero(mm))
		return -EFAULT;
	while (ret == -EAGAIN && !READ_ONCE(binding->gone)) {
		if (++tries > BINDING_TRIES) {
			if (time_after(jiffies, touch->deadline))
				break;
			usleep_range(500, 1000);
		}
		ret = touch_once(touch, mm);
	}
	/* The last user of an mm frees the mm, which may have to wait for much. */
	mmput_async(mm);
	return ret;
}

/* --- preparations --------------------------------------------------------- */

/*
 * Check whether the driver wants to be notified of first writes. Its pages are not prepared, as
 * the driver shall be notified of a program's writes only.
 */
static bool ahead_is_heard(const struct vgpu_binding *binding, const struct vm_area_struct *vma)
{
	return binding->writable && vma->vm_ops &&
	       (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite);
}

/*
 * Have the driver insert the page at @addr into the shadow's page tables, if it is not there.
 * Return: as ahead_page().
 */
static u64 ahead_fault(const struct vgpu_binding *binding, struct vm_area_struct *vma, u64 addr,
		       int *locked)
{
	struct mm_struct *mm = vma->vm_mm;
	struct vgpu_entry entry;
	bool unlocked = false;
	struct page *page;

	if (vma->vm_flags & (VM_IO | VM_PFNMAP)) {
		if (!vgpu_follow_pfn(vma, addr, binding->writable, &entry))
			return entry.huge ? PMD_SIZE - addr % PMD_SIZE : PAGE_SIZE;
		return fixup_user_fault(mm, addr, FAULT_FLAG_REMOTE |
					(binding->writable ? FAULT_FLAG_WRITE : 0), &unlocked) ?
			0 : PAGE_SIZE;
	}
	if (vgpu_get_user_page_remote(mm, addr, binding->writable ? FOLL_WRITE : 0, &page,
				      locked) != 1)
		return 0;
	put_page(page);
	return PAGE_SIZE;
}

/*
 * Prepare the page at @addr. Return: number of bytes that are mapped from @addr on; 0: the
 * preparation ends here.
 */
static u64 ahead_page(const struct vgpu_binding *binding, struct mm_struct *mm, u64 addr)
{
	struct vm_area_struct *vma;
	int locked = 1;
	u64 got = 0;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, addr);
	if (vma && binding_shows(binding, vma, addr) && !ahead_is_heard(binding, vma))
		got = ahead_fault(binding, vma, addr, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return got;
}

static void ahead_work(struct work_struct *work)
{
	struct vgpu_binding *binding = container_of(work, struct vgpu_binding, ahead_work);
	unsigned long late = jiffies + BINDING_AHEAD_TIME;
	struct vgpu_window *window = binding->window;
	struct mm_struct *mm = binding->mm;
	u64 offset, got;

	if (mmget_not_zero(mm)) {
		/* No other thread changes the range until @ahead_busy is false. */
		for (offset = binding->ahead; offset < binding->ahead_end; offset += got) {
			if (READ_ONCE(binding->gone) || time_after(jiffies, late))
				break;
			got = ahead_page(binding, mm, binding_addr(binding, offset));
			if (!got)
				break;
		}
		mmput_async(mm);
	}
	mutex_lock(&window->lock);
	binding->ahead_busy = false;
	window->nr_ahead--;
	complete_all(&binding->ahead_over);
	mutex_unlock(&window->lock);
	vgpu_binding_put(binding);
}

/*
 * Wait killably for a preparation that is under way and covers @offset, no longer than a
 * preparation may take.
 */
static void ahead_wait(struct vgpu_binding *binding, u64 offset)
{
	struct vgpu_window *window = binding->window;
	bool busy;

	mutex_lock(&window->lock);
	busy = binding->ahead_busy && offset >= binding->ahead && offset < binding->ahead_end;
	mutex_unlock(&window->lock);
	if (busy)
		wait_for_completion_killable_timeout(&binding->ahead_over, BINDING_AHEAD_TIME);
}

/*
 * Continue read-ahead: the pages from @touch to @next were inserted. If the touch began where
 * the last one ended, the program goes on in order, and the bytes from @next on are prepared,
 * up to the next 2 MiB of the window. So steps of 2 MiB begin where a PMD mapping may begin.
 */
static void ahead_start(struct vgpu_binding *binding, const struct vgpu_touch *touch, u64 next)
{
	struct vgpu_window *window = binding->window;
	u64 end;

	lockdep_assert_held(&window->lock);
	if (touch->offset != binding->next || touch->slow)
		binding->step = 0;
	else
		binding->step = clamp_t(u64, 2 * binding->step, BINDING_AROUND,
					BINDING_AHEAD_MAX);
	binding->next = next;
	end = min3(next + binding->step, round_down(next, PMD_SIZE) + PMD_SIZE,
		   binding->offset + binding->len);
	if (next >= end || binding->ahead_busy || binding->gone ||
	    window->nr_ahead >= BINDING_AHEAD_WORKERS)
		return;
	binding->ahead = next;
	binding->ahead_end = end;
	binding->ahead_busy = true;
	window->nr_ahead++;
	reinit_completion(&binding->ahead_over);
	/* The worker holds this reference. */
	vgpu_binding_get(binding);
	queue_work(window->wq, &binding->ahead_work);
}

/* --- touches: waiting for them -------------------------------------------- */

/* Publish the result @ret of a touch that began at @start. Consumes a reference of the touch. */
static void touch_over(struct vgpu_touch *touch, unsigned long start, int ret)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpu_window *window = binding->window;
	bool unlist;

	mutex_lock(&window->lock);
	touch->slow = time_after(jiffies, start + BINDING_AHEAD_TIME);
	window->nr_left -= touch->left;
	touch->left = false;
	touch->error = ret;
	touch->done = true;
	touch->done_at = jiffies;
	/* No fault will use the result. */
	unlist = touch->late || touch->covered || binding->gone;
	if (unlist)
		list_del_init(&touch->node);
	/* The lock is held, as the touch may begin anew after that. */
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	atomic64_inc(&window->resolved);
	if (unlist)
		touch_put(touch);
	touch_put(touch);
}

static void touch_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	unsigned long start = jiffies;
	int ret;

	ret = touch_resolve(touch);
	touch_over(touch, start, ret);
	vgpu_binding_put(binding);
}

static struct vgpu_touch *touch_find(struct vgpu_binding *binding, u64 offset)
{
	struct vgpu_touch *touch;

	lockdep_assert_held(&binding->window->lock);
	list_for_each_entry(touch, &binding->touches, node)
		if (touch->offset == offset)
			return touch;
	return NULL;
}

/* Queue the worker of a touch, unless too many are stuck. */
static void touch_queue(struct vgpu_touch *touch)
{
	struct vgpu_window *window = touch->binding->window;

	lockdep_assert_held(&window->lock);
	if (window->nr_left < BINDING_LEFT_MAX) {
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(touch->binding);
		queue_work(window->wq, &touch->work);
	} else {
		/* Another fault that waited for the touch may have been killed meanwhile. */
		window->nr_left -= touch->left;
		touch->left = false;
		touch->done = true;
		touch->done_at = jiffies;
		touch->error = -EBUSY;
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

/* Allocate a touch of @offset that looks at @nr pages from @first on. It is in no list yet. */
static struct vgpu_touch *touch_alloc(struct vgpu_binding *binding, u64 offset, u64 first,
				      unsigned int nr, unsigned long time, work_func_t work)
{
	struct vgpu_touch *touch;

	touch = kzalloc(struct_size(touch, pfns, nr), GFP_KERNEL);
	if (!touch)
		return NULL;
	kref_init(&touch->ref);
	INIT_WORK(&touch->work, work);
	init_completion(&touch->over);
	touch->binding = binding;
	touch->writable = READ_ONCE(binding->writable);
	touch->offset = offset;
	touch->first = first;
	touch->nr = nr;
	touch->deadline = jiffies + time;
	return touch;
}

/*
 * Choose the pages that are looked at with @offset: @nr is their number.
 * Return: offset of the first one.
 */
static u64 touch_range(struct vgpu_binding *binding, u64 offset, unsigned int *nr)
{
	lockdep_assert_held(&binding->window->lock);
	if (offset == binding->next && binding->step) {
		*nr = binding->step >> PAGE_SHIFT;
		return offset;
	}
	*nr = BINDING_AROUND >> PAGE_SHIFT;
	return round_down(offset, BINDING_AROUND);
}

/*
 * Find or make a touch of the page. A new one (*@new_one is true) has to be resolved by the
 * caller.
 * Return: the touch with a reference and this thread among its waiters, or NULL.
 */
static struct vgpu_touch *touch_get(struct vgpu_binding *binding, u64 offset, bool *new_one)
{
	struct vgpu_window *window = binding->window;
	struct vgpu_touch *touch, *new;
	unsigned int nr;
	u64 first;

	mutex_lock(&window->lock);
	first = touch_range(binding, offset, &nr);
	mutex_unlock(&window->lock);
	new = touch_alloc(binding, offset, first, nr, VGPU_WINDOW_TIMEOUT, touch_work);
	if (!new)
		return NULL;
	mutex_lock(&window->lock);
	touch = touch_find(binding, offset);
	*new_one = !touch && !binding->gone;
	if (*new_one) {
		touch = new;
		new = NULL;
		list_add(&touch->node, &binding->touches);
	}
	if (touch) {
		kref_get(&touch->ref);
		touch->waiters++;
	}
	mutex_unlock(&window->lock);
	kfree(new);
	return touch;
}

/* Resolve a new touch, from the page tables if the page was prepared, else by a worker. */
static void touch_begin(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpu_window *window = binding->window;

	ahead_wait(binding, touch->offset);
	if (touch_at_once(touch)) {
		kref_get(&touch->ref);
		touch_over(touch, jiffies, 0);
		return;
	}
	mutex_lock(&window->lock);
	touch_queue(touch);
	mutex_unlock(&window->lock);
}

int vgpu_binding_resolve(struct vgpu_binding *binding, u64 offset, unsigned long timeout)
{
	struct vgpu_window *window = binding->window;
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
	touch->waiters--;
	if (ret <= 0 && !touch->done && !touch->waiters) {
		window->nr_left += !touch->left;
		touch->left = true;
	}
	if (!ret && !touch->done) {
		touch->late = true;
		atomic64_inc(&window->timeouts);
	}
	mutex_unlock(&window->lock);
	touch_put(touch);
	/*
	 * The next fault tries again after this pause, if it does not get the window's own page
	 * (vgpu_binding_insert_locked()).
	 */
	if (busy)
		schedule_timeout_killable(HZ / 50);
	return ret < 0 ? -EINTR : 0;
}

/* --- probes --------------------------------------------------------------- */

/*
 * Find the entry of window->probes that is @mm, or a free one if @mm is NULL.
 * Return: the entry, or NULL.
 */
static struct mm_struct **probe_find(struct vgpu_window *window, const struct mm_struct *mm)
{
	unsigned int i;

	lockdep_assert_held(&window->lock);
	for (i = 0; i < VGPU_WINDOW_PROBES; i++)
		if (window->probes[i] == mm)
			return &window->probes[i];
	return NULL;
}

static void probe_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	struct vgpu_window *window = binding->window;
	int ret;

	ret = touch_resolve(touch);
	mutex_lock(&window->lock);
	touch->error = ret;
	touch->done = true;
	*probe_find(window, binding->mm) = NULL;
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	touch_put(touch);
	vgpu_binding_put(binding);
}

/*
 * Start a probe, unless a driver is stuck with another one of the same shadow. So a program is
 * delayed once, and a guest with many programs keeps few workers. Return: true if it was
 * started.
 */
static bool probe_start(struct vgpu_touch *touch)
{
	struct vgpu_binding *binding = touch->binding;
	struct vgpu_window *window = binding->window;
	struct mm_struct **place = NULL;

	mutex_lock(&window->lock);
	if (!probe_find(window, binding->mm))
		place = probe_find(window, NULL);
	if (place) {
		*place = binding->mm;
		touch->probe = true;
		/* A guest in this kernel can be shown any page. */
		touch->kvm = window->mapped;
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(binding);
		queue_work(window->wq, &touch->work);
	}
	mutex_unlock(&window->lock);
	return place;
}

int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time)
{
	struct vgpu_window *window = binding->window;
	struct vgpu_touch *touch;
	int ret;

	time = min(time, msecs_to_jiffies(binding->peer->agent->fetch_timeout_ms) / 2);
	touch = touch_alloc(binding, binding->offset, binding->offset, 1, time, probe_work);
	if (touch && probe_start(touch))
		wait_for_completion_interruptible_timeout(&touch->over, time);
	mutex_lock(&window->lock);
	/* A driver that refuses now, or is slow, may provide the page when a program wants it. */
	ret = touch && touch->done ? touch->error : -EAGAIN;
	if (!ret)
		binding->prot = touch->prot;
	ret = ret == -EEXIST || ret == -EOPNOTSUPP ? -EOPNOTSUPP : 0;
	/* The guest did not know of the binding when it ended, so the reply has to say so. */
	if (window->gone || window->id != binding->window_id)
		ret = -ENODEV;
	else if (binding->gone)
		ret = -EBUSY;
	mutex_unlock(&window->lock);
	if (touch)
		touch_put(touch);
	return ret;
}

/* --- insertion into page tables ------------------------------------------- */

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
		    (touch->huge == BINDING_NO_PFN &&
		     touch_pfn(touch, other->offset) == BINDING_NO_PFN))
			continue;
		if (!other->done) {
			other->covered = true;
			continue;
		}
		list_del(&other->node);
		touch_put(other);
	}
}

/* Drop a touch whose result was used. */
static void touch_end(struct vgpu_touch *touch)
{
	list_del(&touch->node);
	touch_put(touch);
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
	end = min3(end, touch_last(touch), touch->offset + (high - addr) + 1);
	for (offset = first; offset < end; offset += PAGE_SIZE) {
		unsigned long pfn = touch_pfn(touch, offset);

		if (offset == touch->offset || pfn == BINDING_NO_PFN)
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
	unsigned long pfn = *touch_own(touch);
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
		ahead_start(binding, touch, touch_insert_around(touch, vmf, first, end, local));
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
	touch = touch_find(binding, offset);
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
		touch_again(touch);
		return VM_FAULT_RETRY;
	}
	ret = stale ? VM_FAULT_SIGBUS : touch_insert(touch, vmf, first, end, local);
	touch_end(touch);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
vm_fault_t vgpu_binding_insert_huge_locked(struct vgpu_binding *binding, struct vm_fault *vmf,
					   u64 offset, bool local)
{
	u64 first = round_down(offset, PMD_SIZE);
	struct vgpu_touch *touch;
	vm_fault_t ret;

	/* Only a finished touch with known 2 MiB is used; else the single-page fault follows. */
	touch = touch_find(binding, offset);
	if (!touch || !touch->done || touch->error || touch->huge == BINDING_NO_PFN ||
	    touch_is_stale(touch) || (!local && !touch->huge_kvm))
		return VM_FAULT_FALLBACK;
	/* A write that the binding does not allow is left to the single-page fault, too. */
	if (!binding->writable && (local ? vmf->vma->vm_flags & VM_WRITE :
					   vmf->flags & FAULT_FLAG_WRITE))
		return VM_FAULT_FALLBACK;
	ret = vgpu_insert_huge(vmf, touch->huge, binding->writable, touch->prot);
	if (ret != VM_FAULT_NOPAGE)
		return VM_FAULT_FALLBACK;
	atomic64_inc(&binding->window->huge);
	touch_cover(touch, first, first + PMD_SIZE);
	ahead_start(binding, touch, first + PMD_SIZE);
	touch_end(touch);
	return VM_FAULT_NOPAGE;
}
#endif

void vgpu_binding_fail(struct vgpu_binding *binding, u64 offset, u64 len)
{
	struct vgpu_peer *peer = binding->peer;
	unsigned long flags;

	spin_lock_irqsave(&peer->events_lock, flags);
	if (binding->bad_first == binding->bad_end) {
		binding->bad_first = offset;
		binding->bad_end = offset + len;
	} else {
		binding->bad_first = min(binding->bad_first, offset);
		binding->bad_end = max(binding->bad_end, offset + len);
	}
	if (list_empty(&binding->bad_node)) {
		vgpu_binding_get(binding);
		list_add_tail(&binding->bad_node, &peer->bad_bindings);
	}
	spin_unlock_irqrestore(&peer->events_lock, flags);
	vgpu_control_kick(peer);
}

/* --- the window's bindings, by offset ------------------------------------- */

/* Find the first binding that ends after @offset. Return: the binding, or NULL. */
static struct vgpu_binding *binding_first(struct vgpu_window *window, u64 offset)
{
	struct rb_node *node = window->bindings.rb_node;
	struct vgpu_binding *found = NULL;

	lockdep_assert_held(&window->lock);
	while (node) {
		struct vgpu_binding *binding = rb_entry(node, struct vgpu_binding, node);

		if (binding->offset + binding->len > offset) {
			found = binding;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

struct vgpu_binding *vgpu_binding_find_locked(struct vgpu_window *window, u64 offset)
{
	struct vgpu_binding *binding = binding_first(window, offset);

	if (!binding || binding->offset > offset || binding->gone ||
	    binding->window_id != window->id)
		return NULL;
	return binding;
}

/*
 * Remember a range that the guest has given back. A slow call that was made before may still
 * ask for that range, which the guest would then never give back. The last ranges are
 * remembered; a call that is older than all of them binds nothing.
 */
void vgpu_binding_refuse(struct vgpu_peer *peer, const struct vgpu_unbind *unbind)
{
	struct vgpu_unbind *oldest;

	spin_lock(&peer->unbinds_lock);
	oldest = &peer->unbinds[peer->nr_unbinds++ % VGPU_PEER_UNBINDS];
	peer->unbinds_gone = oldest->seq;
	*oldest = *unbind;
	spin_unlock(&peer->unbinds_lock);
}

static bool binding_is_refused(const struct vgpu_binding *binding, u64 seq)
{
	struct vgpu_peer *peer = binding->peer;
	unsigned int i;
	bool refused;

	spin_lock(&peer->unbinds_lock);
	refused = seq < peer->unbinds_gone;
	for (i = 0; i < VGPU_PEER_UNBINDS; i++) {
		const struct vgpu_unbind *unbind = &peer->unbinds[i];

		if (unbind->seq > seq && unbind->window == binding->window_id &&
		    unbind->offset < binding->offset + binding->len &&
		    binding->offset < unbind->offset + unbind->len)
			refused = true;
	}
	spin_unlock(&peer->unbinds_lock);
	return refused;
}

/*
 * Publish the binding in the window's tree. Return: 0; -ENODEV: the window is not, or will not
 * be, the peer's; -EBUSY: the range is not free.
 */
static int binding_list(struct vgpu_binding *binding, u64 seq)
{
	struct vgpu_window *window = binding->window;
	struct rb_node **link = &window->bindings.rb_node, *parent = NULL;
	struct vgpu_binding *other;
	int ret = 0;

	mutex_lock(&window->lock);
	/*
	 * peer->closing is set before all bindings of the peer are ended under window->lock. So
	 * this binding is either refused here or ended with the others.
	 */
	if (window->gone || window->drain || window->id != binding->window_id ||
	    READ_ONCE(binding->peer->closing))
		ret = -ENODEV;
	other = binding_first(window, binding->offset);
	if (!ret && other && other->offset < binding->offset + binding->len)
		ret = -EBUSY;
	/* An UNBIND that comes later finds the binding listed: see vgpu_offer_unbind(). */
	if (!ret && binding_is_refused(binding, seq))
		ret = -EBUSY;
	if (ret)
		goto out_unlock;
	while (*link) {
		parent = *link;
		if (binding->offset < rb_entry(parent, struct vgpu_binding, node)->offset)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&binding->node, parent, link);
	rb_insert_color(&binding->node, &window->bindings);
	window->nr_bindings++;
	atomic64_add(binding->len, &window->bound_bytes);
	binding->listed = true;
	/* The tree holds this reference: another thread may find and end the binding at once. */
	vgpu_binding_get(binding);
out_unlock:
	mutex_unlock(&window->lock);
	return ret;
}

/*
 * Take the next binding that has ended off the window's list.
 * Return: the binding with the tree's reference, or NULL.
 */
static struct vgpu_binding *binding_next_ended(struct vgpu_window *window)
{
	struct vgpu_binding *binding;

	mutex_lock(&window->lock);
	binding = list_first_entry_or_null(&window->ended, struct vgpu_binding, ended_node);
	if (binding)
		list_del(&binding->ended_node);
	mutex_unlock(&window->lock);
	return binding;
}

/*
 * Unregister the notifiers of bindings that have ended, one after another. Each removal waits
 * for tasks that are changing the shadow's page tables at that moment. Such a task may wait for
 * locks of those who end bindings, or may be stuck in a driver's notifier. So a window has one
 * such work item, on its own workqueue: its guest keeps one worker however many bindings it
 * ends, and no other guest waits.
 *
 * Lifetimes: a binding in the list has the tree's reference and holds the window. The work item
 * has a reference of the window each time it is queued, so the reference of the last binding is
 * never the window's last one. The work item's own may be: then other work, which waits until
 * this function has returned, destroys the window's workqueue. The module's exit waits until
 * all windows are freed.
 */
void vgpu_binding_end_work(struct work_struct *work)
{
	struct vgpu_window *window = container_of(work, struct vgpu_window, end_work);
	struct vgpu_binding *binding;

	while ((binding = binding_next_ended(window))) {
		mmu_interval_notifier_remove(&binding->notifier);
		vgpu_binding_put(binding);
		cond_resched();
	}
	vgpu_window_put(window);
}

struct vgpu_binding *vgpu_binding_make(struct vgpu_peer *peer, u64 id, u64 offset,
				       const struct vgpu_binding_place *place)
{
	struct vgpu_window *window = vgpu_window_find(peer);
	struct vgpu_binding *binding;
	int ret = -ENODEV;

	if (!window)
		return ERR_PTR(-ENODEV);
	if (offset >= window->size || place->len > window->size - offset)
		goto err_window;
	ret = -ENOMEM;
	binding = kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	if (!binding)
		goto err_window;
	kref_init(&binding->ref);
	binding->window = window;
	binding->window_id = id;
	vgpu_peer_get(peer);
	binding->peer = peer;
	/* A worker may use the mm after the notifier has dropped its reference. */
	mmgrab(current->mm);
	binding->mm = current->mm;
	binding->offset = offset;
	binding->addr = place->addr;
	binding->len = place->len;
	binding->pgoff = place->pgoff;
	binding->file = place->file;
	binding->writable = place->writable;
	binding->prot = place->prot;
	binding->users = 1;
	INIT_LIST_HEAD(&binding->touches);
	INIT_LIST_HEAD(&binding->bad_node);
	INIT_WORK(&binding->ahead_work, ahead_work);
	init_completion(&binding->ahead_over);
	ret = mmu_interval_notifier_insert(&binding->notifier, binding->mm, binding->addr,
					   binding->len, &binding_notifier_ops);
	if (ret)
		goto err_binding;
	ret = binding_list(binding, place->seq);
	if (ret)
		goto err_notifier;
	/* Zap what was shown in the range before it was bound. */
	vgpu_window_zap(window, binding->offset, binding->len);
	return binding;

err_notifier:
	mmu_interval_notifier_remove(&binding->notifier);
err_binding:
	vgpu_binding_put(binding);
	return ERR_PTR(ret);
err_window:
	vgpu_window_put(window);
	return ERR_PTR(ret);
}

void vgpu_binding_end(struct vgpu_binding *binding, bool tell)
{
	struct vgpu_window *window = binding->window;
	bool last;

	mutex_lock(&window->lock);
	binding->gone = true;
	mutex_unlock(&window->lock);
	/* A second caller zaps as well: for both nothing is shown after the return. */
	vgpu_window_zap(window, binding->offset, binding->len);
	mutex_lock(&window->lock);
	last = binding->listed;
	if (last) {
		rb_erase(&binding->node, &window->bindings);
		window->nr_bindings--;
		atomic64_sub(binding->len, &window->bound_bytes);
		binding->listed = false;
		/* The tree's reference moves to the list. */
		list_add_tail(&binding->ended_node, &window->ended);
	}
	mutex_unlock(&window->lock);
	if (!last)
		return;
	if (tell)
		vgpu_binding_fail(binding, binding->offset, binding->len);
	/* The work item holds this reference of the window and puts it when it has run. */
	vgpu_window_get(window);
	if (!queue_work(window->wq, &window->end_work))
		vgpu_window_put(window);
}

void vgpu_binding_widen(struct vgpu_binding *binding)
{
	struct vgpu_window *window = binding->window;
	bool changed;

	mutex_lock(&window->lock);
	changed = !binding->writable && !binding->gone;
	if (changed)
		WRITE_ONCE(binding->writable, true);
	mutex_unlock(&window->lock);
	/* The driver was asked for reading until now. */
	if (changed)
		vgpu_window_zap(window, binding->offset, binding->len);
}

void vgpu_binding_end_range(struct vgpu_window *window, const struct vgpu_peer *peer, u64 id,
			    u64 offset, u64 len, bool tell)
{
	u64 end = offset + len;
	struct vgpu_binding *binding;

	while (offset < end) {
		mutex_lock(&window->lock);
		binding = binding_first(window, offset);
		if (binding && binding->offset >= end)
			binding = NULL;
		if (binding)
			vgpu_binding_get(binding);
		mutex_unlock(&window->lock);
		if (!binding)
			return;
		offset = binding->offset + binding->len;
		if ((!peer || binding->peer == peer) && (!id || binding->window_id == id))
			vgpu_binding_end(binding, tell);
		vgpu_binding_put(binding);
	}
}
