// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on windows: see window_fault.h.
 *
 * The host may be unable to show a page any more: the driver has revoked the page, or does not
 * answer. Then the window shows a substitute page there, and the host sends INVALIDATE. The
 * guest zaps the page's PTEs. The next access faults and asks the host by READ_PAGES, as in
 * copy mode. If the host answers with an error, the program gets SIGBUS; if the host has the
 * page, the guest maps it again.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "fault.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/mapping.h"
#include "memory/mapping_span.h"
#include "memory/move_queue.h"
#include "memory/pages.h"
#include "memory/space.h"
#include "memory/window.h"
#include "memory/window_fault.h"
#include "memory/window_range.h"

/*
 * A page that fails again within so many seconds after the host has given it is a page that the
 * window cannot show. A later failure counts as a new one, of a driver that was busy for
 * example.
 */
#define WINDOW_HOPELESS_SECONDS	10

/*
 * Generation of the last INVALIDATE. Ranges never share one, so an equal bad_count means the
 * same range.
 */
static atomic64_t window_bad_count;

/* Maximum number of PMD mappings that one fault inserts in advance. */
#define WINDOW_HUGE_AHEAD	8U

/* Returns true if the page may have failed; called under window->use. */
static bool range_is_bad(struct vgpu_window_range *range, u64 offset)
{
	return offset >= range->bad_first && offset < range->bad_end &&
		!xa_load(&range->good, offset >> PAGE_SHIFT);
}

static u64 window_offset(const struct vgpu_mapping *mapping, pgoff_t pgoff)
{
	return mapping->range->offset + ((u64)(pgoff - mapping->pgoff) << PAGE_SHIFT);
}

/*
 * Takes the locks that keep a mapping in its window. Return: the range; NULL without the locks
 * if the mapping is not in window mode.
 */
static struct vgpu_window_range *range_lock(struct vgpu_mapping *mapping)
{
	down_read(&mapping->mode_lock);
	if (mapping->mode == VGPU_MAPPING_WINDOW) {
		down_read(&mapping->range->window->use);
		return mapping->range;
	}
	up_read(&mapping->mode_lock);
	return NULL;
}

static void range_unlock(struct vgpu_mapping *mapping, struct vgpu_window_range *range)
{
	up_read(&range->window->use);
	up_read(&mapping->mode_lock);
}

/*
 * Asks the host for a page that may have failed. Return: 0: try the fault again; else the errno
 * for which the host does not have the page.
 */
static int window_ask(struct vgpu_mapping *mapping, pgoff_t pgoff, u64 count,
		      unsigned long deadline)
{
	struct vgpu_window_range *range;
	int ret = 0;
	void *buf;
	s64 got;

	buf = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	got = vgpu_pages_read(mapping->session, &mapping->export->stats,
			      vgpu_mapping_addr(mapping, pgoff), buf, PAGE_SIZE, deadline);
	kfree(buf);
	if (got <= 0)
		return got ?: -EFAULT;
	range = range_lock(mapping);
	if (!range)
		return 0;
	/* The answer is void if the page has failed again, or the mapping has moved. */
	if (range->bad_count == count)
		ret = xa_err(xa_store(&range->good, window_offset(mapping, pgoff) >> PAGE_SHIFT,
				      xa_mk_value(ktime_get_seconds()), GFP_KERNEL_ACCOUNT));
	range_unlock(mapping, range);
	return ret;
}

/*
 * Computes the pages that may be mapped around the page of a fault: the pages of the same 2 MiB
 * (one page table) that the VMA covers, that are mapped at the host and that have not failed.
 */
