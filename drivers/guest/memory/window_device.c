// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window provider for devices whose memory is a window, which the hypervisor has given this
 * machine. The drivers that find such devices are window_ivshmem.c and window_virtio.c.
 *
 * A bound range must be mapped with the host's cache attribute. PTEs for device memory get
 * their cache attribute from the kernel's memtype record. So the kernel itself maps the range
 * with the wanted attribute (struct hold) for as long as the host may have the range bound.
 * Memory without a record is mapped uncached.
 *
 * A hold ends with its range, or earlier, when the device's driver releases the memory: programs
 * may keep ranges for longer, and another device with another cache attribute may get the same
 * physical addresses.
 */
#include <linux/device.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <asm/pgtable_types.h>

#include "fault.h"
#include "memory/window.h"
#include "memory/window_announce.h"
#include "memory/window_device.h"
#include "memory/window_range.h"

/*
 * Time to wait for the host: all that is in the window is copied first. A slower host is taken
 * for lost.
 */
#define DEVICE_HIDE_WAIT	(10 * HZ)

/* Guards the list of devices; taken inside mmap_lock and window_hosts_lock, outside window->use. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);

/**
 * struct hold - a mapping of a range in the kernel's address space
 * @entry: entry in device->holds, guarded by device->holds_lock
 * @at: address of the mapping; NULL: the memory is gone. Set to NULL with device->touch held
 *	for writing
 */
struct hold {
	struct list_head entry;
	void __iomem *at;
};

static void device_free(struct kref *ref)
{
	struct vgpu_window_device *device = container_of(ref, struct vgpu_window_device, ref);

	kfree(device);
}

/**
 * vgpu_window_device_alloc - allocate a device, in which no window can be until it is added
 * @dev: device, which must stay until vgpu_window_device_remove() or _hide()
 * @start: physical address of the device's memory
 * @size: size of that memory in bytes
 * @id: function that reads the number of the window from the device
 *
 * Return: the device, to be given to vgpu_window_device_put(), or NULL if there is no memory.
 */
struct vgpu_window_device *vgpu_window_device_alloc(struct device *dev, phys_addr_t start, u64 size,
						    vgpu_window_id_fn *id)
{
	struct vgpu_window_device *device = kzalloc(sizeof(*device), GFP_KERNEL);

	if (!device)
		return NULL;
	kref_init(&device->ref);
	INIT_LIST_HEAD(&device->node);
	init_rwsem(&device->touch);
	spin_lock_init(&device->holds_lock);
	INIT_LIST_HEAD(&device->holds);
	device->dev = dev;
	device->start = start;
	device->size = size;
	device->id = id;
	return device;
}

/**
 * vgpu_window_device_put - drop a reference
 * @device: the device
 */
void vgpu_window_device_put(struct vgpu_window_device *device)
{
	kref_put(&device->ref, device_free);
}

/* Unmaps all holds, and prevents new ones. */
static void device_end_holds(struct vgpu_window_device *device)
{
	struct hold *hold;

	down_write(&device->touch);
	device->removed = true;
	list_for_each_entry(hold, &device->holds, entry) {
		if (hold->at)
			iounmap(hold->at);
		hold->at = NULL;
	}
	up_write(&device->touch);
}

/*
 * Takes a device off the list, ends the use of the window in it (vgpu_window_lost()) and unmaps
 * all holds. Return: that window with a reference, or NULL.
 */
static struct vgpu_window *device_leave(struct vgpu_window_device *device)
{
	struct vgpu_window *window;

	mutex_lock(&devices_lock);
	list_del_init(&device->node);
	window = device->window;
	/* A window whose last reference is gone waits in device_close() for the lock. */
	if (window && !kref_get_unless_zero(&window->ref))
		window = NULL;
	mutex_unlock(&devices_lock);
	/* All PTEs that show the window are zapped when vgpu_window_lost() returns. */
	if (window)
		vgpu_window_lost(window);
	device_end_holds(device);
	return window;
}

