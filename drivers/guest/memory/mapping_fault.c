// SPDX-License-Identifier: GPL-2.0-only
/* Faults: see mapping_fault.h. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/deadline.h"
#include "compat.h"
#include "memory/dirty.h"
#include "memory/flush_list.h"
#include "fault.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/blank.h"
#include "memory/flush.h"
#include "memory/flush_all.h"
#include "memory/mapping.h"
#include "memory/mapping_fault.h"
#include "memory/mapping_span.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/space_fetch.h"
#include "memory/space_sync.h"
#include "memory/state.h"
#include "memory/window_fault.h"

/* Smallest fetch whose pages one fault inserts all at once, for a program that reads on. */
#define SPACE_AROUND_MIN	32U
/* Number of blank pages of a mapping that become dirty before a flush of them is started. */
#define SPACE_BLANK_FLUSH	256U
/* Maximum number of blank pages that one store makes dirty in advance. */
#define SPACE_BLANK_AHEAD	32UL

/*
 * Check whether a fault makes its page dirty. In a private mapping the core copies the page
 * instead.
 */
static bool fault_writes(const struct vm_fault *vmf)
{
	return (vmf->flags & FAULT_FLAG_WRITE) && (vmf->vma->vm_flags & VM_SHARED);
}

/* --- copies: faults insert cached pages and make pages dirty ------------------- */

/*
 * Hand a cached page to the core, which maps it under the page's lock. A page that was dropped is
 * not mapped: see space_settle_gone() of space.c.
 */
static vm_fault_t space_lock_fault(struct page *page)
{
	lock_page(page);
	if (page_private(page) != SPACE_PAGE_GONE)
		return VM_FAULT_LOCKED;
	unlock_page(page);
	put_page(page);
	return VM_FAULT_NOPAGE;
}

/*
 * Make a page dirty that is about to be written to through @mapping. Return: 0; VM_FAULT_RETRY:
 * the page may not become dirty yet; VM_FAULT_OOM.
 */
