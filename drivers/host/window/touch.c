// SPDX-License-Identifier: GPL-2.0-only
/*
 * Touches: asking the driver for a page of a binding. See touch.h.
 *
 * The worker also collects the pages that the shadow's page tables already have around the
 * page. The fault inserts them together with the page: the sequence is that of the whole
 * binding, so it is valid for all of them. If 2 MiB are physically contiguous, the fault
 * inserts one PMD mapping, where the faulting VMA can have one.
 *
 * A guest should not write to memory that the window cannot show. So the host itself makes the
 * first touch of a binding, its *probe*, which inserts nothing into the window.
 */
#include <linux/delay.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>

#include "compat.h"
#include "fault.h"
#include "peer/agent.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/touch.h"
#include "window/window.h"

/* Number of calls of a driver's handler without result before each further one is delayed. */
#define BINDING_TRIES		4

struct vgpu_touch *vgpu_touch_alloc(struct vgpu_binding *binding, u64 offset, u64 first,
				    unsigned int nr, unsigned long time, work_func_t work)
{
	struct vgpu_touch *touch;

	touch = kzalloc(struct_size(touch, pfns, nr), GFP_KERNEL_ACCOUNT);
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

struct vgpu_touch *vgpu_touch_find(struct vgpu_binding *binding, u64 offset)
{
	struct vgpu_touch *touch;

	lockdep_assert_held(&binding->window->lock);
	list_for_each_entry(touch, &binding->touches, node)
		if (touch->offset == offset)
			return touch;
	return NULL;
}

/* Find out what is mapped at the address already. The driver is not asked. */
static int touch_peek(struct vm_area_struct *vma, u64 addr, bool write, struct vgpu_entry *entry)
{
	unsigned int flags = FOLL_NOFAULT | (write ? FOLL_WRITE : 0);
	struct page *page;

	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return vgpu_follow_pfn(vma, addr, write, entry);
	if (vgpu_get_user_page_remote(vma->vm_mm, addr, flags, &page, NULL) != 1)
		return -ENOENT;
	entry->pfn = page_to_pfn(page);
	entry->prot = vma->vm_page_prot;
	entry->huge = false;
	put_page(page);
	return 0;
}

/* Look for a PTE at @offset of the window that has the cache attribute of the touch's own page. */
static int touch_look(const struct vgpu_touch *touch, struct vm_area_struct *vma, u64 offset,
		      struct vgpu_entry *entry)
{
	const struct vgpu_binding *binding = touch->binding;
	u64 addr = vgpu_binding_addr(binding, offset);

	if (offset < binding->offset || offset - binding->offset >= binding->len ||
	    addr < vma->vm_start || addr >= vma->vm_end ||
	    touch_peek(vma, addr, touch->writable, entry) ||
	    ((pgprot_val(entry->prot) ^ pgprot_val(touch->prot)) & _PAGE_CACHE_MASK))
		return -ENOENT;
	return 0;
}

/* Return the number of pages that the entry maps from @offset on, within binding and VMA. */
static unsigned long touch_run(const struct vgpu_touch *touch, const struct vm_area_struct *vma,
			       u64 offset, const struct vgpu_entry *entry)
{
	const struct vgpu_binding *binding = touch->binding;
	u64 addr = vgpu_binding_addr(binding, offset);

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

#ifdef VGPU_HAVE_HUGE
/* Collect the PMD mappings behind the 2 MiB at @offset. The driver is not asked. */
static void touch_look_ahead(struct vgpu_touch *touch, struct vm_area_struct *vma, u64 offset)
{
	const struct vgpu_binding *binding = touch->binding;
	u64 end = binding->offset + binding->len;
	struct vgpu_entry entry;

	touch->huge.nr = 0;
	/* So many pages are looked at if the program has gone on in order for a while. */
	if (!touch->huge.kvm || touch->nr < PTRS_PER_PMD)
		return;
	while (touch->huge.nr < VGPU_TOUCH_HUGE_AHEAD) {
		offset += PMD_SIZE;
		if (offset + PMD_SIZE > end || touch_look(touch, vma, offset, &entry) ||
		    !entry.huge || entry.pfn % PTRS_PER_PMD || !vgpu_kvm_takes_huge(entry.pfn))
			return;
		touch->huge.ahead[touch->huge.nr++] = entry.pfn;
	}
}
#endif

/* Find out whether the 2 MiB around the page are contiguous; many drivers insert single PTEs. */
static void touch_look_huge(struct vgpu_touch *touch, struct vm_area_struct *vma)
{
#ifdef VGPU_HAVE_HUGE
	const struct vgpu_binding *binding = touch->binding;
	u64 first = round_down(touch->offset, PMD_SIZE), offset = first;
	unsigned long pfn = *vgpu_touch_own(touch) - ((touch->offset - first) >> PAGE_SHIFT);
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
		offset += entry.huge ? PMD_SIZE - vgpu_binding_addr(binding, offset) % PMD_SIZE :
				       PAGE_SIZE;
	}
	touch->huge.pfn = pfn;
	touch->huge.kvm = vgpu_kvm_takes_huge(pfn);
	touch_look_ahead(touch, vma, first);
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

/*
 * Check that a hypervisor can have each page of the first VGPU_TOUCH_AROUND bytes that is mapped
 * now. The first page alone does not tell: in an allocation with one reference count for all
 * pages, the first page has that count and looks like a single page (vgpu_kvm_takes_pfn()).
 */
static int touch_examine(const struct vgpu_touch *touch, struct vm_area_struct *vma, u64 addr)
{
	u64 end = min3(addr + VGPU_TOUCH_AROUND, touch->binding->addr + touch->binding->len,
		       (u64)vma->vm_end);
	struct vgpu_entry entry;

	for (; touch->kvm && addr < end; addr += PAGE_SIZE)
		if (!touch_peek(vma, addr, false, &entry) && !vgpu_kvm_takes_pfn(entry.pfn))
			return -EOPNOTSUPP;
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
		*vgpu_touch_own(touch) = entry.pfn;
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
	*vgpu_touch_own(touch) = page_to_pfn(page);
	/*
	 * The notifier is called when the page changes. A reference would keep the page from
	 * moving.
	 */
	put_page(page);
	if (!touch->probe) {
		/* The VMA may be gone if the lock was dropped. */
		if (*locked)
			touch_look_around(touch, vma);
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
	u64 addr = vgpu_binding_addr(binding, touch->offset);
	struct vm_area_struct *vma;

	touch->writable = READ_ONCE(binding->writable);
	memset64((u64 *)touch->pfns, VGPU_TOUCH_NO_PFN, touch->nr);
	touch->huge.pfn = VGPU_TOUCH_NO_PFN;
	vma = vma_lookup(mm, addr);
	if (!vma || !vgpu_binding_shows(binding, vma, addr))
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

bool vgpu_touch_at_once(struct vgpu_touch *touch)
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

int vgpu_touch_resolve(struct vgpu_touch *touch)
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
	/* The last mmput() unmaps all VMAs and may wait for drivers, so a work item does it. */
	mmput_async(mm);
	return ret;
}

/* --- probes ---------------------------------------------------------------- */

/*
 * Find the entry of window->workers.probes that is @mm, or a free one if @mm is NULL.
 * Return: the entry, or NULL.
 */
static struct mm_struct **probe_find(struct vgpuh_window *window, const struct mm_struct *mm)
{
	unsigned int i;

	lockdep_assert_held(&window->lock);
	for (i = 0; i < VGPU_WINDOW_PROBES; i++)
		if (window->workers.probes[i] == mm)
			return &window->workers.probes[i];
	return NULL;
}

static void probe_work(struct work_struct *work)
{
	struct vgpu_touch *touch = container_of(work, struct vgpu_touch, work);
	struct vgpu_binding *binding = touch->binding;
	struct vgpuh_window *window = binding->window;
	int ret;

	ret = vgpu_touch_resolve(touch);
	mutex_lock(&window->lock);
	touch->error = ret;
	touch->done = true;
	*probe_find(window, binding->mm) = NULL;
	complete_all(&touch->over);
	mutex_unlock(&window->lock);
	vgpu_touch_put(touch);
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
	struct vgpuh_window *window = binding->window;
	struct mm_struct **place = NULL;

	mutex_lock(&window->lock);
	if (!probe_find(window, binding->mm))
		place = probe_find(window, NULL);
	if (place) {
		*place = binding->mm;
		touch->probe = true;
		/* A guest in this kernel can be shown any page. */
		touch->kvm = window->opener.mapped;
		/* The worker holds these references. */
		kref_get(&touch->ref);
		vgpu_binding_get(binding);
		queue_work(window->workers.wq, &touch->work);
	}
	mutex_unlock(&window->lock);
	return place;
}

int vgpu_binding_probe(struct vgpu_binding *binding, unsigned long time)
{
	struct vgpuh_window *window = binding->window;
	struct vgpu_touch *touch;
	int ret;

	time = min(time, msecs_to_jiffies(binding->peer->agent->fetch_timeout_ms) / 2);
	touch = vgpu_touch_alloc(binding, binding->offset, binding->offset, 1, time, probe_work);
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
		vgpu_touch_put(touch);
	return ret;
}
