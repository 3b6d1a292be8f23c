// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: making, destroying, finding and listing them. See window.h.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "anon.h"
#include "base/cmd.h"
#include "base/work.h"
#include "fault.h"
#include "peer/guest.h"
#include "peer/peer.h"
#include "window/binding.h"
#include "window/nested.h"
#include "window/window.h"
#include "window/window_file.h"
#include "wire.h"

#define WINDOW_MINORS		256
#define WINDOW_SIZE_MAX		SZ_1T

/* Mutex that protects vgpu_windows. */
DEFINE_MUTEX(vgpu_windows_lock);
LIST_HEAD(vgpu_windows);
DECLARE_WAIT_QUEUE_HEAD(vgpu_windows_closed);

static dev_t window_devt;
static DEFINE_IDA(window_minors);
/* Number of windows that are not freed yet; the module's exit waits for them. */
static atomic_t windows_left = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(windows_wait);

/* Lockdep class of the windows' i_mmap_rwsem, see window_class_begin(). */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key window_i_mmap_key;
#endif

void vgpuh_window_get(struct vgpuh_window *window)
{
	get_device(&window->dev);
}

void vgpuh_window_put(struct vgpuh_window *window)
{
	put_device(&window->dev);
}

void vgpuh_window_zap(struct vgpuh_window *window, u64 offset, u64 len)
{
	struct vgpu_window_viewer *viewer;

	vgpu_unmap_nested(window->memory.inode->i_mapping, offset >> PAGE_SHIFT,
			  len >> PAGE_SHIFT);
	down_read(&window->viewers.lock);
	list_for_each_entry(viewer, &window->viewers.list, node)
		viewer->zap(viewer, offset, len);
	up_read(&window->viewers.lock);
}

void vgpuh_window_renew(struct vgpuh_window *window)
{
	struct vgpu_window_header *header = page_address(window->memory.header);

	lockdep_assert_held(&window->lock);
	window->id = get_random_u64() ?: 1;
	window->opener.mapped = false;
	header->window = cpu_to_le64(window->id);
	memset(page_address(window->memory.dummy), 0, PAGE_SIZE);
}

/* Compare the address of a window's guest with another one. Return: <0, 0 or >0. */
static int window_compare(const struct vgpuh_window *window, u32 cid, u32 port)
{
	if (window->cid != cid)
		return window->cid < cid ? -1 : 1;
	return window->port == port ? 0 : window->port < port ? -1 : 1;
}

static struct vgpuh_window *window_find_locked(u32 cid, u32 port)
{
	struct vgpuh_window *window;

	lockdep_assert_held(&vgpu_windows_lock);
	list_for_each_entry(window, &vgpu_windows, node)
		if (!window_compare(window, cid, port))
			return window;
	return NULL;
}

struct vgpuh_window *vgpuh_window_find(const struct vgpu_peer *peer)
{
	struct vgpuh_window *window;

	mutex_lock(&vgpu_windows_lock);
	window = window_find_locked(peer->guest->cid, peer->guest->port);
	if (window)
		vgpuh_window_get(window);
	mutex_unlock(&vgpu_windows_lock);
	return window;
}

static struct vgpuh_window *to_window(struct device *dev)
{
	return container_of(dev, struct vgpuh_window, dev);
}

static char *window_devnode(VGPU_CLASS_DEVICE *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	const struct vgpuh_window *window = container_of(dev, struct vgpuh_window, dev);

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
static void window_class_begin(struct vgpuh_window *window)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map *map = &window->memory.inode->i_mapping->i_mmap_rwsem.dep_map;

	window->memory.i_mmap_key = map->key;
	window->memory.i_mmap_name = map->name;
	lockdep_init_map_wait(map, "vgpu_window_i_mmap", &window_i_mmap_key, 0, LD_WAIT_SLEEP);
#endif
}