static vm_fault_t space_make_dirty(struct vgpu_mapping *mapping, struct vgpu_page *page)
{
	struct vgpu_space *space = mapping->space;
	bool whole;

	lockdep_assert_held(&space->lock);
	if (vgpu_page_is_dirty(page))
		return 0;
	if (!vgpu_space_may_dirty(space, page)) {
		vgpu_flush_later(&space->host->memory->spaces, NULL);
		return VM_FAULT_RETRY;
	}
	whole = page->whole || (mapping->apart && !READ_ONCE(space->shared));
	/* A page that is sent whole needs no snapshot. */
	if (!whole) {
		page->orig = kmemdup(page_address(page->page), PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		if (!page->orig)
			return VM_FAULT_OOM;
	}
	page->whole = whole;
	vgpu_flush_add(space, page, mapping);
	return 0;
}

/*
 * Cache @page, whose bytes are zero, for the first store to a page of a blank buffer, instead of a
 * fetched page. The host may have other bytes there, so a comparison would miss stores of zero: the
 * page is sent whole. It becomes dirty at once, so that the flush after vgpu_blank_end() finds it.
 * Return: true; false if the page is not cached and has to be fetched.
 */
static bool space_add_blank(struct vgpu_mapping *mapping, struct vgpu_page *page, pgoff_t index)
{
	struct vgpu_space *space = mapping->space;
	struct vgpu_space_set *set = &space->host->memory->spaces;

	/* Without room the page is fetched, as a fetch makes room first. */
	if (!vgpu_blank_is(mapping, index) || atomic_read(&set->nr_cached) >= SPACE_CACHED_MAX)
		return false;
	atomic_inc(&set->nr_cached);
	page->whole = true;
	/* Most buffers are written once and in order: send pages while others are written. */
	if (!(++mapping->blank.nr % SPACE_BLANK_FLUSH))
		vgpu_flush_run_later(&mapping->session->memory->flush, 0);
	if (vgpu_space_page_add(space, page, index, atomic64_read(&set->drops)))
		goto err_count;
	if (space_make_dirty(mapping, page))
		goto err_entry;
	vgpu_blank_touch(mapping, index);
	return true;

err_entry:
	xa_erase(&space->pages, index);
err_count:
	atomic_dec(&set->nr_cached);
	return false;
}

/* Make and cache the page of a store at @index. Return: the page; NULL if it has to be fetched. */
static struct vgpu_page *space_get_blank(struct vgpu_mapping *mapping, pgoff_t index)
{
	struct vgpu_page *page;

	if (!vgpu_blank_is(mapping, index) || !vgpu_batch_alloc(&page, 1, true))
		return NULL;
	if (!space_add_blank(mapping, page, index)) {
		vgpu_page_free(page);
		return NULL;
	}
	vgpu_space_activate(mapping->space);
	return page;
}

/*
 * Return the number of pages behind page @index up to the next page that is not mapped. Another
 * process may have unmapped page @index since the fault was found to be right.
 */
static unsigned long mapping_covered_behind(struct vgpu_mapping *mapping, pgoff_t index)
{
	pgoff_t covered = vgpu_mapping_covered(mapping, index);

	return covered ? covered - 1 : 0;
}

/*
 * Make the blank pages after that of the fault dirty and writable, twice as many each time, for a
 * program that writes to one page after the other. Stores to these pages may need no fault. If the
 * program does not store, zeros are sent, as the bytes of a new buffer are zero or undefined.
 */
static void space_blank_ahead(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	pgprot_t prot = vm_get_page_prot(vmf->vma->vm_flags);
	struct vgpu_page *pages[SPACE_BLANK_AHEAD];
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t index = vmf->pgoff, left, nr = 0;
	pgoff_t i;

	left = mapping->blank.ahead;
	if (index != mapping->blank.next)
		left = 0;
	mapping->blank.ahead = clamp(2 * left, 1UL, SPACE_BLANK_AHEAD);
	left = min3(left, ((vmf->vma->vm_end - addr) >> PAGE_SHIFT) - 1,
		    mapping_covered_behind(mapping, index));
	mapping->blank.next = ++index;
	while (nr < left && vgpu_blank_is(mapping, index + nr))
		nr++;
	if (nr)
		nr = vgpu_batch_alloc(pages, nr, true);
	for (i = 0; i < nr && space_add_blank(mapping, pages[i], index + i); i++) {
		addr += PAGE_SIZE;
		mapping->blank.next = index + i + 1;
		/* A page without a PTE faults when it is written to, and is found in the cache. */
		vmf_insert_pfn_prot(vmf->vma, addr, page_to_pfn(pages[i]->page), prot);
	}
	vgpu_batch_free(pages + i, nr - i);
}

static vm_fault_t space_insert_pfn(struct vm_fault *vmf, struct vgpu_page *page)
{
	const unsigned long pfn = page_to_pfn(page->page);

	/* A page that may not become dirty yet is inserted read-only: ->pfn_mkwrite follows. */
	if (!fault_writes(vmf) || space_make_dirty(vmf->vma->vm_private_data, page))
		return vmf_insert_pfn(vmf->vma, vmf->address, pfn);
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, pfn,
				   vm_get_page_prot(vmf->vma->vm_flags));
}

/* Insert the PTEs of fetched pages behind that of the fault, for a program that reads on. */
static void space_insert_around(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	unsigned long left = ((vmf->vma->vm_end - vmf->address) >> PAGE_SHIFT) - 1;
	unsigned long addr = vmf->address & PAGE_MASK;
	pgoff_t index = vmf->pgoff;
	struct vgpu_page *page;

	if (READ_ONCE(mapping->ahead.nr) < SPACE_AROUND_MIN)
		return;
	left = min(left, mapping_covered_behind(mapping, index));
	/* The last page is left out: its fault shows that the program has come that far. */
	for (; left && index + 2 < READ_ONCE(mapping->ahead.next); left--) {
		addr += PAGE_SIZE;
		page = xa_load(&mapping->space->pages, ++index);
		if (!page || vmf_insert_pfn(vmf->vma, addr, page_to_pfn(page->page)) !=
		    VM_FAULT_NOPAGE)
			return;
	}
}

/*
 * Resolve a fault on a mapping in copy mode: insert the PTE of a page that is cached, or that is
 * blank and needs no fetch, or hand the page to the core. Does not wait for the host. Return: what
 * a fault handler returns; VM_FAULT_RETRY: the caller has to call vgpu_space_wait() first.
 */
