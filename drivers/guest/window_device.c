// SPDX-License-Identifier: GPL-2.0-only
/*
 * This provider shows windows in the memory of a device that the hypervisor has given this
 * machine. The devices' drivers find them: window_ivshmem.c, window_virtio.c.
 *
 * Where a range is bound, the cache attribute is the host's: page tables get it from
 * the kernel's record of who maps what how, so a mapping of the kernel's own holds it
 * there for as long as the host may have the range bound. Without one the processor
 * would not cache the range at all.
 *
 * Mappings of the kernel (struct hold) end with their range or slot, or when the device's driver
 * lets go of the memory, if that is first: something else may be there then, with another
 * attribute, and programs and lanes keep ranges and slots for as long as they like.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <asm/pgtable_types.h>

#include "fault.h"
#include "slot.h"
#include "window.h"
#include "window_device.h"

/* All that is in the window is copied first. A host that says nothing for as long is gone. */
#define DEVICE_HIDE_WAIT	(10 * HZ)

/* Taken outside window->use, and inside mmap_lock and the lock of the hosts with windows. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);

/**
 * struct hold - a mapping of the kernel of a range or a slot
 * @entry: links it into device->holds, under device->holds_lock
 * @at: its address, or NULL: the memory is gone; written with device->touch held for writing
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
 * vgpu_window_device_alloc - make a device that no window knows of yet
 * @dev: the device, which stays until it is removed
 * @start: physical address of its memory
 * @size: size of that in bytes
 * @id: asks which window it is
 *
 * Return: the device, to be given to vgpu_window_device_put(), or NULL: no memory.
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
 * vgpu_window_device_put - give a reference back
 * @device: the device
 */
void vgpu_window_device_put(struct vgpu_window_device *device)
{
	kref_put(&device->ref, device_free);
}

/**
 * vgpu_window_device_add - let windows be in a device's memory
 * @device: the device
 *
 * Context: process; no locks, as a host's window may be opened in it at once.
 */
void vgpu_window_device_add(struct vgpu_window_device *device)
{
	down_write(&device->touch);
	device->removed = false;
	up_write(&device->touch);
	mutex_lock(&devices_lock);
	list_add_tail(&device->node, &devices);
	mutex_unlock(&devices_lock);
	/* The host may have said before that it is there. */
	vgpu_window_found();
}

/* Ends all mappings of the kernel but the header's, and lets no others be made. */
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

/* Return: the window that was in it, with a reference, or NULL. */
static struct vgpu_window *device_leave(struct vgpu_window_device *device)
{
	struct vgpu_window *window;

	mutex_lock(&devices_lock);
	list_del_init(&device->node);
	window = device->window;
	/* One that is being freed waits for the lock. */
	if (window && !kref_get_unless_zero(&window->ref))
		window = NULL;
	mutex_unlock(&devices_lock);
	/* Programs do not see it any more when this returns. */
	if (window)
		vgpu_window_lost(window);
	device_end_holds(device);
	return window;
}

/**
 * vgpu_window_device_remove - let no window be in a device's memory any more
 * @device: a device that was added
 *
 * No page table shows the memory any more when this returns, the kernel's included.
 *
 * Context: process; no locks.
 */
void vgpu_window_device_remove(struct vgpu_window_device *device)
{
	struct vgpu_window *window = device_leave(device);

	if (window)
		vgpu_window_put(window);
	/* Nobody asks a device that is in no list, nor touches slots of one that is removed. */
	if (device->header)
		iounmap(device->header);
	WRITE_ONCE(device->header, NULL);
}

/**
 * vgpu_window_device_hide - likewise, and wait until the host shows nothing there any more
 * @device: a device that was added, and may have been removed or hidden since
 *
 * vgpu_window_device_add() undoes it.
 *
 * Context: process; no locks. Waits for the host, killably.
 *
 * Return: false: the host may show something still.
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
		/* The number is another one since the hypervisor began to use it. */
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

/* Asks whether the kernel granted a cached mapping: one that is less cached is no error for it. */
static bool device_is_cached(const void __iomem *held)
{
	unsigned int level;
	pte_t *pte = lookup_address((__force unsigned long)held, &level);

	return pte && !(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT));
}

/*
 * Maps the range as the host has it cached, so that programs have it like that until it is
 * unmapped. Return: NULL if it cannot be had.
 */
