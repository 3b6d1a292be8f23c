// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device file of a window, which a hypervisor maps, and the faults in such mappings.
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
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/wait.h>

#include "compat.h"
#include "fault.h"
#include "window/binding.h"
#include "window/nested.h"
#include "window/resolve.h"
#include "window/window.h"
#include "window/window_file.h"

/* Time for which an open waits for another process that has the window and may be ending. */
#define OPEN_WAIT_MS		2000

static vm_fault_t window_insert_dummy(struct vgpuh_window *window, struct vm_fault *vmf)
{
	atomic64_inc(&window->stats.dummies);
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK,
				      page_to_pfn(window->dummy),
				      vm_get_page_prot(vmf->vma->vm_flags), PAGE_SHARED);
}

static vm_fault_t window_insert_header(struct vgpuh_window *window, struct vm_fault *vmf)
{
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK,
				      page_to_pfn(window->header),
				      vm_get_page_prot(vmf->vma->vm_flags & ~VM_WRITE),
				      PAGE_SHARED);
}

/*
 * Insert the page at @offset. @wait: out: binding that has to be resolved first, with a
 * reference; it stays as it is if there is none.
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

static const struct vm_operations_struct window_vm_ops = {
	.fault = window_fault,
#ifdef VGPU_HAVE_HUGE
	.huge_fault = window_huge_fault,
#endif
	.pfn_mkwrite = window_pfn_mkwrite,
};

/*
 * Open the window for @mm.
 * Return: 0; -ENXIO; -EBUSY: another process has the window; or the error of
 * vgpu_nested_check().
 */
static int window_take(struct vgpuh_window *window, struct mm_struct *mm)
{
	int ret;

	/* KVM's module may have been loaded anew since the window was made, or just now. */
	ret = vgpu_nested_check();
	if (ret)
		return ret;
	mutex_lock(&window->lock);
	if (window->gone) {
		ret = -ENXIO;
	} else if (window->opens && window->opener != mm) {
		/*
		 * A window is one hypervisor's: another process would see all that its guest
		 * sees.
		 */
		ret = -EBUSY;
	} else if (!window->opens++) {
		mmgrab(mm);
		window->opener = mm;
	}
	mutex_unlock(&window->lock);
	return ret;
}

/*
 * Open the window, and wait for a hypervisor that is just ending. Such a hypervisor may still
 * have the window when its process is gone, as other processes that look into its memory have a
 * reference of the mm. The next hypervisor should not fail because of that.
 */
static int window_take_wait(struct vgpuh_window *window, struct mm_struct *mm)
{
	unsigned long end = jiffies + msecs_to_jiffies(OPEN_WAIT_MS);
	long left;
	int ret;

	while ((ret = window_take(window, mm)) == -EBUSY) {
		left = end - jiffies;
		if (left <= 0)
			break;
		if (wait_event_killable_timeout(vgpu_windows_closed, !READ_ONCE(window->opens) ||
						READ_ONCE(window->gone), left) < 0)
			return -EINTR;
	}
	return ret;
}

static int window_open(struct inode *inode, struct file *file)
{
	struct vgpuh_window *window = container_of(inode->i_cdev, struct vgpuh_window, cdev);
	struct mm_struct *mm = current->mm;
	int ret;

	if (!mm)
		return -EINVAL;
	ret = file->f_flags & O_NONBLOCK ? window_take(window, mm) : window_take_wait(window, mm);
	if (ret)
		return ret;
	vgpuh_window_get(window);
	file->private_data = window;
	file->f_mapping = window->inode->i_mapping;
	return 0;
}

static int window_release(struct inode *inode, struct file *file)
{
	struct vgpuh_window *window = file->private_data;
	struct mm_struct *opener = NULL;
	u64 old = 0;

	down_read(&window->viewers_lock);
	mutex_lock(&window->lock);
	if (!--window->opens) {
		opener = window->opener;
		window->opener = NULL;
		wake_up_all(&vgpu_windows_closed);
		if (window->mapped && list_empty(&window->viewers)) {
			old = window->id;
			vgpuh_window_renew(window);
		}
	}
	mutex_unlock(&window->lock);
	up_read(&window->viewers_lock);
	if (opener)
		mmdrop(opener);
	/* The window has another number now, so faults do not find the old bindings any more. */
	if (old) {
		vgpu_binding_end_range(window, NULL, old, 0, window->size);
		vgpuh_window_changed(window);
	}
	vgpuh_window_put(window);
	return 0;
}

static loff_t window_llseek(struct file *file, loff_t offset, int whence)
{
	struct vgpuh_window *window = file->private_data;

	return fixed_size_llseek(file, offset, whence, window->size);
}

static int window_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpuh_window *window = file->private_data;
	u64 first = (u64)vma->vm_pgoff, nr = vma_pages(vma);

	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC) ||
	    first > window->size >> PAGE_SHIFT || nr > (window->size >> PAGE_SHIFT) - first)
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vm_flags_clear(vma, VM_MAYEXEC);
	vma->vm_ops = &window_vm_ops;
	vma->vm_private_data = window;
	mutex_lock(&window->lock);
	window->mapped = true;
	mutex_unlock(&window->lock);
	return 0;
}

const struct file_operations vgpuh_window_fops = {
	.owner = THIS_MODULE,
	.open = window_open,
	.release = window_release,
	.llseek = window_llseek,
	.mmap = window_mmap,
	/* Mappings begin where PMD mappings fit. NULL in kernels without transparent huge pages. */
	.get_unmapped_area = thp_get_unmapped_area,
};
