/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI devices of this module, and their configuration headers. */
#ifndef VGPU_PCI_HEADER_H
#define VGPU_PCI_HEADER_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

struct pci_bus;
struct pci_dev;
struct pci_host_bridge;

/**
 * struct vgpu_pci - a device
 * @entry: list entry in vgpu_pci_devices
 * @rcu: head for kfree_rcu()
 * @bridge: host bridge of this device alone; NULL: the device is on a bus of this machine
 * @bus: bus of the device
 * @devfn: slot and function of the device
 * @present: true if the device answers; without @bridge such a device is a user of the layer over
 *	@bus. Written with pci_lock_rescan_remove() held, read under RCU
 * @pdev: PCI device of the core (a reference)
 * @header: configuration space
 */
struct vgpu_pci {
	struct list_head entry;
	struct rcu_head rcu;
	struct pci_host_bridge *bridge;
	struct pci_bus *bus;
	unsigned int devfn;
	bool present;
	struct pci_dev *pdev;
	u8 header[VGPU_PCI_HEADER_LEN];
};

/* List of all devices; changed with pci_lock_rescan_remove() held, read under RCU. */
extern struct list_head vgpu_pci_devices;

bool vgpu_pci_is_ours(const struct pci_bus *bus, unsigned int devfn);
bool vgpu_pci_read_header(const struct pci_bus *bus, unsigned int devfn, int where, int size,
			  u32 *val);

#endif /* VGPU_PCI_HEADER_H */
