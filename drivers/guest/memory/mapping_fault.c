// SPDX-License-Identifier: GPL-2.0-only
/* Faults: see mapping_fault.h. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "base/deadline.h"
#include "compat.h"
#include "memory/mapping.h"
#include "memory/mapping_fault.h"
#include "memory/move.h"
#include "memory/move_queue.h"
#include "memory/space.h"
#include "memory/space_fault.h"
#include "memory/space_fetch.h"
#include "memory/window_fault.h"

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
	bool write = vgpu_space_fault_writes(vmf);
	vm_fault_t fault = VM_FAULT_RETRY;
	unsigned long deadline = 0;
	enum vgpu_mapping_mode mode;
	pgoff_t pgoff = vmf->pgoff;
	struct file *file;
	int ret;

	down_read(&mapping->mode_lock);
	mode = mapping->mode;
	if (mode == VGPU_MAPPING_COPY)
		fault = vgpu_space_fault(vmf);
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
		fault = vgpu_space_mkwrite(vmf, as_page);
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
