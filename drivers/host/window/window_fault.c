// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of a hypervisor that maps a window.
 *
 * A hypervisor must never get SIGBUS, which would stop its whole machine. So a page that cannot
 * be had is replaced by a page of the window's own, and the guest is notified. A page of a
 * read-only binding never becomes writable: a write there, which only a guest kernel that
 * ignores the rules can make, gets the window's own page.
 *
 * KVM must not find that a page is missing which a fault has just inserted
 * (hva_to_pfn_remapped()): it would stop the machine as well, and the page may be zapped again
 * at any time. KVM looks once more, from the beginning, if the fault dropped the mmap lock. So
 * the first attempt of each fault drops it.
 */
#include "compat.h"
#include "fault.h"
#include "window/binding.h"
#include "window/resolve.h"
#include "window/window.h"
#include "window/window_fault.h"

static vm_fault_t window_insert_dummy(struct vgpuh_window *window, struct vm_fault *vmf)
{
	atomic64_inc(&window->stats.dummies);
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK,
				      page_to_pfn(window->memory.dummy),
				      vm_get_page_prot(vmf->vma->vm_flags), PAGE_SHARED);
}

static vm_fault_t window_insert_header(struct vgpuh_window *window, struct vm_fault *vmf)
{
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK,
				      page_to_pfn(window->memory.header),
				      vm_get_page_prot(vmf->vma->vm_flags & ~VM_WRITE),
				      PAGE_SHARED);
}

/*
 * Insert the page at @offset. @wait: out: binding that has to be resolved first, with a
 * reference; unchanged if there is none.
 */
static vm_fault_t window_insert(struct vgpuh_window *window, struct vm_fault *vmf, u64 offset,
				struct vgpu_binding **wait)
{
	struct vgpu_binding *binding;
	vm_fault_t ret;

	mutex_lock(&window->lock);
	/* Another fault has inserted a PMD mapping since this one began. */
	if (vgpu_fault_is_huge(vmf)) {
		ret = VM_FAULT_NOPAGE;
		goto out_unlock;
	}
	if (!offset) {
		ret = window_insert_header(window, vmf);
		goto out_unlock;
	}
	binding = vgpu_binding_find_locked(window, offset);
	if (!binding) {
		ret = window_insert_dummy(window, vmf);
		goto out_unlock;
	}
	ret = vgpu_binding_insert_locked(binding, vmf, offset, 0, window->size, false);
	if (ret == VM_FAULT_SIGBUS) {
		atomic64_inc(&window->stats.failures);
		vgpu_binding_fail(binding, offset, PAGE_SIZE);
		ret = window_insert_dummy(window, vmf);
	} else if (ret == VM_FAULT_RETRY) {
		vgpu_binding_get(binding);
		*wait = binding;
	}
out_unlock:
	mutex_unlock(&window->lock);
	return ret;
}

/*
 * End a fault with the result @ret. If the page is there at the first attempt, the lock of the
 * fault is dropped (the opening comment says why): neither vma nor vmf may be accessed
 * afterwards.
 */
static vm_fault_t window_done(struct vm_fault *vmf, vm_fault_t ret)
{
	if (ret != VM_FAULT_NOPAGE || !fault_flag_allow_retry_first(vmf->flags) ||
	    (vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return ret;
	release_fault_lock(vmf);
	return VM_FAULT_NOPAGE | VM_FAULT_COMPLETED;
}

/*
 * Check for a fault on behalf of another process. VFIO makes one for a device that will write
 * to the page (follow_fault_pfn()), which is not supported here.
 */
static bool window_fault_is_for_device(const struct vm_fault *vmf)
{
	return vmf->flags & FAULT_FLAG_REMOTE;
}

static vm_fault_t window_fault(struct vm_fault *vmf)
{
	struct vgpuh_window *window = vmf->vma->vm_private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	struct vgpu_binding *binding = NULL;
	vm_fault_t ret;

	if (window_fault_is_for_device(vmf))
		return VM_FAULT_SIGBUS;
	atomic64_inc(&window->stats.faults);
	ret = window_insert(window, vmf, offset, &binding);
	if (!binding)
		return window_done(vmf, ret);
	/* Every fault that a hypervisor or KVM causes may wait. Fail any other one. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		vgpu_binding_put(binding);
		return VM_FAULT_SIGBUS;
	}
	if (!(vmf->flags & FAULT_FLAG_RETRY_NOWAIT)) {
		release_fault_lock(vmf);
		/* Neither vma nor vmf may be accessed from here on. */
		vgpu_binding_resolve(binding, offset, VGPU_WINDOW_TIMEOUT);
	}
	vgpu_binding_put(binding);
	return VM_FAULT_RETRY;
}

#ifdef VGPU_HAVE_HUGE
/* Insert what the fault for a single page has found, when the fault comes again. */
static vm_fault_t window_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vgpuh_window *window = vmf->vma->vm_private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t ret;

	if (order != PMD_ORDER || window_fault_is_for_device(vmf) ||
	    ((vmf->address & PAGE_MASK) ^ offset) % PMD_SIZE)
		return VM_FAULT_FALLBACK;
	ret = vgpuh_window_insert_huge(window, vmf, offset, false);
	if (ret == VM_FAULT_NOPAGE)
		atomic64_inc(&window->stats.faults);
	return window_done(vmf, ret);
}
#endif

static vm_fault_t window_pfn_mkwrite(struct vm_fault *vmf)
{
	struct vgpuh_window *window = vmf->vma->vm_private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t ret = VM_FAULT_NOPAGE;
	struct vgpu_binding *binding;

	if (window_fault_is_for_device(vmf))
		return VM_FAULT_SIGBUS;
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	/*
	 * The next fault inserts a writable PTE of the window's own page, or of a binding that
	 * has become writable. A write to the header or to a read-only binding gets the window's
	 * own page in place of the page.
	 */
	if (binding ? !binding->writable : !offset) {
		atomic64_inc(&window->stats.failures);
		if (binding)
			vgpu_binding_fail(binding, offset, PAGE_SIZE);
		ret = window_insert_dummy(window, vmf);
	}
	mutex_unlock(&window->lock);
	return window_done(vmf, ret);
}

const struct vm_operations_struct vgpuh_window_vm_ops = {
	.fault = window_fault,
#ifdef VGPU_HAVE_HUGE
	.huge_fault = window_huge_fault,
#endif
	.pfn_mkwrite = window_pfn_mkwrite,
};