static void __iomem *device_map(phys_addr_t start, u64 len, u32 cache)
{
	void __iomem *at;

	if (cache == VGPU_CACHE_WC)
		return ioremap_wc(start, len);
	if (cache == VGPU_CACHE_UC)
		return ioremap(start, len);
	at = ioremap_cache(start, len);
	/* Firmware may have said that memory is not cached there. */
	if (at && !device_is_cached(at)) {
		iounmap(at);
		at = NULL;
	}
	return at;
}

/* Return: the hold; or an errno: -ENODEV if the window is gone, -ENOMEM if it cannot be had so. */
static struct hold *device_hold(struct vgpu_window *window, u64 offset, u64 len, u32 cache)
{
	struct hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	struct vgpu_window_device *device = window->data;
	int ret = -ENODEV;

	if (!hold)
		return ERR_PTR(-ENOMEM);
	/* The memory may be another device's by now, or another window's. */
	down_read(&device->touch);
	if (!device->removed && !READ_ONCE(window->gone)) {
		hold->at = device_map(device->start + offset, len, cache);
		ret = hold->at ? 0 : -ENOMEM;
		if (ret)
			dev_warn_once(device->dev,
				      "uncached memory: mappings go by copy; larger windows have other memory\n");
	}
	if (!ret) {
		spin_lock(&device->holds_lock);
		list_add(&hold->entry, &device->holds);
		spin_unlock(&device->holds_lock);
	}
	up_read(&device->touch);
	if (!ret)
		return hold;
	kfree(hold);
	return ERR_PTR(ret);
}

static void device_let_go(struct vgpu_window_device *device, struct hold *hold)
{
	/* The driver does not let go of the memory before it is unmapped. */
	down_read(&device->touch);
	spin_lock(&device->holds_lock);
	list_del(&hold->entry);
	spin_unlock(&device->holds_lock);
	if (hold->at)
		iounmap(hold->at);
	up_read(&device->touch);
	kfree(hold);
}

static int device_bind(struct vgpu_window_range *range, u32 cache)
{
	struct hold *hold = device_hold(range->window, range->offset, range->len, cache);

	if (IS_ERR(hold))
		return PTR_ERR(hold);
	range->data = hold;
	return 0;
}

static void device_unbind(struct vgpu_window_range *range)
{
	device_let_go(range->window->data, range->data);
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

/* Inserts the whole area: a small mapping is there at once, and a large one after few faults. */
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

/* --- slots ---------------------------------------------------------------- */

static unsigned long *device_slots(struct vgpu_window *window)
{
	struct vgpu_window_device *device = window->data;

	return device->slots;
}

static bool device_slot_enter(struct vgpu_slot *slot)
{
	struct vgpu_window_device *device = slot->window->data;
	struct hold *hold = slot->data;

	down_read(&device->touch);
	if (hold->at)
		return true;
	up_read(&device->touch);
	return false;
}

static void device_slot_leave(struct vgpu_slot *slot)
{
	struct vgpu_window_device *device = slot->window->data;

	up_read(&device->touch);
}

static int device_slot_open(struct vgpu_slot *slot)
{
	struct vgpu_window_device *device = slot->window->data;
	struct hold *hold;

	/* Without a header nobody would tell when the slot is taken away. */
	if (!READ_ONCE(device->header))
		return -ENODEV;
	hold = device_hold(slot->window, vgpu_slot_offset(slot), VGPU_ARENA_SLOT, VGPU_CACHE_WB);
	if (IS_ERR(hold))
		return PTR_ERR(hold);
	/* Cached memory, as any. Nobody is let in where it is gone by now. */
	slot->memory = (__force void *)hold->at;
	slot->data = hold;
	return 0;
}

static void device_slot_close(struct vgpu_slot *slot)
{
	device_let_go(slot->window->data, slot->data);
}

static u64 device_slot_id(const struct vgpu_slot *slot)
{
	struct vgpu_window_device *device = slot->window->data;

	return readq(device->header + offsetof(struct vgpu_window_header, slots[slot->nr]));
}

const struct vgpu_window_provider vgpu_window_provider_device = {
	.name = "device",
	.open = device_open,
	.close = device_close,
	.bind = device_bind,
	.unbind = device_unbind,
	.insert = device_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = device_insert_huge,
#endif
	.slots = device_slots,
	.slot_open = device_slot_open,
	.slot_close = device_slot_close,
	.slot_enter = device_slot_enter,
	.slot_leave = device_slot_leave,
	.slot_id = device_slot_id,
};