/* Restore the class: the inode will be used again by others, and nothing sets the class anew. */
static void window_class_end(struct vgpuh_window *window)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map *map = &window->memory.inode->i_mapping->i_mmap_rwsem.dep_map;

	lockdep_init_map_wait(map, window->memory.i_mmap_name, window->memory.i_mmap_key, 0,
			      LD_WAIT_SLEEP);
#endif
}

static void window_free_work(struct work_struct *work)
{
	struct vgpuh_window *window = container_of(work, struct vgpuh_window, free_work);

	if (window->workers.wq)
		destroy_workqueue(window->workers.wq);
	kfree(window);
	if (atomic_dec_and_test(&windows_left))
		wake_up_all(&windows_wait);
}

static void window_free(struct device *dev)
{
	struct vgpuh_window *window = to_window(dev);

	ida_free(&window_minors, MINOR(window->dev.devt));
	if (window->memory.inode) {
		window_class_end(window);
		iput(window->memory.inode);
	}
	if (window->memory.header)
		__free_page(window->memory.header);
	if (window->memory.dummy)
		__free_page(window->memory.dummy);
	/* The last reference may be that of a work item on workers.wq. */
	queue_work(vgpu_host_patient_wq, &window->free_work);
}

static int window_alloc_memory(struct vgpuh_window *window)
{
	struct vgpu_window_header *header;

	window->memory.inode = vgpu_anon_inode_alloc();
	if (IS_ERR(window->memory.inode)) {
		window->memory.inode = NULL;
		return -ENOMEM;
	}
	window_class_begin(window);
	window->memory.header = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	window->memory.dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!window->memory.header || !window->memory.dummy)
		return -ENOMEM;
	header = page_address(window->memory.header);
	memcpy(header->magic, VGPU_WINDOW_MAGIC, sizeof(header->magic));
	header->version = cpu_to_le32(VGPU_WINDOW_VERSION);
	header->size = cpu_to_le64(window->size);
	return 0;
}

/*
 * Make a window that is not in the list yet. Return: the window with a reference, or an
 * ERR_PTR().
 */
static struct vgpuh_window *window_alloc(const struct vgpu_host_window_create *args)
{
	struct vgpuh_window *window;
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
	INIT_WORK(&window->bindings.work, vgpu_binding_end_work);
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
	window->bindings.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&window->bindings.ended);
	init_rwsem(&window->viewers.lock);
	INIT_LIST_HEAD(&window->viewers.list);
	INIT_LIST_HEAD(&window->node);
	cdev_init(&window->cdev, &vgpuh_window_fops);
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
		window->workers.wq = alloc_workqueue("%s", VGPU_WQ_PERCPU | WQ_CPU_INTENSIVE,
						     WQ_MAX_ACTIVE, dev_name(&window->dev));
		ret = window->workers.wq ? 0 : -ENOMEM;
	}
	if (ret) {
		vgpuh_window_put(window);
		return ERR_PTR(ret);
	}
	mutex_lock(&window->lock);
	vgpuh_window_renew(window);
	mutex_unlock(&window->lock);
	return window;
}

int vgpuh_window_create(struct vgpu_host_window_create *args, struct vgpu_cmd *cmd)
{
	struct vgpuh_window *window, *other;
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

	mutex_lock(&vgpu_windows_lock);
	ret = window_find_locked(args->cid, args->port) ? -EEXIST : 0;
	if (!ret)
		ret = vgpu_cmd_respond(cmd);
	if (!ret)
		ret = cdev_device_add(&window->cdev, &window->dev);
	if (!ret) {
		/* The list is sorted, for VGPU_HOST_WINDOW_NEXT. */
		list_for_each_entry(other, &vgpu_windows, node)
			if (window_compare(other, args->cid, args->port) > 0)
				break;
		list_add_tail(&window->node, &other->node);
	}
	mutex_unlock(&vgpu_windows_lock);
	if (ret) {
		vgpuh_window_put(window);
		return ret;
	}
	vgpuh_window_changed(window);
	return 0;
}

