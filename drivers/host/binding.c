// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bindings: ranges of a window that show ranges of a shadow's mappings.
 *
 * A page is found in two steps. Without locks, a worker reads the notifier's
 * sequence and asks the driver for the page, in the shadow's mm: a *touch*. Then,
 * under window->lock, whoever faulted puts it into its page tables, unless the
 * notifier was called since: its callback changes the sequence under that lock
 * before it takes away what is in page tables, so what is put in later is from
 * after it. A touch is used once.
 *
 * What the shadow's page tables have around the page is found in the same step, and is put
 * in with it, under the same sequence: it is that of the whole binding. Where 2 MiB lie in
 * one piece, they become one entry, if what faulted can have one.
 *
 * A program that goes through a mapping in order would need a touch for each page, where the
 * driver gives single ones. So each time that it goes on where the last touch ended, another
 * worker asks the driver for what comes next: twice as much as before, up to 2 MiB. Such a
 * *preparation* changes nothing but page tables of the shadow, where the next touch finds the
 * pages as it finds any neighbours.
 *
 * What a window cannot show is better found before a guest has written to it: so the first touch
 * of a binding, its *probe*, is the host's own, and puts nothing anywhere.
 *
 * A worker may be stuck in a driver for ever; everything but its own reference to
 * the binding ends without it.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "fault.h"
#include "window.h"

/* Workers of one window that are in drivers and for which nobody waits any more. */
#define BINDING_LEFT_MAX	64
/* How long what was found means something to those who did not wait for it. */
#define BINDING_AGE		HZ
/* What is looked at with a page: as much of a window as this, aligned. */
#define BINDING_AROUND		SZ_64K
/* A preparation has so many bytes at most: one page table shows as much. */
#define BINDING_AHEAD_MAX	PMD_SIZE
/* A preparation ends after this time, and a touch waits no longer for it. */
#define BINDING_AHEAD_TIME	max(HZ / 50, 1)
/* Preparations of one window at once: one that is stuck in a driver keeps its worker. */
#define BINDING_AHEAD_WORKERS	8
#define BINDING_NO_PFN		(~0UL)
/* How often a driver's handler may change nothing before there is a pause each time. */
#define BINDING_TRIES		4

/**
 * struct vgpu_touch - one page that is being resolved, or was, with those around it
 * @ref: the binding's list, its worker, and who waits
 * @node: in binding->touches, unless it is a probe; under window->lock like what follows
 * @work: resolves it; holds a reference of the binding
 * @binding: whose it is
 * @offset: in the window
 * @probe: only to know what the driver gives
 * @kvm: of a probe: there is a hypervisor that will want it
 * @deadline: when a driver that changes nothing is given up
 * @over: completed when @done is
 * @done: the rest is there
 * @done_at: since when
 * @late: a hypervisor waits no more for it
 * @left: whoever waited for it has left, and its worker is in the driver
 * @covered: another has brought the page meanwhile
 * @error: 0, or why there is no page; -EAGAIN: try again; -EEXIST: there is one, of which
 *	nothing can be known; -EOPNOTSUPP: of a probe: hypervisors cannot have it
 * @writable: the binding was when the driver was asked
 * @slow: the driver took longer than a preparation may, so none follows
 * @prot: cache attribute of the pages
 * @huge: the first page of the 2 MiB that @offset is in, which are in one piece and have one
 *	cache attribute, too; BINDING_NO_PFN: they are not
 * @huge_kvm: KVM takes these
 * @seq: of the notifier
 * @first: offset in the window of the first page that is looked at
 * @nr: number of pages that are looked at; @offset is in one of them
 * @pfns: numbers of these pages; BINDING_NO_PFN: not known
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

	/* No worker is left, nor anybody who waits. */
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

	/* The OOM killer looks for memory elsewhere; zapping sleeps. */
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

/* --- touches: the driver is asked ----------------------------------------- */

/* What is at the address is the mapping that was bound, and no other. */
static bool binding_shows(const struct vgpu_binding *binding, const struct vm_area_struct *vma,
			  u64 addr)
{
	pgoff_t pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);

	return vma->vm_file == binding->file &&
	       pgoff == binding->pgoff + ((addr - binding->addr) >> PAGE_SHIFT) &&
	       (vma->vm_flags & VM_SHARED) &&
	       (!binding->writable || (vma->vm_flags & VM_WRITE));
}

/* Where the page is, or will be. */
static unsigned long *touch_own(struct vgpu_touch *touch)
{
	return &touch->pfns[(touch->offset - touch->first) >> PAGE_SHIFT];
}

/* Behind the last page that is looked at. */
static u64 touch_last(const struct vgpu_touch *touch)
{
	return touch->first + ((u64)touch->nr << PAGE_SHIFT);
}