static void window_area(const struct vm_fault *vmf, struct vgpu_window_range *range,
			struct vgpu_window_area *area)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vgpu_mapping *mapping = vma->vm_private_data;
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t first = vmf->pgoff, end = vmf->pgoff + 1;
	pgoff_t low = max(addr & PMD_MASK, vma->vm_start);
	pgoff_t high = min((addr & PMD_MASK) + PMD_SIZE - 1, vma->vm_end - 1) + 1;
	pgoff_t mapped_first, mapped_end;

	low = vmf->pgoff - ((addr - low) >> PAGE_SHIFT);
	high = vmf->pgoff + ((high - addr) >> PAGE_SHIFT);
	vgpu_mapping_around(mapping, vmf->pgoff, &mapped_first, &mapped_end);
	low = max(low, mapped_first);
	high = min(high, mapped_end);
	while (first > low && !range_is_bad(range, window_offset(mapping, first - 1)))
		first--;
	while (end < high && !range_is_bad(range, window_offset(mapping, end)))
		end++;
	area->offset = window_offset(mapping, vmf->pgoff);
	area->first = window_offset(mapping, first);
	area->end = area->first + ((u64)(end - first) << PAGE_SHIFT);
}

vm_fault_t vgpu_window_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	u64 offset = window_offset(mapping, vmf->pgoff);
	struct vgpu_window_range *range = mapping->range;
	bool writable = mapping->flags & VGPU_MAP_WRITE;
	struct vgpu_window *window = range->window;
	vm_fault_t fault = VM_FAULT_RETRY;
	struct vgpu_window_area area;

	lockdep_assert_held_read(&mapping->mode_lock);
	down_read(&window->use);
	if (!vgpu_mapping_covered(mapping, vmf->pgoff) || vgpu_host_is_down(window->host)) {
		fault = VM_FAULT_SIGBUS;
	} else if (!window->gone && !range_is_bad(range, offset)) {
		window_area(vmf, range, &area);
		mutex_lock(&range->insert);
		/* A concurrent fault may have inserted a PMD mapping. */
		fault = vgpu_fault_is_huge(vmf) ? VM_FAULT_NOPAGE :
			window->provider->insert(window, vmf, &area, writable, mapping->cache);
		mutex_unlock(&range->insert);
	}
	up_read(&window->use);
	return fault;
}

#ifdef VGPU_HAVE_HUGE
/* Insert a PMD mapping. Called under window->use and range->insert. */
static vm_fault_t window_insert_huge(struct vm_fault *vmf, struct vgpu_window_range *range)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	bool writable = mapping->flags & VGPU_MAP_WRITE;
	struct vgpu_window *window = range->window;
	struct vgpu_window_area area;

	if (!vgpu_mapping_covered(mapping, vmf->pgoff) ||
	    range_is_bad(range, window_offset(mapping, vmf->pgoff)))
		return VM_FAULT_FALLBACK;
	window_area(vmf, range, &area);
	if (area.end - area.first != PMD_SIZE || area.first % PMD_SIZE)
		return VM_FAULT_FALLBACK;
	return window->provider->insert_huge(window, vmf, area.offset, writable, mapping->cache);
}

/*
 * Insert PMD mappings behind that of the fault if the program goes on in order: twice as many as
 * before. They cost no message, as the host resolves the pages when the hypervisor needs them.
 */
static void window_insert_ahead(const struct vm_fault *vmf, struct vgpu_window_range *range)
{
	unsigned long first = vmf->address & PMD_MASK;
	unsigned int nr = 0, most = 0;

	if (first == range->ahead.next)
		most = min(clamp(2 * range->ahead.nr, 1U, WINDOW_HUGE_AHEAD), vgpu_fault_room(vmf));
	while (nr < most) {
		struct vm_fault next = vgpu_fault_behind(vmf, nr + 1);

		if (window_insert_huge(&next, range) != VM_FAULT_NOPAGE)
			break;
		nr++;
	}
	range->ahead.nr = nr;
	range->ahead.next = first + (nr + 1) * PMD_SIZE;
}

vm_fault_t vgpu_window_huge_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_window_range *range = mapping->range;
	struct vgpu_window *window = range->window;
	vm_fault_t fault = VM_FAULT_FALLBACK;

	lockdep_assert_held_read(&mapping->mode_lock);
	if (!window->provider->insert_huge)
		return fault;
	down_read(&window->use);
	if (!vgpu_host_is_down(window->host) && !window->gone) {
		mutex_lock(&range->insert);
		fault = window_insert_huge(vmf, range);
		if (fault == VM_FAULT_NOPAGE) {
			WRITE_ONCE(range->huge, true);
			window_insert_ahead(vmf, range);
		}
		mutex_unlock(&range->insert);
	}
	up_read(&window->use);
	return fault;
}
#endif

