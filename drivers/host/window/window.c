// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: the char device that a hypervisor maps. See window.h.
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
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "anon.h"
#include "base/cmd.h"
#include "base/work.h"
#include "compat.h"
#include "fault.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/nested.h"
#include "window/window.h"

#define WINDOW_MINORS		256
#define WINDOW_SIZE_MAX		SZ_1T
/* Time for which an open waits for another process that has the window and may be ending. */
#define OPEN_WAIT_MS		2000

static DEFINE_MUTEX(windows_lock);
static LIST_HEAD(windows);
static dev_t window_devt;
static DEFINE_IDA(window_minors);
/* Number of windows that are not freed yet; the module's exit waits for them. */
static atomic_t windows_left = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(windows_wait);
/* Wait queue of opens that wait for another process to close a window. */
static DECLARE_WAIT_QUEUE_HEAD(windows_closed);

/* lockdep: PTEs of a window are zapped while PTEs of a driver's address_space are zapped. */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key window_i_mmap_key;
#endif

static struct vgpu_window *to_window(struct device *dev)
{
	return container_of(dev, struct vgpu_window, dev);
}

void vgpu_window_get(struct vgpu_window *window)
{
	get_device(&window->dev);
}

void vgpu_window_put(struct vgpu_window *window)
{
	put_device(&window->dev);
}

void vgpu_window_zap(struct vgpu_window *window, u64 offset, u64 len)
{
	struct vgpu_window_viewer *viewer;

	vgpu_unmap_nested(window->inode->i_mapping, offset >> PAGE_SHIFT, len >> PAGE_SHIFT);
	down_read(&window->viewers_lock);
	list_for_each_entry(viewer, &window->viewers, node)
		viewer->zap(viewer, offset, len);
	up_read(&window->viewers_lock);
}

/* --- faults --------------------------------------------------------------- */

static vm_fault_t window_insert_dummy(struct vgpu_window *window, struct vm_fault *vmf)
{
	atomic64_inc(&window->dummies);
	return vgpu_insert_pfn_cached(vmf->vma, vmf->address & PAGE_MASK,
				      page_to_pfn(window->dummy),
				      vm_get_page_prot(vmf->vma->vm_flags), PAGE_SHARED);
}

static vm_fault_t window_insert_header(struct vgpu_window *window, struct vm_fault *vmf)
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
static vm_fault_t window_insert(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
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
		atomic64_inc(&window->failures);
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
	struct vgpu_window *window = vmf->vma->vm_private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	struct vgpu_binding *binding = NULL;
	vm_fault_t ret;

	if (window_fault_is_for_device(vmf))
		return VM_FAULT_SIGBUS;
	atomic64_inc(&window->faults);
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
	struct vgpu_window *window = vmf->vma->vm_private_data;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct vgpu_binding *binding;

	if (order != PMD_ORDER || window_fault_is_for_device(vmf) ||
	    ((vmf->address & PAGE_MASK) ^ offset) % PMD_SIZE)
		return VM_FAULT_FALLBACK;
	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		ret = vgpu_binding_insert_huge_locked(binding, vmf, offset, false);
	mutex_unlock(&window->lock);
	if (ret == VM_FAULT_NOPAGE)
		atomic64_inc(&window->faults);
	return window_done(vmf, ret);
}
#endif