/* What it has found at @offset of the window, or BINDING_NO_PFN. */
static unsigned long touch_pfn(const struct vgpu_touch *touch, u64 offset)
{
	if (offset < touch->first || offset >= touch_last(touch))
		return BINDING_NO_PFN;
	return touch->pfns[(offset - touch->first) >> PAGE_SHIFT];
}

/* The page at @offset of the window, if it is there and as the touch's own is. */
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

/* How many pages the entry has from @offset on, as far as binding and VMA go. */
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

/* No driver is asked for these. */
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
		/* All of a large one is looked at once. */
		run = touch_run(touch, vma, offset, &entry);
		for (; run > 1 && i + 1 < touch->nr; run--)
			touch->pfns[++i] = ++entry.pfn;
	}
}

/* Many drivers put in single pages what is one piece of memory, so all of them are looked at. */
static void touch_look_huge(struct vgpu_touch *touch, struct vm_area_struct *vma)
{
#ifdef VGPU_HAVE_HUGE
	const struct vgpu_binding *binding = touch->binding;
	u64 first = round_down(touch->offset, PMD_SIZE), offset = first;
	unsigned long pfn = *touch_own(touch) - ((touch->offset - first) >> PAGE_SHIFT);
	struct vgpu_entry entry;

	/* One entry may have more than the binding has. */
	if (pfn % PTRS_PER_PMD || first < binding->offset ||
	    first + PMD_SIZE > binding->offset + binding->len)
		return;
	while (offset < first + PMD_SIZE) {
		if (touch_look(touch, vma, offset, &entry) ||
		    entry.pfn != pfn + ((offset - first) >> PAGE_SHIFT))
			return;
		/* Up to the end of the entry. */
		offset += entry.huge ? PMD_SIZE - binding_addr(binding, offset) % PMD_SIZE :
				       PAGE_SIZE;
	}
	touch->huge = pfn;
	touch->huge_kvm = vgpu_kvm_takes_huge(pfn);
#endif
}

/* For writing at once; but a probe leaves to the driver to hear of writes when there are some. */
static bool touch_writes(const struct vgpu_touch *touch, const struct vm_area_struct *vma)
{
	return touch->probe ? !(vma->vm_flags & VM_READ) : touch->writable;
}

/* The page that is at the address already, or BINDING_NO_PFN. */
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
 * Whether a hypervisor could have all that is there of the first pages now: of an allocation
 * that has one reference for all, the first page alone looks as any.
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

/* Ordinary pages that the shadow has: no driver is asked for these, either. */
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
	/* The notifier says when it is another; a reference would keep it from moving. */
	put_page(page);
	if (!touch->probe) {
		/* Where the lock was dropped the VMA may be gone. */
		if (*locked)
			touch_pages_around(touch, vma, flags);
		return 0;
	}
	/* The page is there next time. */
	return *locked ? touch_examine(touch, vma, addr) : -EAGAIN;
}

/*
 * What the shadow has at the address; the driver is asked if it has nothing, and @ask. Under the
 * mmap lock, which is gone where *@locked says so. Return: as touch_once().
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

/* Return: 0, -EAGAIN (look again), or why there is no page. */
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
 * Whoever faults looks by himself first, at what the shadow's page tables have already: no driver
 * is asked, and nothing is waited for. So a program that goes on in order, whose next pages have
 * been prepared, needs no worker, for which it would wait for as long as its processor is with
 * others. The sequence is the one that a worker has read last, if there was no change since.
 * Return: the page is found.
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
	/* The last user of an mm frees it, which may wait for much. */
	mmput_async(mm);
	return ret;
}

/* --- what comes next is prepared ------------------------------------------ */

/* A driver that wants to hear of first writes hears of those that there are. */
static bool ahead_is_heard(const struct vgpu_binding *binding, const struct vm_area_struct *vma)
{
	return binding->writable && vma->vm_ops &&
	       (vma->vm_ops->page_mkwrite || vma->vm_ops->pfn_mkwrite);
}

/*
 * Have the driver put the page at @addr into the shadow's page tables, if it is not there.
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

/* Return: how many bytes from @addr on are there; 0: what is behind it is not prepared, either. */
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
		/* Not written while there is a worker. */
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
 * A preparation that is under way and has @offset is waited for, killably, but no longer than it
 * may take.
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
 * The page of @touch has been put in, and all from there to @next. If the touch was made where the
 * one before ended, the program goes on in order, and what is behind @next is prepared, up to the
 * next 2 MiB of the window: so steps of 2 MiB begin where an entry of 2 MiB may.
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
	/* The worker's. */
	vgpu_binding_get(binding);
	queue_work(window->wq, &binding->ahead_work);
}

/* --- touches: who waits for them ------------------------------------------ */