/**
 * vgpu_window_device_remove - withdraw a device's memory
 * @device: a device that was added
 *
 * When the function returns, neither programs nor the kernel have the memory mapped.
 *
 * Context: process; no locks.
 */
void vgpu_window_device_remove(struct vgpu_window_device *device)
{
	struct vgpu_window *window = device_leave(device);

	if (window)
		vgpu_window_put(window);
	/* No window opens an unlisted device, so nothing reads the number any more. */
	if (device->header)
		iounmap(device->header);
	device->header = NULL;
}

/**
 * vgpu_window_device_hide - withdraw a device's memory, and wait until nothing is bound in it
 * @device: a device that was added, and may have been removed or hidden since
 *
 * vgpu_window_device_add() offers the memory again.
 *
 * Context: process; no locks. Waits for the host, killably, for DEVICE_HIDE_WAIT at most.
 *
 * Return: true if the host has nothing bound in the memory; false if it may.
 */
bool vgpu_window_device_hide(struct vgpu_window_device *device)
{
	struct vgpu_window *window = device_leave(device);
	bool hidden = true;

	if (window) {
		hidden = vgpu_window_await_hidden(window, DEVICE_HIDE_WAIT);
		vgpu_window_put(window);
	}
	return hidden;
}

/* --- the provider --------------------------------------------------------- */

static int device_open(struct vgpu_window *window)
{
	struct vgpu_window_device *device;
	int ret = -ENODEV;

	mutex_lock(&devices_lock);
	list_for_each_entry(device, &devices, node) {
		/*
		 * Read the number anew each time: the host changes it when a hypervisor closes
		 * the window.
		 */
		if (window->size > device->size || device->id(device) != window->id ||
		    (device->window && !READ_ONCE(device->window->gone)))
			continue;
		kref_get(&device->ref);
		device->window = window;
		window->data = device;
		ret = 0;
		break;
	}
	mutex_unlock(&devices_lock);
	return ret;
}

static void device_close(struct vgpu_window *window)
{
	struct vgpu_window_device *device = window->data;

	mutex_lock(&devices_lock);
	if (device->window == window)
		device->window = NULL;
	mutex_unlock(&devices_lock);
	vgpu_window_device_put(device);
}

/* Returns true if the mapping is cached: ioremap_cache() may succeed with a weaker attribute. */
static bool device_is_cached(const void __iomem *held)
{
	unsigned int level;
	pte_t *pte = lookup_address((__force unsigned long)held, &level);

	return pte && !(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT));
}

/*
 * Maps the memory with the host's cache attribute, which PTEs of programs get as long as this
 * mapping exists. Return: NULL if the memory cannot be mapped with that attribute.
 */
static void __iomem *device_map(phys_addr_t start, u64 len, u32 cache)
{
	void __iomem *at;

	if (cache == VGPU_CACHE_WC)
		return ioremap_wc(start, len);
	if (cache == VGPU_CACHE_UC)
		return ioremap(start, len);
	at = ioremap_cache(start, len);
	/* Firmware may have declared the memory uncached (MTRRs). */
	if (at && !device_is_cached(at)) {
		iounmap(at);
		at = NULL;
	}
	return at;
}

/*
 * Makes a hold. Return: 0, or an errno: -ENODEV: the window or the device is gone; -ENOMEM: no
 * memory, or another attribute.
 */