static vm_fault_t window_pfn_mkwrite(struct vm_fault *vmf)
{
	struct vgpu_window *window = vmf->vma->vm_private_data;
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
		atomic64_inc(&window->failures);
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

/* --- the device file ------------------------------------------------------ */

/*
 * Give the window a new number: its hypervisor and guest, if any, are gone, and the next ones
 * see nothing of theirs.
 */
static void window_renew(struct vgpu_window *window)
{
	struct vgpu_window_header *header = page_address(window->header);

	lockdep_assert_held(&window->lock);
	window->id = get_random_u64() ?: 1;
	window->mapped = false;
	header->window = cpu_to_le64(window->id);
	memset(page_address(window->dummy), 0, PAGE_SIZE);
}

/*
 * Open the window for @mm.
 * Return: 0; -ENXIO; -EBUSY: another process has the window; or the error of
 * vgpu_nested_check().
 */
static int window_take(struct vgpu_window *window, struct mm_struct *mm)
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
static int window_take_wait(struct vgpu_window *window, struct mm_struct *mm)
{
	unsigned long end = jiffies + msecs_to_jiffies(OPEN_WAIT_MS);
	long left;
	int ret;

	while ((ret = window_take(window, mm)) == -EBUSY) {
		left = end - jiffies;
		if (left <= 0)
			break;
		if (wait_event_killable_timeout(windows_closed, !READ_ONCE(window->opens) ||
						READ_ONCE(window->gone), left) < 0)
			return -EINTR;
	}
	return ret;
}

static int window_open(struct inode *inode, struct file *file)
{
	struct vgpu_window *window = container_of(inode->i_cdev, struct vgpu_window, cdev);
	struct mm_struct *mm = current->mm;
	int ret;

	if (!mm)
		return -EINVAL;
	ret = file->f_flags & O_NONBLOCK ? window_take(window, mm) : window_take_wait(window, mm);
	if (ret)
		return ret;
	vgpu_window_get(window);
	file->private_data = window;
	file->f_mapping = window->inode->i_mapping;
	return 0;
}

static int window_release(struct inode *inode, struct file *file)
{
	struct vgpu_window *window = file->private_data;
	struct mm_struct *opener = NULL;
	u64 old = 0;

	down_read(&window->viewers_lock);
	mutex_lock(&window->lock);
	if (!--window->opens) {
		opener = window->opener;
		window->opener = NULL;
		wake_up_all(&windows_closed);
		if (window->mapped && list_empty(&window->viewers)) {
			old = window->id;
			window_renew(window);
		}
	}
	mutex_unlock(&window->lock);
	up_read(&window->viewers_lock);
	if (opener)
		mmdrop(opener);
	/* The window has another number now, so faults do not find the old bindings any more. */
	if (old) {
		vgpu_binding_end_range(window, NULL, old, 0, window->size, false);
		vgpu_window_changed(window);
	}
	vgpu_window_put(window);
	return 0;
}

static loff_t window_llseek(struct file *file, loff_t offset, int whence)
{
	struct vgpu_window *window = file->private_data;

	return fixed_size_llseek(file, offset, whence, window->size);
}

static int window_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpu_window *window = file->private_data;
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

static const struct file_operations window_fops = {
	.owner = THIS_MODULE,
	.open = window_open,
	.release = window_release,
	.llseek = window_llseek,
	.mmap = window_mmap,
	/* Mappings begin where PMD mappings fit. NULL in kernels without transparent huge pages. */
	.get_unmapped_area = thp_get_unmapped_area,
};

/* --- lifetime ------------------------------------------------------------- */

static char *window_devnode(VGPU_CLASS_DEVICE *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	const struct vgpu_window *window = container_of(dev, struct vgpu_window, dev);

	/* The core asks for nothing but the name when the device is deleted. */
	if (mode)
		*mode = 0600;
	if (uid)
		*uid = window->uid;
	if (gid)
		*gid = window->gid;
	return NULL;
}

static const struct device_type window_type = {
	.name = "vgpu-window",
	.devnode = window_devnode,
};

static struct class window_class = {
	.name = "vgpu-window",
};

/*
 * Give the window's i_mmap_rwsem a lockdep class of its own, as it is taken while a driver's
 * i_mmap_rwsem is held.
 */
static void window_class_begin(struct vgpu_window *window)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map *map = &window->inode->i_mapping->i_mmap_rwsem.dep_map;

	window->i_mmap_key = map->key;
	window->i_mmap_name = map->name;
	lockdep_init_map_wait(map, "vgpu_window_i_mmap", &window_i_mmap_key, 0, LD_WAIT_SLEEP);
#endif
}

/* Restore the class: the inode will be used again by others, and nothing sets the class anew. */
static void window_class_end(struct vgpu_window *window)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map *map = &window->inode->i_mapping->i_mmap_rwsem.dep_map;

	lockdep_init_map_wait(map, window->i_mmap_name, window->i_mmap_key, 0, LD_WAIT_SLEEP);
#endif
}

static void window_free_work(struct work_struct *work)
{
	struct vgpu_window *window = container_of(work, struct vgpu_window, free_work);

	if (window->wq)
		destroy_workqueue(window->wq);
	kfree(window);
	if (atomic_dec_and_test(&windows_left))
		wake_up_all(&windows_wait);
}

static void window_free(struct device *dev)
{
	struct vgpu_window *window = to_window(dev);

	ida_free(&window_minors, MINOR(window->dev.devt));
	if (window->inode) {
		window_class_end(window);
		iput(window->inode);
	}
	if (window->header)
		__free_page(window->header);
	if (window->dummy)
		__free_page(window->dummy);
	/* The last reference may be that of a work item on @wq. */
	queue_work(vgpu_host_patient_wq, &window->free_work);
}