/* It has been resolved since @start, or not: @ret. Takes over a reference. */
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
	/* Nobody comes for it. */
	unlist = touch->late || touch->covered || binding->gone;
	if (unlist)
		list_del_init(&touch->node);
	/* Under the lock, as it may begin anew then. */
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

/* Queue its worker, unless too many are stuck. */
static void touch_queue(struct vgpu_touch *touch)
{
	struct vgpu_window *window = touch->binding->window;

	lockdep_assert_held(&window->lock);
	if (window->nr_left < BINDING_LEFT_MAX) {
		/* The worker's. */
		kref_get(&touch->ref);
		vgpu_binding_get(touch->binding);
		queue_work(window->wq, &touch->work);
	} else {
		/* Another fault that waited for it may have been killed meanwhile. */
		window->nr_left -= touch->left;
		touch->left = false;
		touch->done = true;
		touch->done_at = jiffies;
		touch->error = -EBUSY;
		complete_all(&touch->over);
	}
}

/* Once more. */
static void touch_again(struct vgpu_touch *touch)
{
	touch->done = false;
	touch->covered = false;
	reinit_completion(&touch->over);
	touch_queue(touch);
}

/* A new one of @offset that nobody knows of, which looks at @nr pages from @first on. */
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

/* What of the window is looked at with @offset. Return: where that begins. */
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
 * A touch of the page, with a reference: that of another fault, or a new one, which the caller has
 * to have resolved (*@new_one).
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
	if (touch)
		kref_get(&touch->ref);
	mutex_unlock(&window->lock);
	kfree(new);
	return touch;
}

/* A new one: by a look at what is prepared, or by a worker. */
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
	/* Gone, or out of memory: the next look tells. */
	if (!touch)
		return schedule_timeout_killable(1) && fatal_signal_pending(current) ? -EINTR : 0;
	if (new_one)
		touch_begin(touch);
	ret = wait_for_completion_killable_timeout(&touch->over, timeout);
	mutex_lock(&window->lock);
	busy = touch->done && (touch->error == -EBUSY || touch->error == -EAGAIN);
	if (ret <= 0 && !touch->done) {
		window->nr_left += !touch->left;
		touch->left = true;
	}
	if (!ret && !touch->done) {
		touch->late = true;
		atomic64_inc(&window->timeouts);
	}
	mutex_unlock(&window->lock);
	touch_put(touch);
	/* Those who do not get a page without meaning come again. */
	if (busy)
		schedule_timeout_killable(HZ / 50);
	return ret < 0 ? -EINTR : 0;
}

/* --- probes --------------------------------------------------------------- */

/* Where @mm is in window->probes (NULL: where there is room), or NULL. */
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
 * While a driver is stuck with one of a shadow there is no other: so a program is delayed once, and
 * a guest with many programs keeps few workers. Return: there is one.
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
		/* A guest in this kernel is shown everything. */
		touch->kvm = window->mapped;
		/* The worker's. */
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
	/* A driver that refuses, or is slow, may be well when a program wants the page. */
	ret = touch && touch->done ? touch->error : -EAGAIN;
	if (!ret)
		binding->prot = touch->prot;
	ret = ret == -EEXIST || ret == -EOPNOTSUPP ? -EOPNOTSUPP : 0;
	/* The guest did not know of it when it ended, so it hears of that by the answer. */
	if (window->gone || window->id != binding->window_id)
		ret = -ENODEV;
	else if (binding->gone)
		ret = -EBUSY;
	mutex_unlock(&window->lock);
	if (touch)
		touch_put(touch);
	return ret;
}

/* --- into page tables ----------------------------------------------------- */

static pgprot_t binding_prot(const struct vgpu_binding *binding, const struct vm_area_struct *vma)
{
	unsigned long flags = vma->vm_flags;

	/* Writable at once: KVM does not come again for a page that it can read. */
	return vm_get_page_prot(binding->writable ? flags : flags & ~VM_WRITE);
}

/* Whoever waited for it has not come. */
static bool touch_is_old(const struct vgpu_touch *touch)
{
	return time_after(jiffies, touch->done_at + BINDING_AGE);
}

/* What it found is not so any more. */
static bool touch_is_stale(const struct vgpu_touch *touch)
{
	/* PROTECT came since: the driver was asked for pages to read, which change no sequence. */
	if (touch->writable != touch->binding->writable)
		return true;
	if (touch->error == -EAGAIN || touch->error == -EBUSY)
		return true;
	/* Whoever waited may have been killed, and the driver be well again. */
	if (touch->error && touch_is_old(touch))
		return true;
	return mmu_interval_read_retry(&touch->binding->notifier, touch->seq);
}

/*
 * Page tables have got [first, end) by @touch, as far as it knows that. Whoever waits for one of
 * these pages finds it there, and does not come for its touch: that would be an old one for
 * the next fault of the page.
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

/* It is used. */
static void touch_end(struct vgpu_touch *touch)
{
	list_del(&touch->node);
	touch_put(touch);
}

