// SPDX-License-Identifier: GPL-2.0-only
/* Configuration headers of the PCI devices of this module, by their addresses. */
#include <linux/pci.h>
#include <linux/rculist.h>
#include <linux/string.h>

#include "node/pci_header.h"

LIST_HEAD(vgpu_pci_devices);

static const struct vgpu_pci *pci_find_present(const struct pci_bus *bus, unsigned int devfn)
{
	const struct vgpu_pci *pci;

	list_for_each_entry_rcu(pci, &vgpu_pci_devices, entry)
		if (pci->bus == bus && pci->devfn == devfn && READ_ONCE(pci->present))
			return pci;
	return NULL;
}

/**
 * vgpu_pci_is_ours - find out if an address belongs to a device of this module
 * @bus: bus of the address
 * @devfn: slot and function
 */
bool vgpu_pci_is_ours(const struct pci_bus *bus, unsigned int devfn)
{
	bool ours;

	rcu_read_lock();
	ours = pci_find_present(bus, devfn);
	rcu_read_unlock();
	return ours;
}

/**
 * vgpu_pci_read_header - read the configuration of a device of this module
 * @bus: bus of the device
 * @devfn: slot and function
 * @where: offset; any
 * @size: number of bytes, 1, 2 or 4, to which @where is aligned
 * @val: out: value
 *
 * Return: true if there is such a device.
 */
bool vgpu_pci_read_header(const struct pci_bus *bus, unsigned int devfn, int where, int size,
			  u32 *val)
{
	const struct vgpu_pci *pci;

	rcu_read_lock();
	pci = pci_find_present(bus, devfn);
	if (pci) {
		*val = 0;
		if (where + size <= sizeof(pci->header))
			memcpy(val, pci->header + where, size);
	}
	rcu_read_unlock();
	return pci;
}
