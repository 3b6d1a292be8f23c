// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device file of a window, which a hypervisor maps.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/wait.h>

#include "compat.h"
#include "window/binding.h"
#include "window/nested.h"
#include "window/window.h"
#include "window/window_fault.h"
#include "window/window_file.h"

/* Time for which an open waits for another process that has the window and may be ending. */
#define OPEN_WAIT_MS		2000

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
	} else if (window->opener.nr && window->opener.mm != mm) {
		/*
		 * A window is one hypervisor's: another process would see all that its guest
		 * sees.
		 */
		ret = -EBUSY;
	} else if (!window->opener.nr++) {
		mmgrab(mm);
		window->opener.mm = mm;
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
		if (wait_event_killable_timeout(vgpu_windows_closed,
						!READ_ONCE(window->opener.nr) ||
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
	file->f_mapping = window->memory.inode->i_mapping;
	return 0;
}

static int window_release(struct inode *inode, struct file *file)
{
	struct vgpuh_window *window = file->private_data;
	struct mm_struct *opener = NULL;
	u64 old = 0;

	down_read(&window->viewers.lock);
	mutex_lock(&window->lock);
	if (!--window->opener.nr) {
		opener = window->opener.mm;
		window->opener.mm = NULL;
		wake_up_all(&vgpu_windows_closed);
		if (window->opener.mapped && list_empty(&window->viewers.list)) {
			old = window->id;
			vgpuh_window_renew(window);
		}
	}
	mutex_unlock(&window->lock);
	up_read(&window->viewers.lock);
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
	vma->vm_ops = &vgpuh_window_vm_ops;
	vma->vm_private_data = window;
	mutex_lock(&window->lock);
	window->opener.mapped = true;
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