static int device_bind(struct vgpu_window_range *range, u32 cache)
{
	struct hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	struct vgpu_window_device *device = range->window->data;
	int ret = -ENODEV;

	if (!hold)
		return -ENOMEM;
	/*
	 * Another device, or another window, may use the same memory once this one is removed
	 * or gone.
	 */
	down_read(&device->touch);
	if (!device->removed && !READ_ONCE(range->window->gone)) {
		hold->at = device_map(device->start + range->offset, range->len, cache);
		ret = hold->at ? 0 : -ENOMEM;
		if (ret)
			dev_warn_once(device->dev,
				      "window memory cannot be mapped as the host maps it, device memory is copied instead: use a larger window\n");
	}
	if (!ret) {
		spin_lock(&device->holds_lock);
		list_add(&hold->entry, &device->holds);
		spin_unlock(&device->holds_lock);
	}
	up_read(&device->touch);
	if (ret)
		kfree(hold);
	else
		range->data = hold;
	return ret;
}

static void device_unbind(struct vgpu_window_range *range)
{
	struct vgpu_window_device *device = range->window->data;
	struct hold *hold = range->data;

	/* The lock delays the release of the memory by its driver until the hold is unmapped. */
	down_read(&device->touch);
	spin_lock(&device->holds_lock);
	list_del(&hold->entry);
	spin_unlock(&device->holds_lock);
	if (hold->at)
		iounmap(hold->at);
	up_read(&device->touch);
	kfree(hold);
}

static pgprot_t device_like(u32 cache)
{
	switch (cache) {
	case VGPU_CACHE_WC:
		return pgprot_writecombine(PAGE_SHARED);
	case VGPU_CACHE_UC:
		return pgprot_noncached(PAGE_SHARED);
	default:
		return PAGE_SHARED;
	}
}

/* Inserts PTEs for all of @area: a small mapping takes one fault, and a large one few. */
static vm_fault_t device_insert(struct vgpu_window *window, struct vm_fault *vmf,
				const struct vgpu_window_area *area, bool writable, u32 cache)
{
	struct vgpu_window_device *device = window->data;
	struct vm_area_struct *vma = vmf->vma;
	unsigned long flags = vma->vm_flags, addr = vmf->address & PAGE_MASK;
	pgprot_t prot = vm_get_page_prot(writable ? flags : flags & ~VM_WRITE);
	unsigned long pfn = PHYS_PFN(device->start + area->offset);
	pgprot_t like = device_like(cache);
	vm_fault_t fault;
	u64 at;

	fault = vgpu_insert_pfn_cached(vma, addr, pfn, prot, like);
	addr -= area->offset - area->first;
	for (at = area->first; fault == VM_FAULT_NOPAGE && at < area->end; at += PAGE_SIZE) {
		if (at != area->offset &&
		    vgpu_insert_pfn_cached(vma, addr, PHYS_PFN(device->start + at), prot, like) !=
		    VM_FAULT_NOPAGE)
			break;
		addr += PAGE_SIZE;
	}
	return fault;
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t device_insert_huge(struct vgpu_window *window, struct vm_fault *vmf,
				     u64 offset, bool writable, u32 cache)
{
	struct vgpu_window_device *device = window->data;

	if (device->start % PMD_SIZE || (!writable && (vmf->flags & FAULT_FLAG_WRITE)))
		return VM_FAULT_FALLBACK;
	return vgpu_insert_huge(vmf, PHYS_PFN(device->start + round_down(offset, PMD_SIZE)),
				writable, device_like(cache));
}
#endif

static const struct vgpu_window_provider device_provider = {
	.open = device_open,
	.close = device_close,
	.bind = device_bind,
	.unbind = device_unbind,
	.insert = device_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = device_insert_huge,
#endif
};

/**
 * vgpu_window_device_add - offer a device's memory to the windows of hosts
 * @device: the device
 *
 * Context: process; no locks, as a host's window may be opened in the memory at once.
 */
void vgpu_window_device_add(struct vgpu_window_device *device)
{
	down_write(&device->touch);
	device->removed = false;
	up_write(&device->touch);
	mutex_lock(&devices_lock);
	list_add_tail(&device->node, &devices);
	mutex_unlock(&devices_lock);
	/* A host may have announced its window before the memory was there. */
	vgpu_window_found(&device_provider);
}
