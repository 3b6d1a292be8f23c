// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest kernel: /dev/vgpu-hunter lets a program map all of the window's shared memory
 * region at once, beside the driver of the window's device. tests/tools/hunter is that program.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "../../uapi/linux/vgpu_wire.h"

/* The virtio device of number N has the PCI device number 0x1040 + N. */
#define HUNTER_DEVICE	(0x1040 + VGPU_WINDOW_VIRTIO_ID)

static resource_size_t hunter_start, hunter_len;

static int hunter_mmap(struct file *filp, struct vm_area_struct *vma)
{
	return vm_iomap_memory(vma, hunter_start, hunter_len);
}

static loff_t hunter_llseek(struct file *filp, loff_t offset, int whence)
{
	return fixed_size_llseek(filp, offset, whence, hunter_len);
}

static const struct file_operations hunter_fops = {
	.owner = THIS_MODULE,
	.mmap = hunter_mmap,
	.llseek = hunter_llseek,
};

static struct miscdevice hunter_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vgpu-hunter",
	.fops = &hunter_fops,
	.mode = 0600,
};

static int __init hunter_init(void)
{
	struct pci_dev *pdev;
	unsigned int bar;

	pdev = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, HUNTER_DEVICE, NULL);
	if (!pdev)
		return -ENODEV;
	/* The largest memory BAR is the region; the others hold registers. */
	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++) {
		if (!(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
		    pci_resource_len(pdev, bar) <= hunter_len)
			continue;
		hunter_start = pci_resource_start(pdev, bar);
		hunter_len = pci_resource_len(pdev, bar);
	}
	pci_dev_put(pdev);
	return hunter_len ? misc_register(&hunter_misc) : -ENODEV;
}

static void __exit hunter_exit(void)
{
	misc_deregister(&hunter_misc);
}

module_init(hunter_init);
module_exit(hunter_exit);

MODULE_DESCRIPTION("Reads all memory of a window as a hostile guest's kernel would, for tests of vgpu");
MODULE_AUTHOR("vgpu contributors");
MODULE_LICENSE("GPL");