static vm_fault_t space_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_space *space = mapping->space;
	pgoff_t index = vmf->pgoff;
	struct vgpu_page *page;
	vm_fault_t fault = VM_FAULT_RETRY;
	bool blank = false;

	lockdep_assert_held_read(&mapping->mode_lock);
	mutex_lock(&space->lock);
	/* The memory of a range that has ended at the host may be another program's by now. */
	if (space->dead || !vgpu_mapping_covered(mapping, index)) {
		mutex_unlock(&space->lock);
		return VM_FAULT_SIGBUS;
	}
	page = xa_load(&space->pages, index);
	if (page) {
		vgpu_space_note_use(mapping, index);
	} else if (fault_writes(vmf)) {
		page = space_get_blank(mapping, index);
		blank = page;
	}
	if (page && fault_writes(vmf) && !vgpu_space_may_dirty(space, page) &&
	    (vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		fault = VM_FAULT_RETRY;
	} else if (page && (vmf->vma->vm_flags & VM_PFNMAP)) {
		fault = space_insert_pfn(vmf, page);
		if (fault == VM_FAULT_NOPAGE && blank)
			space_blank_ahead(vmf);
		else if (fault == VM_FAULT_NOPAGE && !(vmf->flags & FAULT_FLAG_WRITE))
			space_insert_around(vmf);
	} else if (page) {
		/* The core copies the page for a private mapping, and maps it otherwise. */
		get_page(page->page);
		vmf->page = page->page;
		mutex_unlock(&space->lock);
		return space_lock_fault(vmf->page);
	}
	mutex_unlock(&space->lock);
	return fault;
}

/*
 * Make a page dirty and writable. @as_page: true for ->page_mkwrite, where vmf->page is returned
 * locked on success. Return: VM_FAULT_RETRY: the page may not become dirty yet; else what the
 * handler returns.
 */
static vm_fault_t space_mkwrite(struct vm_fault *vmf, bool as_page)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	struct vgpu_space *space = mapping->space;
	vm_fault_t fault = 0;
	struct vgpu_page *page;

	lockdep_assert_held_read(&mapping->mode_lock);
	mutex_lock(&space->lock);
	page = xa_load(&space->pages, vmf->pgoff);
	/* The check is under the lock, so that vgpu_unmap_range() finds what is dirty. */
	if (space->dead || !vgpu_mapping_covered(mapping, vmf->pgoff))
		fault = VM_FAULT_SIGBUS;
	else if (!page || (as_page && page->page != vmf->page))
		/* The page was dropped since the fault began, and its PTE was zapped. */
		fault = VM_FAULT_NOPAGE;
	else
		fault = space_make_dirty(mapping, page);
	if (!fault && as_page) {
		/* vgpu_space_unmap() waits for the page lock until the core has mapped the page. */
		lock_page(vmf->page);
		fault = VM_FAULT_LOCKED;
	} else if (!fault) {
		fault = vgpu_insert_writable(vmf, page->page);
	}
	mutex_unlock(&space->lock);
	return fault;
}

/* --- all modes ----------------------------------------------------------------- */

/* Leave @error for the retry of this thread's fault at @pgoff. */
static void mapping_leave_error(struct vgpu_mapping *mapping, pgoff_t pgoff, int error)
{
	spin_lock(&mapping->lock);
	mapping->error.error = error;
	mapping->error.index = pgoff;
	mapping->error.task = current;
	spin_unlock(&mapping->lock);
}

/*
 * Take the error that this thread's fault has left for its retry. A new fault gets no error: the
 * old one may have ended with a signal, after which its page was not asked for again.
 */
static int mapping_take_error(struct vgpu_mapping *mapping, const struct vm_fault *vmf)
{
	int error = 0;

	spin_lock(&mapping->lock);
	if (mapping->error.task == current) {
		swap(error, mapping->error.error);
		mapping->error.task = NULL;
		if (mapping->error.index != vmf->pgoff || !(vmf->flags & FAULT_FLAG_TRIED))
			error = 0;
	}
	spin_unlock(&mapping->lock);
	return error;
}

/* Wait until a fault may be retried. Called without locks. Return: 0, -EINTR, or an error. */
static int mapping_wait(struct vgpu_mapping *mapping, enum vgpu_mapping_mode mode, pgoff_t pgoff,
			bool write, unsigned long deadline)
{
	switch (mode) {
	case VGPU_MAPPING_COPY:
		return vgpu_space_wait(mapping, pgoff, write, deadline);
	case VGPU_MAPPING_WINDOW:
		return vgpu_window_wait(mapping, pgoff, deadline);
	default:
		return vgpu_move_wait(mapping, deadline);
	}
}

