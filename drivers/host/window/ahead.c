// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preparations of pages that a program will access soon.
 *
 * A program that accesses a mapping in order would need a touch for each page if the driver
 * provides single pages. So each time a touch begins where the last one ended, another worker
 * has the driver populate the shadow's page tables for the bytes that follow, twice as many as
 * before: up to 2 MiB, or up to 32 MiB if the driver provides 2 MiB at once. This *preparation*
 * changes nothing but the shadow's page tables. The next touch finds the pages there as it finds
 * any pages around its own.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "compat.h"
#include "fault.h"
#include "window/ahead.h"
#include "window/binding.h"
#include "window/touch.h"
#include "window/window.h"

/* Maximum of bytes in one preparation of single pages; one page table maps as many. */
#define BINDING_AHEAD_MAX	PMD_SIZE
/* Maximum of bytes if the driver provides 2 MiB by one fault. */
#define BINDING_AHEAD_HUGE_MAX	(16 * PMD_SIZE)
/* Maximum of preparations of one window at once: each that is stuck in a driver keeps a worker. */
#define BINDING_AHEAD_WORKERS	8

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
	if (vma && vgpu_binding_shows(binding, vma, addr) && !ahead_is_heard(binding, vma))
		got = ahead_fault(binding, vma, addr, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return got;
}

void vgpuh_ahead_work(struct work_struct *work)
{
	struct vgpu_binding *binding = container_of(work, struct vgpu_binding, ahead.work);
	unsigned long late = jiffies + VGPU_AHEAD_TIME;
	struct vgpuh_window *window = binding->window;
	struct mm_struct *mm = binding->mm;
	u64 offset = binding->ahead.first;
	u64 got;

	if (mmget_not_zero(mm)) {
		/* No other thread changes the range until @busy is false. */
		for (; offset < binding->ahead.end; offset += got) {
			if (READ_ONCE(binding->gone) || time_after(jiffies, late))
				break;
			got = ahead_page(binding, mm, vgpu_binding_addr(binding, offset));
			if (!got)
				break;
		}
		mmput_async(mm);
	}
	mutex_lock(&window->lock);
	binding->ahead.end = min(binding->ahead.end, offset);
	binding->ahead.busy = false;
	window->workers.nr_ahead--;
	complete_all(&binding->ahead.over);
	mutex_unlock(&window->lock);
	vgpu_binding_put(binding);
}

bool vgpuh_ahead_wait(struct vgpu_binding *binding, u64 offset)
{
	struct vgpuh_window *window = binding->window;
	bool busy;

	mutex_lock(&window->lock);
	busy = binding->ahead.busy && offset >= binding->ahead.first && offset < binding->ahead.end;
	mutex_unlock(&window->lock);
	if (busy)
		wait_for_completion_killable_timeout(&binding->ahead.over, VGPU_AHEAD_TIME);
	return busy;
}

void vgpuh_ahead_start(struct vgpu_binding *binding, const struct vgpu_touch *touch, u64 next,
		       bool huge)
{
	u64 least = huge ? PMD_SIZE : VGPU_TOUCH_AROUND;
	u64 most = huge ? BINDING_AHEAD_HUGE_MAX : BINDING_AHEAD_MAX;
	struct vgpuh_window *window = binding->window;
	struct vgpu_binding_ahead *ahead = &binding->ahead;
	u64 first = next, end;

	lockdep_assert_held(&window->lock);
	if (touch->offset != ahead->next || touch->slow)
		ahead->step = 0;
	else
		ahead->step = clamp_t(u64, 2 * ahead->step, least, most);
	ahead->next = next;
	/* A worker is started rarely: not before half of what it prepared last is used up. */
	if (huge && next >= ahead->first && next < ahead->end)
		first = ahead->end;
	if (first > next && first - next >= ahead->step / 2)
		return;
	end = min(next + ahead->step, binding->offset + binding->len);
	if (!huge)
		end = min(end, round_down(next, PMD_SIZE) + PMD_SIZE);
	if (first >= end || ahead->busy || binding->gone ||
	    window->workers.nr_ahead >= BINDING_AHEAD_WORKERS)
		return;
	ahead->first = first;
	ahead->end = end;
	ahead->busy = true;
	window->workers.nr_ahead++;
	reinit_completion(&ahead->over);
	/* The worker holds this reference. */
	vgpu_binding_get(binding);
	queue_work(window->workers.wq, &ahead->work);
}
