// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window as a PCI device: QEMU's ivshmem-plain, whose memory (BAR 2) is the host's
 * window. Others use that device too, and are left alone: ours begins with a header.
 *
 * Where a range is bound, the cache attribute is the host's: page tables get it from
 * the kernel's record of who maps what how, so a mapping of the kernel's own holds it
 * there for as long as the host may have the range bound. Without one the processor
 * would not cache the range at all.
 */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <asm/pgtable_types.h>

#include "uapi/linux/vgpu_wire.h"

#include "fault.h"
#include "slot.h"
#include "window.h"

#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_BAR		2

/**
 * struct ivshmem - a device with a window
 * @ref: the driver's, and the window's while that is open
 * @node: in ivshmem_devices, under ivshmem_lock like @window
 * @start: where the memory is
 * @size: bytes
 * @header: its first page
 * @dev: for what is said about it
 * @window: who uses it, or NULL. One of before may keep ranges for mappings that
 *	give SIGBUS, and slots
 * @slots: slots that are used, one bit each
 * @touch: read: while memory of slots is touched; written: before it goes
 * @removed: it has gone; something else may be there
 */
struct ivshmem {
	struct kref ref;
	struct list_head node;
	phys_addr_t start;
	u64 size;
	void __iomem *header;
	struct device *dev;
	struct vgpu_window *window;
	DECLARE_BITMAP(slots, VGPU_ARENA_SLOTS_MAX);
	struct rw_semaphore touch;
	bool removed;
};

/* Outside window->use, and inside mmap_lock and the list of hosts with windows. */
static DEFINE_MUTEX(ivshmem_lock);
static LIST_HEAD(ivshmem_devices);

static void ivshmem_free(struct kref *ref)
{
	struct ivshmem *ivshmem = container_of(ref, struct ivshmem, ref);

	iounmap(ivshmem->header);
	put_device(ivshmem->dev);
	kfree(ivshmem);
}

/* --- the device ----------------------------------------------------------- */

/* Return: number of the window that it is now, 0: it is none. */
static u64 ivshmem_id(const struct ivshmem *ivshmem)
{
	struct vgpu_window_header header;

	memcpy_fromio(&header, ivshmem->header, sizeof(header));
	if (memcmp(header.magic, VGPU_WINDOW_MAGIC, sizeof(header.magic)) ||
	    le32_to_cpu(header.version) != VGPU_WINDOW_VERSION ||
	    le64_to_cpu(header.size) > ivshmem->size)
		return 0;
	return le64_to_cpu(header.window);
}

static int ivshmem_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ivshmem *ivshmem;
	int ret;

	if (!(pci_resource_flags(pdev, IVSHMEM_BAR) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, IVSHMEM_BAR) < 2 * PAGE_SIZE)
		return -ENODEV;
	ivshmem = kzalloc(sizeof(*ivshmem), GFP_KERNEL);
	if (!ivshmem)
		return -ENOMEM;
	kref_init(&ivshmem->ref);
	init_rwsem(&ivshmem->touch);
	ivshmem->start = pci_resource_start(pdev, IVSHMEM_BAR);
	ivshmem->size = pci_resource_len(pdev, IVSHMEM_BAR);
	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto err_free;
	/* A look at it disturbs nobody. */
	ivshmem->header = ioremap(ivshmem->start, PAGE_SIZE);
	if (!ivshmem->header) {
		ret = -ENOMEM;
		goto err_disable;
	}
	ret = ivshmem_id(ivshmem) ? 0 : -ENODEV;
	if (!ret)
		ret = pci_request_region(pdev, IVSHMEM_BAR, KBUILD_MODNAME);
	if (ret)
		goto err_unmap;
	ivshmem->dev = get_device(&pdev->dev);
	pci_set_drvdata(pdev, ivshmem);
	mutex_lock(&ivshmem_lock);
	list_add_tail(&ivshmem->node, &ivshmem_devices);
	mutex_unlock(&ivshmem_lock);
	/* The host may have said before that it is there. */
	vgpu_window_found();
	return 0;

err_unmap:
	iounmap(ivshmem->header);