static int window_alloc_memory(struct vgpu_window *window)
{
	struct vgpu_window_header *header;

	window->inode = vgpu_anon_inode_alloc();
	if (IS_ERR(window->inode)) {
		window->inode = NULL;
		return -ENOMEM;
	}
	window_class_begin(window);
	window->header = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	window->dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!window->header || !window->dummy)
		return -ENOMEM;
	header = page_address(window->header);
	memcpy(header->magic, VGPU_WINDOW_MAGIC, sizeof(header->magic));
	header->version = cpu_to_le32(VGPU_WINDOW_VERSION);
	header->size = cpu_to_le64(window->size);
	return 0;
}

/*
 * Make a window that is not in the list yet. Return: the window with a reference, or an
 * ERR_PTR().
 */
static struct vgpu_window *window_alloc(const struct vgpu_host_window_create *args)
{
	struct vgpu_window *window;
	int minor, ret;

	window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
	if (!window)
		return ERR_PTR(-ENOMEM);
	minor = ida_alloc_max(&window_minors, WINDOW_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(window);
		return ERR_PTR(minor == -ENOSPC ? -EMFILE : minor);
	}
	atomic_inc(&windows_left);
	INIT_WORK(&window->free_work, window_free_work);
	INIT_WORK(&window->end_work, vgpu_binding_end_work);
	device_initialize(&window->dev);
	window->dev.class = &window_class;
	window->dev.type = &window_type;
	window->dev.devt = MKDEV(MAJOR(window_devt), minor);
	window->dev.release = window_free;
	window->cid = args->cid;
	window->port = args->port;
	window->size = args->bytes;
	window->uid = make_kuid(current_user_ns(), args->uid);
	window->gid = make_kgid(current_user_ns(), args->gid);
	window->flags = args->flags;
	mutex_init(&window->lock);
	window->bindings = RB_ROOT;
	INIT_LIST_HEAD(&window->ended);
	init_rwsem(&window->viewers_lock);
	INIT_LIST_HEAD(&window->viewers);
	INIT_LIST_HEAD(&window->node);
	cdev_init(&window->cdev, &window_fops);
	window->cdev.owner = THIS_MODULE;

	ret = uid_valid(window->uid) && gid_valid(window->gid) ? 0 : -EINVAL;
	if (!ret)
		ret = window_alloc_memory(window);
	if (!ret && args->port == VGPU_WIRE_PORT)
		ret = dev_set_name(&window->dev, "vgpu-window-%u", args->cid);
	else if (!ret)
		ret = dev_set_name(&window->dev, "vgpu-window-%u-%u", args->cid, args->port);
	/*
	 * Each window has a workqueue, so a guest whose driver is stuck uses up no worker of
	 * another guest. It is per CPU: a thread that waits sleeps at once, so its own
	 * processor is free. Another processor would have to wake first and, in a virtual
	 * machine, might have to wait for a physical one.
	 */
	if (!ret) {
		window->wq = alloc_workqueue("%s", VGPU_WQ_PERCPU | WQ_CPU_INTENSIVE,
					     WQ_MAX_ACTIVE, dev_name(&window->dev));
		ret = window->wq ? 0 : -ENOMEM;
	}
	if (ret) {
		vgpu_window_put(window);
		return ERR_PTR(ret);
	}
	mutex_lock(&window->lock);
	window_renew(window);
	mutex_unlock(&window->lock);
	return window;
}

static int window_compare(const struct vgpu_window *window, u32 cid, u32 port)
{
	if (window->cid != cid)
		return window->cid < cid ? -1 : 1;
	return window->port == port ? 0 : window->port < port ? -1 : 1;
}

static struct vgpu_window *window_find_locked(u32 cid, u32 port)
{
	struct vgpu_window *window;

	lockdep_assert_held(&windows_lock);
	list_for_each_entry(window, &windows, node)
		if (!window_compare(window, cid, port))
			return window;
	return NULL;
}

struct vgpu_window *vgpu_window_find(const struct vgpu_peer *peer)
{
	struct vgpu_window *window;

	mutex_lock(&windows_lock);
	window = window_find_locked(peer->cid, peer->port);
	if (window)
		vgpu_window_get(window);
	mutex_unlock(&windows_lock);
	return window;
}

