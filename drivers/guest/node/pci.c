// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI devices: one for each PCI device of the host with exported nodes, as libraries choose
 * their driver by its ids. The device has the configuration header of the host's device, but is
 * switched off: it has no BARs, no interrupt and no capabilities, and writes change nothing.
 *
 * Most of these devices are alone on a root bus in a domain of their own, with bus number, slot
 * and function of the host. So no device of this machine can be in their way, and removing one
 * disturbs no other. libdrm reads four digits of a domain. Some libraries look for a device at
 * the address that the driver on the host reports. Devices for them have that very address if
 * it is free, on a root bus of their own or on a bus of this machine.
 *
 * No other driver may bind to such a device, whatever its ids. The core does not match a
 * scanned device before it is added; by then driver_override names the driver below, which does
 * nothing.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "uapi/linux/vgpu_wire.h"

#include "compat.h"
#include "node/pci.h"
#include "node/pci_header.h"
#include "node/pci_layer.h"

#define PCI_DOMAIN_FIRST	0x8000
#define PCI_DOMAIN_LAST		0xffff
#define PCI_DRIVER_NAME		"vgpu-drm"

/**
 * struct pci_root - private data of a host bridge of this module
 * @sysdata: architecture's data of a bus
 * @busn: resource of the only bus number behind the bridge
 */
struct pci_root {
	struct pci_sysdata sysdata;
	struct resource busn;
};

/* Argument of vgpu_pci_global_init(). */
static void (*pci_orphan)(struct device *parent);

static int vgpu_pci_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	if (vgpu_pci_read_header(bus, devfn, where, size, val))
		return PCIBIOS_SUCCESSFUL;
	PCI_SET_ERROR_RESPONSE(val);
	return PCIBIOS_DEVICE_NOT_FOUND;
}

static int vgpu_pci_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops vgpu_pci_ops = {
	.read = vgpu_pci_read,
	.write = vgpu_pci_write,
};

static int vgpu_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	/* A write to new_id or driver_override must not bind another device to this driver. */
	return vgpu_pci_is_ours(pdev->bus, pdev->devfn) ? 0 : -ENODEV;
}

/* Stop answering: the bus of this machine answers for the address itself from now on. */
static void pci_vanish(struct vgpu_pci *pci)
{
	if (!pci->present)
		return;
	WRITE_ONCE(pci->present, false);
	if (!pci->bridge)
		vgpu_pci_layer_put(pci->bus);
}

/*
 * Unbind the device: the module destroys it, or root removes it. A rescan must not find it
 * again.
 */
static void vgpu_pci_remove(struct pci_dev *pdev)
{
	struct vgpu_pci *pci;

	list_for_each_entry(pci, &vgpu_pci_devices, entry)
		if (pci->bus == pdev->bus && pci->devfn == pdev->devfn)
			pci_vanish(pci);
	pci_orphan(&pdev->dev);
}

static struct pci_driver vgpu_pci_driver = {
	.name = PCI_DRIVER_NAME,
	.probe = vgpu_pci_probe,
	.remove = vgpu_pci_remove,
	.driver.suppress_bind_attrs = true,
};

static bool pci_parse(const char *bus_id, unsigned int *domain, unsigned int *bus,
		      unsigned int *devfn)
{
	unsigned int slot, func;
	char rest;

	if (sscanf(bus_id, "%8x:%2x:%2x.%1u%c", domain, bus, &slot, &func, &rest) != 4 ||
	    slot > 0x1f || func > 7)
		return false;
	*devfn = PCI_DEVFN(slot, func);
	return true;
}

/**
 * vgpu_pci_valid - find out if a device can be made of a host's message
 * @bus_id: name of the device on the host
 * @header: configuration header on the host
 *
 * Only devices of classes with files worth forwarding are valid: the core and its quirks treat
 * bridges, disks and others in ways that do not suit a device without hardware.
 */
bool vgpu_pci_valid(const char *bus_id, const u8 *header)
{
	u16 vendor = header[PCI_VENDOR_ID] | header[PCI_VENDOR_ID + 1] << 8;
	unsigned int domain, bus, devfn;

	/* Vendor 1 means "retry later", for up to a minute. */
	if (vendor <= 1 || vendor == 0xffff ||
	    !pci_parse(bus_id, &domain, &bus, &devfn) ||
	    (header[PCI_HEADER_TYPE] & 0x7f) != PCI_HEADER_TYPE_NORMAL)
		return false;
	switch (header[PCI_CLASS_DEVICE + 1]) {
	case PCI_BASE_CLASS_DISPLAY:
	case PCI_BASE_CLASS_MULTIMEDIA:
	case 0x12:	/* processing accelerators */
		return true;
	default:
		return false;
	}
}