err_disable:
	pci_disable_device(pdev);
err_free:
	kfree(ivshmem);
	return ret;
}

static void ivshmem_remove(struct pci_dev *pdev)
{
	struct ivshmem *ivshmem = pci_get_drvdata(pdev);

	mutex_lock(&ivshmem_lock);
	list_del(&ivshmem->node);
	/* Programs do not see it any more when this returns. */
	if (ivshmem->window)
		vgpu_window_lost(ivshmem->window);
	mutex_unlock(&ivshmem_lock);
	down_write(&ivshmem->touch);
	ivshmem->removed = true;
	up_write(&ivshmem->touch);
	pci_release_region(pdev, IVSHMEM_BAR);
	pci_disable_device(pdev);
	kref_put(&ivshmem->ref, ivshmem_free);
}

static const struct pci_device_id ivshmem_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, IVSHMEM_DEVICE) },
	{ }
};

/* Without an alias: no machine loads this module for what others do with such a device. */
static struct pci_driver ivshmem_driver = {
	.name = "vgpu_window",
	.id_table = ivshmem_ids,
	.probe = ivshmem_probe,
	.remove = ivshmem_remove,
};

int vgpu_window_ivshmem_init(void)
{
	return pci_register_driver(&ivshmem_driver);
}

void vgpu_window_ivshmem_exit(void)
{
	pci_unregister_driver(&ivshmem_driver);
}

/* --- the provider --------------------------------------------------------- */

static int ivshmem_open(struct vgpu_window *window)
{
	struct ivshmem *ivshmem;
	int ret = -ENODEV;

	mutex_lock(&ivshmem_lock);
	list_for_each_entry(ivshmem, &ivshmem_devices, node) {
		/* The number is another one since the hypervisor began to use it. */
		if (window->size > ivshmem->size || ivshmem_id(ivshmem) != window->id ||
		    (ivshmem->window && !READ_ONCE(ivshmem->window->gone)))
			continue;
		kref_get(&ivshmem->ref);
		ivshmem->window = window;
		window->data = ivshmem;
		ret = 0;
		break;
	}
	mutex_unlock(&ivshmem_lock);
	return ret;
}

static void ivshmem_close(struct vgpu_window *window)
{
	struct ivshmem *ivshmem = window->data;

	mutex_lock(&ivshmem_lock);
	if (ivshmem->window == window)
		ivshmem->window = NULL;
	mutex_unlock(&ivshmem_lock);
	kref_put(&ivshmem->ref, ivshmem_free);
}

/* What the kernel granted: cached (write-back), where less is no error. */
static bool ivshmem_is_cached(const void __iomem *held)
{
	unsigned int level;
	pte_t *pte = lookup_address((__force unsigned long)held, &level);

	return pte && !(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT));
}

/* The range as the host has it cached, held until it is unmapped; NULL: cannot be had. */
static void __iomem *ivshmem_hold(phys_addr_t start, u64 len, u32 cache)
{
	void __iomem *held;

	if (cache == VGPU_CACHE_WC)
		return ioremap_wc(start, len);
	if (cache == VGPU_CACHE_UC)
		return ioremap(start, len);
	held = ioremap_cache(start, len);
	/* Firmware may have said that memory is not cached there. */
	if (held && !ivshmem_is_cached(held)) {
		iounmap(held);
		held = NULL;
	}
	return held;
}

static int ivshmem_bind(struct vgpu_window_range *range, u32 cache)
{
	struct ivshmem *ivshmem = range->window->data;
	void __iomem *held = ivshmem_hold(ivshmem->start + range->offset, range->len, cache);

	if (!held) {
		dev_warn_once(ivshmem->dev,
			      "uncached memory: mappings go by copy; larger windows have other memory\n");
		return -ENOMEM;
	}
	range->data = (__force void *)held;
	return 0;
}

static void ivshmem_unbind(struct vgpu_window_range *range)
{
	iounmap((__force void __iomem *)range->data);
}

static pgprot_t ivshmem_like(u32 cache)
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