int vgpu_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd)
{
	struct vgpu_window *window, *other;
	int ret;

	if (args->flags & ~VGPU_HOST_WINDOW_AUTOMATIC || args->reserved)
		return -EOPNOTSUPP;
	if (!PAGE_ALIGNED(args->bytes) || args->bytes < 2 * PAGE_SIZE ||
	    args->bytes > WINDOW_SIZE_MAX || !args->cid || !args->port)
		return -EINVAL;
	ret = vgpu_nested_check();
	if (ret)
		return ret;
	window = window_alloc(args);
	if (IS_ERR(window))
		return PTR_ERR(window);
	strscpy(args->out_name, dev_name(&window->dev), sizeof(args->out_name));

	mutex_lock(&windows_lock);
	ret = window_find_locked(args->cid, args->port) ? -EEXIST : 0;
	if (!ret)
		ret = vgpu_cmd_respond(cmd);
	if (!ret)
		ret = cdev_device_add(&window->cdev, &window->dev);
	if (!ret) {
		/* The list is sorted, for VGPU_HOST_WINDOW_NEXT. */
		list_for_each_entry(other, &windows, node)
			if (window_compare(other, args->cid, args->port) > 0)
				break;
		list_add_tail(&window->node, &other->node);
	}
	mutex_unlock(&windows_lock);
	if (ret) {
		vgpu_window_put(window);
		return ret;
	}
	vgpu_window_changed(window);
	return 0;
}

/* Destroy a window. A process that has it open keeps it, and sees the window's own page. */
static void window_destroy(struct vgpu_window *window)
{
	mutex_lock(&window->lock);
	window->gone = true;
	mutex_unlock(&window->lock);
	wake_up_all(&windows_closed);
	vgpu_binding_end_range(window, NULL, 0, 0, window->size, false);
	cdev_device_del(&window->cdev, &window->dev);
	vgpu_window_changed(window);
	vgpu_window_put(window);
}

int vgpu_window_destroy(const struct vgpu_host_window_destroy *args)
{
	struct vgpu_window *window;
	int ret = 0;

	if (args->flags & ~VGPU_HOST_WINDOW_FORCE)
		return -EOPNOTSUPP;
	mutex_lock(&windows_lock);
	window = window_find_locked(args->cid, args->port);
	if (!window)
		ret = -ENOENT;
	else if (!(args->flags & VGPU_HOST_WINDOW_FORCE) && READ_ONCE(window->nr_bindings))
		ret = -EBUSY;
	else
		list_del_init(&window->node);
	mutex_unlock(&windows_lock);
	if (!ret)
		window_destroy(window);
	return ret;
}

int vgpu_window_drain(const struct vgpu_host_window_drain *args)
{
	struct vgpu_window *window;

	if (args->flags || args->reserved || args->drain > 1)
		return -EOPNOTSUPP;
	mutex_lock(&windows_lock);
	window = window_find_locked(args->cid, args->port);
	if (window) {
		vgpu_window_get(window);
		mutex_lock(&window->lock);
		WRITE_ONCE(window->drain, args->drain);
		mutex_unlock(&window->lock);
	}
	mutex_unlock(&windows_lock);
	if (!window)
		return -ENOENT;
	vgpu_window_changed(window);
	vgpu_window_put(window);
	return 0;
}

int vgpu_window_stat(struct vgpu_host_window_stat *args)
{
	bool next = args->flags & VGPU_HOST_WINDOW_NEXT;
	struct vgpu_window *window, *found = NULL;
	int after;

	if (args->flags & ~VGPU_HOST_WINDOW_NEXT)
		return -EOPNOTSUPP;
	mutex_lock(&windows_lock);
	list_for_each_entry(window, &windows, node) {
		after = window_compare(window, args->cid, args->port);
		if (next ? after > 0 : !after) {
			found = window;
			break;
		}
	}
	if (found) {
		args->out_cid = found->cid;
		args->out_port = found->port;
		strscpy(args->out_name, dev_name(&found->dev), sizeof(args->out_name));
		args->out_bytes = found->size;
		args->out_bound_bytes = atomic64_read(&found->bound_bytes);
		args->out_bindings = READ_ONCE(found->nr_bindings);
		args->out_opens = READ_ONCE(found->opens);
		args->out_drain = READ_ONCE(found->drain);
		args->out_reserved = 0;
		args->out_reserved2 = 0;
		args->out_faults = atomic64_read(&found->faults);
		args->out_resolved = atomic64_read(&found->resolved);
		args->out_dummies = atomic64_read(&found->dummies);
		args->out_failures = atomic64_read(&found->failures);
		args->out_timeouts = atomic64_read(&found->timeouts);
		args->out_zaps = atomic64_read(&found->zaps);
		args->out_huge = atomic64_read(&found->huge);
		args->out_uid = from_kuid_munged(current_user_ns(), found->uid);
		args->out_flags = found->flags;
	}
	mutex_unlock(&windows_lock);
	return found ? 0 : -ENOENT;
}