/* Destroy a window. A process that has it open keeps it, and sees the window's own page. */
static void window_destroy(struct vgpuh_window *window)
{
	mutex_lock(&window->lock);
	window->gone = true;
	mutex_unlock(&window->lock);
	wake_up_all(&vgpu_windows_closed);
	vgpu_binding_end_range(window, NULL, 0, 0, window->size);
	cdev_device_del(&window->cdev, &window->dev);
	vgpuh_window_changed(window);
	vgpuh_window_put(window);
}

int vgpuh_window_destroy(const struct vgpu_host_window_destroy *args)
{
	struct vgpuh_window *window;
	int ret = 0;

	if (args->flags & ~VGPU_HOST_WINDOW_FORCE)
		return -EOPNOTSUPP;
	mutex_lock(&vgpu_windows_lock);
	window = window_find_locked(args->cid, args->port);
	if (!window)
		ret = -ENOENT;
	else if (!(args->flags & VGPU_HOST_WINDOW_FORCE) && READ_ONCE(window->bindings.nr))
		ret = -EBUSY;
	else
		list_del_init(&window->node);
	mutex_unlock(&vgpu_windows_lock);
	if (!ret)
		window_destroy(window);
	return ret;
}

int vgpuh_window_drain(const struct vgpu_host_window_drain *args)
{
	struct vgpuh_window *window;

	if (args->flags || args->reserved || args->drain > 1)
		return -EOPNOTSUPP;
	mutex_lock(&vgpu_windows_lock);
	window = window_find_locked(args->cid, args->port);
	if (window) {
		vgpuh_window_get(window);
		mutex_lock(&window->lock);
		WRITE_ONCE(window->drain, args->drain);
		mutex_unlock(&window->lock);
	}
	mutex_unlock(&vgpu_windows_lock);
	if (!window)
		return -ENOENT;
	vgpuh_window_changed(window);
	vgpuh_window_put(window);
	return 0;
}

int vgpuh_window_stat(struct vgpu_host_window_stat *args)
{
	bool next = args->flags & VGPU_HOST_WINDOW_NEXT;
	struct vgpuh_window *window, *found = NULL;
	int after;

	if (args->flags & ~VGPU_HOST_WINDOW_NEXT)
		return -EOPNOTSUPP;
	mutex_lock(&vgpu_windows_lock);
	list_for_each_entry(window, &vgpu_windows, node) {
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
		args->out_bound_bytes = atomic64_read(&found->stats.bound_bytes);
		args->out_bindings = READ_ONCE(found->bindings.nr);
		args->out_opens = READ_ONCE(found->opener.nr);
		args->out_drain = READ_ONCE(found->drain);
		args->out_reserved = 0;
		args->out_reserved2 = 0;
		args->out_faults = atomic64_read(&found->stats.faults);
		args->out_resolved = atomic64_read(&found->stats.resolved);
		args->out_dummies = atomic64_read(&found->stats.dummies);
		args->out_failures = atomic64_read(&found->stats.failures);
		args->out_timeouts = atomic64_read(&found->stats.timeouts);
		args->out_zaps = atomic64_read(&found->stats.zaps);
		args->out_huge = atomic64_read(&found->stats.huge);
		args->out_uid = from_kuid_munged(current_user_ns(), found->uid);
		args->out_flags = found->flags;
	}
	mutex_unlock(&vgpu_windows_lock);
	return found ? 0 : -ENOENT;
}

bool vgpuh_window_is_device(dev_t rdev)
{
	return MAJOR(rdev) == MAJOR(window_devt);
}

int vgpuh_window_init(void)
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

void vgpuh_window_exit(void)
{
	struct vgpuh_window *window, *next;

	/* No device file of a window is open, and no peer is left. */
	list_for_each_entry_safe(window, next, &vgpu_windows, node) {
		list_del_init(&window->node);
		window_destroy(window);
	}
	/* Workers in drivers hold references, and so do bindings that are ending. */
	wait_event(windows_wait, !atomic_read(&windows_left));
	class_unregister(&window_class);
	unregister_chrdev_region(window_devt, WINDOW_MINORS);
	ida_destroy(&window_minors);
}