/*
 * What was found with the page that was put in, as far as the same table of the VMA has it.
 * Return: the end of what is there without a gap.
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
	/* A hypervisor's VMA finds out when it writes: see window_pfn_mkwrite(). */
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

	/* Another's fault has brought all of it since this one began. */
	if (vgpu_fault_is_huge(vmf))
		return VM_FAULT_NOPAGE;
	touch = touch_find(binding, offset);
	if (!touch)
		return VM_FAULT_RETRY;
	/* A stuck driver keeps one worker a page, and no hypervisor twice. */
	if (!touch->done)
		return touch->late && !local ? VM_FAULT_SIGBUS : VM_FAULT_RETRY;
	stale = touch_is_stale(touch);
	/* Nobody has come for it: its deadline was that of another fault. */
	old = touch_is_old(touch);
	if (stale && old)
		touch->deadline = jiffies + VGPU_WINDOW_TIMEOUT;
	if (stale && (local || old ||
		      (touch->error != -EBUSY && time_before(jiffies, touch->deadline)))) {
		/* Memory that moves is looked at page by page, as that is done sooner. */
		touch->first = touch->offset;
		touch->nr = 1;
		/* With its deadline: a driver that moves memory for ever delays nobody for ever. */
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

	/* What is nothing, or has to be looked for, is found by the fault for a page. */
	touch = touch_find(binding, offset);
	if (!touch || !touch->done || touch->error || touch->huge == BINDING_NO_PFN ||
	    touch_is_stale(touch) || (!local && !touch->huge_kvm))
		return VM_FAULT_FALLBACK;
	/* And so is who may write there. */
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

/* First binding that ends after @offset. */
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
 * A call that has taken long may want a range that its guest has given back since, and would
 * never give back again. What was given back lately is remembered; a call that is older than
 * all of that gets nothing.
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

/* Return: 0, -ENODEV (it is not, or will not be, the peer's), -EBUSY (the place is not free). */
static int binding_list(struct vgpu_binding *binding, u64 seq)
{
	struct vgpu_window *window = binding->window;
	struct rb_node **link = &window->bindings.rb_node, *parent = NULL;
	struct vgpu_binding *other;
	int ret = 0;

	mutex_lock(&window->lock);
	/* Set before all of the peer's are ended, so this one is among them, or is not. */
	if (window->gone || window->drain || window->id != binding->window_id ||
	    READ_ONCE(binding->peer->closing))
		ret = -ENODEV;
	other = binding_first(window, binding->offset);
	if (!ret && other && other->offset < binding->offset + binding->len)
		ret = -EBUSY;
	/* One that comes later finds it listed: see vgpu_offer_unbind(). */
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
	/* The tree's: whoever finds it may end it at once. */
	vgpu_binding_get(binding);
out_unlock:
	mutex_unlock(&window->lock);
	return ret;
}

/* The next of those that have ended, with the tree's reference, or NULL. */
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
 * Unregisters the notifiers of bindings that have ended, one after another. Each of these waits for
 * whoever takes something out of the shadow's page tables just then, which may be a task that waits
 * for locks of those who end bindings, or a driver's notifier that is stuck. So a window has one
 * such work item, on its own workqueue: its guest keeps one worker, however many bindings it ends,
 * and no other guest waits for that.
 *
 * Lifetimes: a binding in the list has the tree's reference, and holds the window by that. The work
 * has a reference of the window each time that it is queued, so the last binding's is not the last.
 * The work's own may be: then the window's workqueue is destroyed by other work, which waits until
 * this function has returned. The module's end waits for all windows to be freed.
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
	u64 end;

	if (!window)
		return ERR_PTR(-ENODEV);
	end = peer->wire.features & VGPU_FEATURE_ARENA ? vgpu_arena_start(window) : window->size;
	if (offset >= end || place->len > end - offset)
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
	/* The notifier's own reference ends before that of a worker. */
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
	/* What was seen there before it was bound. */
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
	/* Whoever comes second zaps, too: what this function promises holds for both. */
	vgpu_window_zap(window, binding->offset, binding->len);
	mutex_lock(&window->lock);
	last = binding->listed;
	if (last) {
		rb_erase(&binding->node, &window->bindings);
		window->nr_bindings--;
		atomic64_sub(binding->len, &window->bound_bytes);
		binding->listed = false;
		/* The tree's reference goes with it. */
		list_add_tail(&binding->ended_node, &window->ended);
	}
	mutex_unlock(&window->lock);
	if (!last)
		return;
	if (tell)
		vgpu_binding_fail(binding, binding->offset, binding->len);
	/* The work item has a reference of its own, which it puts when it has run. */
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
	/* The driver has been asked for pages to read so far. */
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
