// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver for windows in the memory (BAR 2) of a PCI device, QEMU's ivshmem-plain. The driver
 * binds to a device only if its memory begins with a window's header, and leaves other uses of
 * ivshmem alone.
 */
#include <linux/io.h>
#include <linux/pci.h>

#include "memory/window_device.h"

#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_BAR		2

static u64 ivshmem_id(const struct vgpu_window_device *device)
{
	struct vgpu_window_header header;

	memcpy_fromio(&header, device->header, sizeof(header));
	if (memcmp(header.magic, VGPU_WINDOW_MAGIC, sizeof(header.magic)) ||
	    le32_to_cpu(header.version) != VGPU_WINDOW_VERSION ||
	    le64_to_cpu(header.size) > device->size)
		return 0;
	return le64_to_cpu(header.window);
}

static int ivshmem_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vgpu_window_device *device;
	int ret;

	if (!(pci_resource_flags(pdev, IVSHMEM_BAR) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, IVSHMEM_BAR) < 2 * PAGE_SIZE)
		return -ENODEV;
	device = vgpu_window_device_alloc(&pdev->dev, pci_resource_start(pdev, IVSHMEM_BAR),
					  pci_resource_len(pdev, IVSHMEM_BAR), ivshmem_id);
	if (!device)
		return -ENOMEM;
	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto err_put;
	/* Reading the header disturbs no other user. */
	device->header = ioremap(device->start, PAGE_SIZE);
	if (!device->header) {
		ret = -ENOMEM;
		goto err_disable;
	}
	ret = ivshmem_id(device) ? 0 : -ENODEV;
	if (!ret)
		ret = pci_request_region(pdev, IVSHMEM_BAR, KBUILD_MODNAME);
	if (ret)
		goto err_unmap;
	pci_set_drvdata(pdev, device);
	vgpu_window_device_add(device);
	return 0;

err_unmap:
	iounmap(device->header);
err_disable:
	pci_disable_device(pdev);
err_put:
	vgpu_window_device_put(device);
	return ret;
}

static void ivshmem_remove(struct pci_dev *pdev)
{
	struct vgpu_window_device *device = pci_get_drvdata(pdev);

	vgpu_window_device_remove(device);
	pci_release_region(pdev, IVSHMEM_BAR);
	pci_disable_device(pdev);
	vgpu_window_device_put(device);
}

static const struct pci_device_id ivshmem_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, IVSHMEM_DEVICE) },
	{ }
};

/*
 * The table has no module alias, so this module is not loaded for an ivshmem device of another
 * use.
 */
static struct pci_driver ivshmem_driver = {
	.name = "vgpu_window",
	.id_table = ivshmem_ids,
	.probe = ivshmem_probe,
	.remove = ivshmem_remove,
};

/**
 * vgpu_window_ivshmem_init - register the PCI driver
 *
 * Return: 0 or a negative errno.
 */
int vgpu_window_ivshmem_init(void)
{
	return pci_register_driver(&ivshmem_driver);
}

/**
 * vgpu_window_ivshmem_exit - unregister the PCI driver
 *
 * Called when no host has an open window any more.
 */
void vgpu_window_ivshmem_exit(void)
{
	pci_unregister_driver(&ivshmem_driver);
}
