// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PCI device for each of a host's whose nodes are exported: libraries choose
 * their driver by its ids. It has the host's configuration header, but is
 * switched off: no BARs, no interrupt, no capabilities, and writes change
 * nothing.
 *
 * Each is alone on a root bus in a domain of its own, with the host's bus,
 * slot and function there, so that no device of this machine is in its way, and
 * to remove one disturbs no other. libdrm reads four digits of a domain. One whose
 * driver tells programs its address by other ways than those that are translated is in
 * the host's domain, if this machine has no such bus there.
 *
 * No other driver may have it, whatever its ids: what is scanned is not matched
 * before it is added, and by then driver_override names ours, which does
 * nothing.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "uapi/linux/vgpu_wire.h"

#include "compat.h"
#include "drm.h"
#include "node.h"
#include "pci.h"

#define PCI_DOMAIN_FIRST	0x8000
#define PCI_DOMAIN_LAST		0xffff
#define PCI_DRIVER_NAME		"vgpu-drm"

/**
 * struct vgpu_pci - private data of a host bridge
 * @sysdata: what the architecture wants to know of a bus
 * @busn: the one bus behind it
 * @devfn: the device on that
 * @present: it answers
 * @header: its configuration space
 */
struct vgpu_pci {
	struct pci_sysdata sysdata;
	struct resource busn;
	unsigned int devfn;
	bool present;
	u8 header[VGPU_PCI_HEADER_LEN];
};

static struct vgpu_pci *to_vgpu_pci(struct pci_bus *bus)
{
	return container_of((struct pci_sysdata *)bus->sysdata, struct vgpu_pci, sysdata);
}

static int vgpu_pci_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	const struct vgpu_pci *pci = to_vgpu_pci(bus);

	if (devfn != pci->devfn || !READ_ONCE(pci->present)) {
		PCI_SET_ERROR_RESPONSE(val);
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*val = 0;
	if (where + size <= sizeof(pci->header))
		memcpy(val, pci->header + where, size);
	return PCIBIOS_SUCCESSFUL;
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
	/* Who writes to new_id or driver_override does not get another device. */
	return pdev->bus->ops == &vgpu_pci_ops ? 0 : -ENODEV;
}

/* We let go of it, or root removes it; a rescan must not find it again. */
static void vgpu_pci_remove(struct pci_dev *pdev)
{
	WRITE_ONCE(to_vgpu_pci(pdev->bus)->present, false);
	vgpu_drm_orphan(&pdev->dev);
	vgpu_node_orphan(&pdev->dev);
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
 * vgpu_pci_valid - whether a device may be made of what a host says
 * @bus_id: its name on the host
 * @header: its configuration header there
 *
 * Only what has files that are worth forwarding: the core and its quirks treat
 * bridges, disks and others in ways that are not for a device without hardware.
 */
bool vgpu_pci_valid(const char *bus_id, const u8 *header)
{
	u16 vendor = header[PCI_VENDOR_ID] | header[PCI_VENDOR_ID + 1] << 8;
	unsigned int domain, bus, devfn;

	/* 1 means "ask again later", for up to a minute. */
	if (vendor <= 1 || vendor == 0xffff || !pci_parse(bus_id, &domain, &bus, &devfn) ||
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

/* A domain without buses, or a negative errno; with the lock held. */
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

/* Whether that is no bus of this machine's, and none that a bridge of it may find; likewise. */
static bool pci_bus_is_free(unsigned int domain, unsigned int nr)
{
	struct pci_dev *pdev = NULL;

	if (domain >= PCI_DOMAIN_FIRST || pci_find_bus(domain, nr))
		return false;
	for_each_pci_dev(pdev) {
		if (pdev->subordinate && pci_domain_nr(pdev->bus) == domain &&
		    nr >= pdev->subordinate->busn_res.start &&
		    nr <= pdev->subordinate->busn_res.end) {
			pci_dev_put(pdev);
			return false;
		}
	}
	return true;
}

/* @domain: in which it shall be, if it can. Return: the device, with a reference. */
static struct pci_dev *pci_add(struct pci_host_bridge *bridge, unsigned int domain)
{
	struct vgpu_pci *pci = pci_host_bridge_priv(bridge);
	struct pci_dev *pdev;
	int ret;

	ret = pci_bus_is_free(domain, pci->busn.start) ? domain : pci_find_free_domain();
	if (ret < 0)
		return ERR_PTR(ret);
	pci->sysdata.domain = ret;
	ret = pci_scan_root_bus_bridge(bridge);
	if (ret)
		return ERR_PTR(ret);
	/* The scan finds functions above 0 only behind a function 0. */
	pdev = pci_scan_single_device(bridge->bus, pci->devfn);
	ret = pdev ? vgpu_device_override(pdev, PCI_DRIVER_NAME) : -ENODEV;
	if (ret)
		goto err_remove_bus;
	pci_bus_add_devices(bridge->bus);
	/* Where drivers_autoprobe is off, that has bound none. */
	if (device_attach(&pdev->dev) != 1) {
		ret = -ENODEV;
		goto err_remove_bus;
	}
	return pci_dev_get(pdev);

err_remove_bus:
	pci_stop_root_bus(bridge->bus);
	pci_remove_root_bus(bridge->bus);
	return ERR_PTR(ret);
}

/**
 * vgpu_pci_create - make a PCI device
 * @bus_id: its name on the host
 * @header: its configuration header there; vgpu_pci_valid() holds for both
 * @in_place: it shall have the host's address, if that is free
 *
 * Return: the device, to be given to vgpu_pci_destroy(), or an ERR_PTR().
 */
struct device *vgpu_pci_create(const char *bus_id, const u8 *header, bool in_place)
{
	struct pci_host_bridge *bridge;
	struct vgpu_pci *pci;
	struct pci_dev *pdev;
	unsigned int domain, bus;

	bridge = pci_alloc_host_bridge(sizeof(*pci));
	if (!bridge)
		return ERR_PTR(-ENOMEM);
	pci = pci_host_bridge_priv(bridge);
	if (!pci_parse(bus_id, &domain, &bus, &pci->devfn)) {
		pci_free_host_bridge(bridge);
		return ERR_PTR(-EINVAL);
	}
	memcpy(pci->header, header, sizeof(pci->header));
	pci_switch_off(pci->header);
	pci->present = true;
	pci->sysdata.node = NUMA_NO_NODE;
	pci->busn = (struct resource) {
		.name = "vgpu",
		.start = bus,
		.end = bus,
		.flags = IORESOURCE_BUS,
	};
	pci_add_resource(&bridge->windows, &pci->busn);
	bridge->sysdata = &pci->sysdata;
	bridge->ops = &vgpu_pci_ops;

	pci_lock_rescan_remove();
	pdev = pci_add(bridge, in_place ? domain : PCI_DOMAIN_LAST);
	pci_unlock_rescan_remove();
	if (IS_ERR(pdev)) {
		pci_free_host_bridge(bridge);
		return ERR_CAST(pdev);
	}
	return &pdev->dev;
}

/* Whoever still holds @dev has its memory, but reads no configuration any more. */
void vgpu_pci_destroy(struct device *dev)
{
	struct pci_bus *bus = to_pci_dev(dev)->bus;
	struct pci_host_bridge *bridge = to_pci_host_bridge(bus->bridge);

	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
	put_device(dev);
	pci_free_host_bridge(bridge);
}

int vgpu_pci_global_init(void)
{
	return pci_register_driver(&vgpu_pci_driver);
}

void vgpu_pci_global_exit(void)
{
	pci_unregister_driver(&vgpu_pci_driver);
}