bool vgpu_window_is_device(dev_t rdev)
{
	return MAJOR(rdev) == MAJOR(window_devt);
}

/* --- a guest in the same kernel ------------------------------------------- */

static struct vgpu_window *window_attach(u64 id, u64 size, struct vgpu_window_viewer *viewer)
{
	struct vgpu_window *window, *found = NULL;

	mutex_lock(&windows_lock);
	list_for_each_entry(window, &windows, node) {
		down_write(&window->viewers_lock);
		mutex_lock(&window->lock);
		if (window->id == id && window->size == size && !window->gone) {
			list_add(&viewer->node, &window->viewers);
			vgpu_window_get(window);
			found = window;
		}
		mutex_unlock(&window->lock);
		up_write(&window->viewers_lock);
		if (found)
			break;
	}
	mutex_unlock(&windows_lock);
	return found;
}

static void window_detach(struct vgpu_window *window, struct vgpu_window_viewer *viewer)
{
	down_write(&window->viewers_lock);
	list_del(&viewer->node);
	up_write(&window->viewers_lock);
	vgpu_window_put(window);
}

static vm_fault_t window_local_insert(struct vgpu_window *window, struct vm_fault *vmf, u64 offset,
				      u64 first, u64 end)
{
	struct vgpu_binding *binding;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		ret = vgpu_binding_insert_locked(binding, vmf, offset, first, end, true);
	else if (window->gone)
		ret = VM_FAULT_RETRY;	/* The guest is notified of that in a moment. */
	mutex_unlock(&window->lock);
	return ret;
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t window_local_insert_huge(struct vgpu_window *window, struct vm_fault *vmf,
					   u64 offset)
{
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct vgpu_binding *binding;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		ret = vgpu_binding_insert_huge_locked(binding, vmf, offset, true);
	mutex_unlock(&window->lock);
	return ret;
}
#endif

static int window_local_resolve(struct vgpu_window *window, u64 offset)
{
	struct vgpu_binding *binding;
	int ret = 0;

	mutex_lock(&window->lock);
	binding = vgpu_binding_find_locked(window, offset);
	if (binding)
		vgpu_binding_get(binding);
	mutex_unlock(&window->lock);
	if (!binding)
		return schedule_timeout_killable(1) && fatal_signal_pending(current) ? -EINTR : 0;
	/* No deadline is needed: a program waits, and can be killed. */
	ret = vgpu_binding_resolve(binding, offset, MAX_SCHEDULE_TIMEOUT);
	vgpu_binding_put(binding);
	return ret;
}

const struct vgpu_window_local_ops vgpu_window_local_ops = {
	.attach = window_attach,
	.detach = window_detach,
	.insert = window_local_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = window_local_insert_huge,
#endif
	.resolve = window_local_resolve,
};
EXPORT_SYMBOL_GPL(vgpu_window_local_ops);

/* --- module --------------------------------------------------------------- */

int vgpu_window_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&window_devt, 0, WINDOW_MINORS, "vgpu-window");
	if (ret)
		return ret;
	ret = class_register(&window_class);
	if (ret)
		goto err_unregister_region;
	return 0;

err_unregister_region:
	unregister_chrdev_region(window_devt, WINDOW_MINORS);
	return ret;
}

void vgpu_window_exit(void)
{
	struct vgpu_window *window, *next;

	/* No device file of a window is open, and no peer is left. */
	list_for_each_entry_safe(window, next, &windows, node) {
		list_del_init(&window->node);
		window_destroy(window);
	}
	/* Workers in drivers hold references, and so do bindings that are ending. */
	wait_event(windows_wait, !atomic_read(&windows_left));
	class_unregister(&window_class);
	unregister_chrdev_region(window_devt, WINDOW_MINORS);
	ida_destroy(&window_minors);
}