void vgpu_window_fork(struct vgpu_mapping *mapping, struct vm_area_struct *vma)
{
	bool huge;

	/* No fault inserts a PMD mapping again: fork() holds the parent's mmap_lock for writing. */
	down_read(&mapping->mode_lock);
	huge = mapping->range && READ_ONCE(mapping->range->huge);
	up_read(&mapping->mode_lock);
	if (huge)
		unmap_mapping_pages(vgpu_space_mapping(mapping->space), vma->vm_pgoff,
				    vma_pages(vma), false);
}

vm_fault_t vgpu_window_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;

	lockdep_assert_held_read(&mapping->mode_lock);
	/* The host needs no message: it resolves a writable mapping for writing at once. */
	if (!(mapping->flags & VGPU_MAP_WRITE))
		return VM_FAULT_SIGBUS;
	if (!(vmf->vma->vm_flags & VM_PFNMAP))
		return 0;
	/*
	 * Zap the PTE, so that the access faults anew. Otherwise finish_mkwrite_fault() makes a
	 * PTE writable after the return, without mode_lock. That PTE may look the same, but map
	 * a cached page of copy mode.
	 */
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}

int vgpu_window_wait(struct vgpu_mapping *mapping, pgoff_t pgoff, unsigned long deadline)
{
	struct vgpu_window_range *range = range_lock(mapping);
	u64 offset, count, moves;
	struct vgpu_window *window;
	bool bad, gone;
	int ret = 0;

	if (!range)
		return 0;
	window = range->window;
	kref_get(&window->ref);
	offset = window_offset(mapping, pgoff);
	moves = mapping->move.moves;
	count = range->bad_count;
	bad = range_is_bad(range, offset);
	/* A mapping that needs the window does not go by copy: the host is asked each time. */
	if (bad && range->hopeless && !mapping->live)
		WRITE_ONCE(mapping->stays, true);
	gone = window->gone || READ_ONCE(mapping->stays);
	range_unlock(mapping, range);

	if (gone && mapping->live)
		ret = -EFAULT;
	else if (gone)
		ret = vgpu_move_now(mapping, moves, deadline);
	else if (bad)
		ret = window_ask(mapping, pgoff, count, deadline);
	else if (window->provider->resolve)
		ret = window->provider->resolve(window, offset);
	vgpu_window_put(window);
	return ret;
}

void vgpu_window_invalidate(struct vgpu_host *host, const struct vgpu_window_part *part)
{
	struct vgpu_window *window = vgpu_window_named(host, part->window);
	u64 offset = le64_to_cpu(part->offset), end = offset + le64_to_cpu(part->len);
	struct vgpu_window_range *range;
	unsigned long index;
	void *entry;

	if (!window)
		return;
	down_write(&window->use);
	mutex_lock(&window->lock);
	for (range = vgpu_window_range_first(window, offset, end - 1); range;
	     range = vgpu_window_range_next(range, offset, end - 1)) {
		if (range->bad_first == range->bad_end) {
			range->bad_first = offset;
			range->bad_end = end;
		}
		range->bad_first = min(range->bad_first, offset);
		range->bad_end = max(range->bad_end, end);
		range->bad_count = atomic64_inc_return(&window_bad_count);
		xa_for_each_range(&range->good, index, entry, offset >> PAGE_SHIFT,
				  (end - 1) >> PAGE_SHIFT) {
			if (ktime_get_seconds() - xa_to_value(entry) < WINDOW_HOPELESS_SECONDS)
				range->hopeless = true;
			xa_erase(&range->good, index);
		}
	}
	mutex_unlock(&window->lock);
	up_write(&window->use);
	vgpu_window_zap(window, offset, end - offset);
	vgpu_window_put(window);
}
