// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls and commands of the stand-in for NVIDIA's driver that return the card's PCI address. A
 * part of a result without a value is left as the caller set it, as in the driver.
 */
#include <linux/errno.h>
#include <linux/ioctl.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "nvidia.h"
#include "vgpu_mock_nvidia.h"

static unsigned int pci_domain, pci_bus, pci_slot;

/**
 * mock_nvidia_pci_init() - set the card's PCI address
 * @bus_id: name of the PCI device
 *
 * Return: 0 or -EINVAL.
 */
int mock_nvidia_pci_init(const char *bus_id)
{
	unsigned int function;

	return sscanf(bus_id, "%x:%x:%x.%u", &pci_domain, &pci_bus, &pci_slot, &function) == 4 ?
		0 : -EINVAL;
}

static long pci_card_info(struct vgpu_mock_nvidia_card_info __user *arg)
{
	const struct vgpu_mock_nvidia_card card = {
		.valid = 1,
		.domain = pci_domain,
		.bus = pci_bus,
		.slot = pci_slot,
		.id = 0x100,
	};

	/* Only one card has a PCI address. The driver clears the other elements. */
	if (clear_user(arg, sizeof(*arg)) || copy_to_user(&arg->cards[0], &card, sizeof(card)))
		return -EFAULT;
	return 0;
}

static long pci_status_code(struct vgpu_mock_nvidia_status_code __user *arg)
{
	struct vgpu_mock_nvidia_status_code code;

	if (copy_from_user(&code, arg, sizeof(code)))
		return -EFAULT;
	code.status = code.domain == pci_domain && code.bus == pci_bus && code.slot == pci_slot ?
		0 : VGPU_MOCK_NVIDIA_NO_CARD;
	return copy_to_user(arg, &code, sizeof(code)) ? -EFAULT : 0;
}

/**
 * mock_nvidia_pci_ioctl() - run an ioctl that returns PCI addresses
 * @nr: number of the ioctl
 * @size: size of the argument
 * @arg: the argument
 *
 * Return: 0, an errno, or -ENOTTY when it is another ioctl.
 */
long mock_nvidia_pci_ioctl(u32 nr, u32 size, void __user *arg)
{
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_CARD_INFO) &&
	    size == sizeof(struct vgpu_mock_nvidia_card_info))
		return pci_card_info(arg);
	if (nr == _IOC_NR(VGPU_MOCK_NVIDIA_STATUS_CODE) &&
	    size == sizeof(struct vgpu_mock_nvidia_status_code))
		return pci_status_code(arg);
	return -ENOTTY;
}

static long pci_infos(struct vgpu_mock_nvidia_info __user *list, u32 count)
{
	u32 i, index, data;

	if (count > VGPU_MOCK_NVIDIA_INFOS)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		if (get_user(index, &list[i].index))
			return -EFAULT;
		switch (index) {
		case VGPU_MOCK_NVIDIA_INFO_BUS:
			data = pci_bus;
			break;
		case VGPU_MOCK_NVIDIA_INFO_DEVICE:
			data = pci_slot;
			break;
		case VGPU_MOCK_NVIDIA_INFO_DOMAIN:
			data = pci_domain;
			break;
		default:
			continue;
		}
		if (put_user(data, &list[i].data))
			return -EFAULT;
	}
	return 0;
}

static long pci_bus_info(const struct vgpu_mock_nvidia_bus_info __user *arg)
{
	struct vgpu_mock_nvidia_bus_info info;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	return pci_infos(u64_to_user_ptr(info.list), info.count);
}

static long pci_bus_info_v2(struct vgpu_mock_nvidia_bus_info_v2 __user *arg)
{
	u32 count;

	return get_user(count, &arg->count) ? -EFAULT : pci_infos(arg->list, count);
}

static long pci_bfd(struct vgpu_mock_nvidia_bfd __user *arg)
{
	struct vgpu_mock_nvidia_bfd *bfd = kzalloc(sizeof(*bfd), GFP_KERNEL);
	long ret;
	u32 i;

	if (!bfd)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		bfd->devices[i].valid = 1;
		bfd->devices[i].domain = pci_domain;
		bfd->devices[i].bus = pci_bus;
		bfd->devices[i].device = pci_slot ^ i;
	}
	ret = copy_to_user(arg, bfd, sizeof(*bfd)) ? -EFAULT : 0;
	kfree(bfd);
	return ret;
}

static long pci_links(struct vgpu_mock_nvidia_links __user *arg)
{
	struct vgpu_mock_nvidia_link_end end = { .domain = pci_domain, .device = pci_slot };
	u32 i;

	for (i = 0; i < 2; i++) {
		end.bus = pci_bus;
		if (copy_to_user(&arg->links[i].local, &end, sizeof(end)))
			return -EFAULT;
		if (i)
			end.bus = VGPU_MOCK_NVIDIA_SWITCH_BUS;
		if (copy_to_user(&arg->links[i].remote, &end, sizeof(end)))
			return -EFAULT;
	}
	return 0;
}

static long pci_get_info(struct vgpu_mock_nvidia_pci_info __user *arg)
{
	if (put_user(pci_domain, &arg->domain) || put_user(pci_bus, &arg->bus) ||
	    put_user(pci_slot, &arg->slot))
		return -EFAULT;
	return 0;
}

/**
 * mock_nvidia_pci_control() - run a command that returns PCI addresses
 * @control: the command
 *
 * Return: 0, an errno, or -ENOTTY when it is another command.
 */
long mock_nvidia_pci_control(const struct vgpu_mock_nvidia_control *control)
{
	void __user *params = u64_to_user_ptr(control->params);
	size_t size;

	switch (control->cmd) {
	case VGPU_MOCK_NVIDIA_GET_PCI_INFO:
		size = sizeof(struct vgpu_mock_nvidia_pci_info);
		return control->size == size ? pci_get_info(params) : -EINVAL;
	case VGPU_MOCK_NVIDIA_BUS_GET_INFO:
		size = sizeof(struct vgpu_mock_nvidia_bus_info);
		return control->size == size ? pci_bus_info(params) : -EINVAL;
	case VGPU_MOCK_NVIDIA_BUS_GET_INFO_V2:
		size = sizeof(struct vgpu_mock_nvidia_bus_info_v2);
		return control->size == size ? pci_bus_info_v2(params) : -EINVAL;
	case VGPU_MOCK_NVIDIA_BUS_GET_BFD:
		size = sizeof(struct vgpu_mock_nvidia_bfd);
		return control->size == size ? pci_bfd(params) : -EINVAL;
	case VGPU_MOCK_NVIDIA_LINK_STATUS:
		size = sizeof(struct vgpu_mock_nvidia_links);
		return control->size == size ? pci_links(params) : -EINVAL;
	default:
		return -ENOTTY;
	}
}