static void pci_switch_off(u8 *header)
{
	memset(header + PCI_COMMAND, 0, 2);
	header[PCI_STATUS] &= ~PCI_STATUS_CAP_LIST;
	header[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	header[PCI_BIST] = 0;
	memset(header + PCI_BASE_ADDRESS_0, 0, PCI_CARDBUS_CIS - PCI_BASE_ADDRESS_0);
	memset(header + PCI_ROM_ADDRESS, 0, PCI_INTERRUPT_LINE - PCI_ROM_ADDRESS);
	memset(header + PCI_INTERRUPT_LINE, 0, 2);
}

/* Find a domain without buses, with the lock held. Return: the domain or a negative errno. */
static int pci_find_free_domain(void)
{
	int domain;

	for (domain = PCI_DOMAIN_FIRST; domain <= PCI_DOMAIN_LAST; domain++) {
		struct pci_bus *bus = NULL;

		do
			bus = pci_find_next_bus(bus);
		while (bus && pci_domain_nr(bus) != domain);
		if (!bus)
			return domain;
	}
	return -ENOSPC;
}

/* Undo pci_attach(). */
static void pci_detach(struct vgpu_pci *pci)
{
	/* If root has removed the device, it is no longer present. */
	if (pci->present)
		pci_stop_and_remove_bus_device(pci->pdev);
	/* vgpu_pci_remove() was not called if no driver was bound. */
	pci_vanish(pci);
	list_del_rcu(&pci->entry);
	pci_dev_put(pci->pdev);
}

/* Let the core find the device on its bus, which answers for the device from now on. */
static int pci_attach(struct vgpu_pci *pci)
{
	int ret;

	pci->present = true;
	list_add_rcu(&pci->entry, &vgpu_pci_devices);
	/* A scan of the whole bus would find functions above 0 only if there is a function 0. */
	pci->pdev = pci_dev_get(pci_scan_single_device(pci->bus, pci->devfn));
	if (!pci->pdev) {
		pci_vanish(pci);
		list_del_rcu(&pci->entry);
		return -ENODEV;
	}
	ret = vgpu_device_override(pci->pdev, PCI_DRIVER_NAME);
	if (!ret) {
		pci_bus_add_device(pci->pdev);
		/* pci_bus_add_device() binds no driver if drivers_autoprobe is off. */
		if (device_attach(&pci->pdev->dev) != 1)
			ret = -ENODEV;
	}
	if (ret)
		pci_detach(pci);
	return ret;
}

static void pci_remove_root(struct pci_host_bridge *bridge)
{
	pci_stop_root_bus(bridge->bus);
	pci_remove_root_bus(bridge->bus);
	pci_free_host_bridge(bridge);
}

/* Add the device on a root bus of its own. */
static int pci_add_root(struct vgpu_pci *pci, unsigned int domain, unsigned int number)
{
	struct pci_host_bridge *bridge;
	struct pci_root *root;
	int ret;

	bridge = pci_alloc_host_bridge(sizeof(*root));
	if (!bridge)
		return -ENOMEM;
	root = pci_host_bridge_priv(bridge);
	root->sysdata.domain = domain;
	root->sysdata.node = NUMA_NO_NODE;
	root->busn = (struct resource) {
		.name = "vgpu",
		.start = number,
		.end = number,
		.flags = IORESOURCE_BUS,
	};
	pci_add_resource(&bridge->windows, &root->busn);
	bridge->sysdata = &root->sysdata;
	bridge->ops = &vgpu_pci_ops;
	ret = pci_scan_root_bus_bridge(bridge);
	if (ret) {
		pci_free_host_bridge(bridge);
		return ret;
	}
	pci->bridge = bridge;
	pci->bus = bridge->bus;
	ret = pci_attach(pci);
	if (ret) {
		pci_remove_root(bridge);
		pci->bridge = NULL;
	}
	return ret;
}

static bool pci_answers(struct pci_bus *bus, unsigned int devfn)
{
	u32 id;

	return !pci_bus_read_config_dword(bus, devfn, PCI_VENDOR_ID, &id) &&
	       (u16)id != 0 && (u16)id != 0xffff;
}

/*
 * Return: true if the slot is free for the device. The functions of a slot come and go
 * together, so the device must not join a slot of others. It must not hide a device that root
 * has removed, or that no scan has found yet.
 */
static bool pci_slot_is_free(struct pci_bus *bus, unsigned int devfn)
{
	unsigned int func, other;
	struct pci_dev *pdev;

	/* A PCI Express link has only slot 0. */
	if (PCI_SLOT(devfn) && bus->self && pci_is_pcie(bus->self) &&
	    (pci_pcie_type(bus->self) == PCI_EXP_TYPE_ROOT_PORT ||
	     pci_pcie_type(bus->self) == PCI_EXP_TYPE_DOWNSTREAM))
		return false;
	for (func = 0; func < 8; func++) {
		other = PCI_DEVFN(PCI_SLOT(devfn), func);
		if (other != devfn && vgpu_pci_is_ours(bus, other))
			continue;
		pdev = pci_get_slot(bus, other);
		pci_dev_put(pdev);
		if (pdev || pci_answers(bus, other))
			return false;
	}
	return true;
}

/* Add the device on a bus of this machine. */
static int pci_join_bus(struct vgpu_pci *pci, struct pci_bus *bus)
{
	int ret;

	/* The module's own buses are removed with the device that they were made for. */
	if (bus->ops == &vgpu_pci_ops || !pci_slot_is_free(bus, pci->devfn))
		return -EBUSY;
	ret = vgpu_pci_layer_get(bus);
	if (ret)
		return ret;
	pci->bus = bus;
	return pci_attach(pci);
}

/* Return: true if a bridge of this machine forwards the bus number, even to a future bus. */
static bool pci_number_is_bridged(unsigned int domain, unsigned int number)
{
	struct pci_bus *root = NULL, *bus;

	while ((root = pci_find_next_bus(root))) {
		if (pci_domain_nr(root) != domain)
			continue;
		list_for_each_entry(bus, &root->children, node)
			if (bus->busn_res.start <= number && number <= bus->busn_res.end)
				return true;
	}
	return false;
}

/* Add the device at the host's address if that is free. */
static int pci_add_same(struct vgpu_pci *pci, unsigned int domain, unsigned int number)
{
	struct pci_bus *bus;

	if (domain > PCI_DOMAIN_LAST)
		return -EDOM;
	bus = pci_find_bus(domain, number);
	if (bus)
		return pci_join_bus(pci, bus);
	if (pci_number_is_bridged(domain, number))
		return -EBUSY;
	return pci_add_root(pci, domain, number);
}

static int pci_add(struct vgpu_pci *pci, const char *bus_id, bool same_address)
{
	unsigned int domain, number;
	int ret;

	if (!pci_parse(bus_id, &domain, &number, &pci->devfn))
		return -EINVAL;
	if (same_address && !pci_add_same(pci, domain, number))
		return 0;
	ret = pci_find_free_domain();
	if (ret < 0)
		return ret;
	ret = pci_add_root(pci, ret, number);
	if (!ret && same_address)
		dev_info(&pci->pdev->dev, "the host's PCI address %s is in use on this machine: the device gets another address\n",
			 bus_id);
	return ret;
}

/**
 * vgpu_pci_create - create a PCI device
 * @bus_id: name of the device on the host
 * @header: configuration header on the host; vgpu_pci_valid() holds for both
 * @same_address: true if the device should have the host's address, if that is free
 *
 * Return: the device, for vgpu_pci_destroy(), or an ERR_PTR().
 */
struct device *vgpu_pci_create(const char *bus_id, const u8 *header, bool same_address)
{
	struct vgpu_pci *pci;
	int ret;

	pci = kzalloc(sizeof(*pci), GFP_KERNEL);
	if (!pci)
		return ERR_PTR(-ENOMEM);
	memcpy(pci->header, header, sizeof(pci->header));
	pci_switch_off(pci->header);
	pci_lock_rescan_remove();
	ret = pci_add(pci, bus_id, same_address);
	pci_unlock_rescan_remove();
	if (ret) {
		kfree_rcu(pci, rcu);
		return ERR_PTR(ret);
	}
	return &pci->pdev->dev;
}

/* Destroy a PCI device. References of @dev keep its memory, but its configuration is gone. */
void vgpu_pci_destroy(struct device *dev)
{
	struct vgpu_pci *pci;

	pci_lock_rescan_remove();
	list_for_each_entry(pci, &vgpu_pci_devices, entry)
		if (&pci->pdev->dev == dev)
			break;
	pci_detach(pci);
	if (pci->bridge)
		pci_remove_root(pci->bridge);
	pci_unlock_rescan_remove();
	kfree_rcu(pci, rcu);
}

/**
 * vgpu_pci_global_init - register the driver of the devices
 * @orphan: function that removes all nodes of a device that is being removed, maybe by root;
 *	called with vgpu_pci_lock() held
 *
 * Return: 0 or -errno.
 */
int vgpu_pci_global_init(void (*orphan)(struct device *parent))
{
	pci_orphan = orphan;
	return pci_register_driver(&vgpu_pci_driver);
}

void vgpu_pci_global_exit(void)
{
	pci_unregister_driver(&vgpu_pci_driver);
	vgpu_pci_layer_global_exit();
}