vm_fault_t vgpu_mapping_fault(struct vm_fault *vmf)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	bool write = fault_writes(vmf);
	vm_fault_t fault = VM_FAULT_RETRY;
	unsigned long deadline = 0;
	enum vgpu_mapping_mode mode;
	pgoff_t pgoff = vmf->pgoff;
	struct file *file;
	int ret;

	down_read(&mapping->mode_lock);
	mode = mapping->mode;
	if (mode == VGPU_MAPPING_COPY)
		fault = space_fault(vmf);
	else if (mode == VGPU_MAPPING_WINDOW)
		fault = vgpu_window_fault(vmf);
	up_read(&mapping->mode_lock);
	ret = mapping_take_error(mapping, vmf);
	/* The error of an earlier attempt means nothing once there is a page. */
	if (fault != VM_FAULT_RETRY)
		return fault;

	if (ret)
		return ret == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	/* The host has to be asked, for which the lock of the VMA has to be dropped. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	/* An instruction of the program holds no locks: its wait has no deadline, as natively. */
	if (!(vmf->flags & FAULT_FLAG_USER))
		deadline = vgpu_deadline_in(VGPU_MAPPING_FAULT_WAIT);
	vgpu_mapping_get(mapping);
	/* Keep the file, which holds this module: another thread may unmap and close it. */
	file = get_file(vmf->vma->vm_file);
	release_fault_lock(vmf);
	/* Neither vmf nor its VMA may be accessed after this. */
	ret = mapping_wait(mapping, mode, pgoff, write, deadline);
	if (ret && ret != -EINTR)
		mapping_leave_error(mapping, pgoff, ret);
	vgpu_mapping_put(mapping);
	/* The file is released only after this thread has left the module (task work). */
	fput(file);
	/*
	 * VM_FAULT_MAJOR has the core mark the next attempt as a retry (FAULT_FLAG_TRIED) even
	 * where this attempt held only the lock of the VMA.
	 */
	return VM_FAULT_RETRY | VM_FAULT_MAJOR;
}

#ifdef VGPU_HAVE_HUGE
vm_fault_t vgpu_mapping_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	vm_fault_t fault = VM_FAULT_FALLBACK;

	if (order != PMD_ORDER)
		return VM_FAULT_FALLBACK;
	down_read(&mapping->mode_lock);
	if (mapping->mode == VGPU_MAPPING_WINDOW)
		fault = vgpu_window_huge_fault(vmf);
	up_read(&mapping->mode_lock);
	if (fault == VM_FAULT_NOPAGE)
		mapping_take_error(mapping, vmf);
	return fault;
}
#endif

/* Make a page writable. @as_page: true for ->page_mkwrite, false for ->pfn_mkwrite. */
static vm_fault_t mapping_mkwrite(struct vm_fault *vmf, bool as_page)
{
	struct vgpu_mapping *mapping = vmf->vma->vm_private_data;
	bool as_pfn = vmf->vma->vm_flags & VM_PFNMAP;
	vm_fault_t fault = VM_FAULT_NOPAGE;

	down_read(&mapping->mode_lock);
	/*
	 * The PTE was there before the lock was taken, and the mapping may have moved since. If
	 * the mode shows that, the page has been unmapped, and the access faults anew.
	 */
	if (mapping->mode == VGPU_MAPPING_MOVING)
		fault = VM_FAULT_RETRY;
	else if (mapping->mode == VGPU_MAPPING_COPY && as_page != as_pfn)
		fault = space_mkwrite(vmf, as_page);
	else if (mapping->mode == VGPU_MAPPING_WINDOW && !as_page)
		fault = vgpu_window_mkwrite(vmf);
	up_read(&mapping->mode_lock);
	if (fault != VM_FAULT_RETRY)
		return fault;
	/* Only an error ends the retries of a killed copy_to_user(). */
	if (fatal_signal_pending(current))
		return VM_FAULT_SIGBUS;
	/*
	 * The lock of the VMA cannot be dropped here, and whether the program or the kernel
	 * faulted is unknown. Without the PTE the access faults anew, and vgpu_mapping_fault()
	 * waits for as long as it may. If that fault may not drop the lock either, the access is
	 * back here at once: the sleep keeps it from spinning.
	 */
	schedule_timeout_killable(1);
	unmap_mapping_pages(vgpu_space_mapping(mapping->space), vmf->pgoff, 1, false);
	return VM_FAULT_NOPAGE;
}

vm_fault_t vgpu_mapping_page_mkwrite(struct vm_fault *vmf)
{
	return mapping_mkwrite(vmf, true);
}

vm_fault_t vgpu_mapping_pfn_mkwrite(struct vm_fault *vmf)
{
	return mapping_mkwrite(vmf, false);
}