/* All of it: the whole of a small mapping at once, and few faults of a large one. */
static vm_fault_t ivshmem_insert(struct vgpu_window *window, struct vm_fault *vmf,
				 const struct vgpu_window_area *area, bool writable, u32 cache)
{
	struct ivshmem *ivshmem = window->data;
	struct vm_area_struct *vma = vmf->vma;
	unsigned long flags = vma->vm_flags, addr = vmf->address & PAGE_MASK;
	pgprot_t prot = vm_get_page_prot(writable ? flags : flags & ~VM_WRITE);
	unsigned long pfn = PHYS_PFN(ivshmem->start + area->offset);
	pgprot_t like = ivshmem_like(cache);
	vm_fault_t fault;
	u64 at;

	fault = vgpu_insert_pfn_cached(vma, addr, pfn, prot, like);
	addr -= area->offset - area->first;
	for (at = area->first; fault == VM_FAULT_NOPAGE && at < area->end; at += PAGE_SIZE) {
		if (at != area->offset &&
		    vgpu_insert_pfn_cached(vma, addr, PHYS_PFN(ivshmem->start + at), prot, like) !=
		    VM_FAULT_NOPAGE)
			break;
		addr += PAGE_SIZE;
	}
	return fault;
}

#ifdef VGPU_HAVE_HUGE
static vm_fault_t ivshmem_insert_huge(struct vgpu_window *window, struct vm_fault *vmf,
				      u64 offset, bool writable, u32 cache)
{
	struct ivshmem *ivshmem = window->data;

	if (ivshmem->start % PMD_SIZE || (!writable && (vmf->flags & FAULT_FLAG_WRITE)))
		return VM_FAULT_FALLBACK;
	return vgpu_insert_huge(vmf, PHYS_PFN(ivshmem->start + round_down(offset, PMD_SIZE)),
				writable, ivshmem_like(cache));
}
#endif

/* --- slots ---------------------------------------------------------------- */

static unsigned long *ivshmem_slots(struct vgpu_window *window)
{
	struct ivshmem *ivshmem = window->data;

	return ivshmem->slots;
}

static bool ivshmem_slot_enter(struct vgpu_slot *slot)
{
	struct ivshmem *ivshmem = slot->window->data;

	down_read(&ivshmem->touch);
	if (!ivshmem->removed)
		return true;
	up_read(&ivshmem->touch);
	return false;
}

static void ivshmem_slot_leave(struct vgpu_slot *slot)
{
	struct ivshmem *ivshmem = slot->window->data;

	up_read(&ivshmem->touch);
}

static int ivshmem_slot_open(struct vgpu_slot *slot)
{
	struct ivshmem *ivshmem = slot->window->data;
	void __iomem *held;

	/* Else it could be another device's memory that is held. */
	if (!ivshmem_slot_enter(slot))
		return -ENODEV;
	held = ivshmem_hold(ivshmem->start + vgpu_slot_offset(slot), VGPU_ARENA_SLOT,
			    VGPU_CACHE_WB);
	ivshmem_slot_leave(slot);
	if (!held)
		return -ENOMEM;
	/* Cached memory, as any. */
	slot->memory = (__force void *)held;
	return 0;
}

static void ivshmem_slot_close(struct vgpu_slot *slot)
{
	iounmap((__force void __iomem *)slot->memory);
}

static u64 ivshmem_slot_id(const struct vgpu_slot *slot)
{
	struct ivshmem *ivshmem = slot->window->data;

	return readq(ivshmem->header + offsetof(struct vgpu_window_header, slots[slot->nr]));
}

const struct vgpu_window_provider vgpu_window_ivshmem = {
	.name = "ivshmem",
	.open = ivshmem_open,
	.close = ivshmem_close,
	.bind = ivshmem_bind,
	.unbind = ivshmem_unbind,
	.insert = ivshmem_insert,
#ifdef VGPU_HAVE_HUGE
	.insert_huge = ivshmem_insert_huge,
#endif
	.slots = ivshmem_slots,
	.slot_open = ivshmem_slot_open,
	.slot_close = ivshmem_slot_close,
	.slot_enter = ivshmem_slot_enter,
	.slot_leave = ivshmem_slot_leave,
	.slot_id = ivshmem_slot_id,
};
