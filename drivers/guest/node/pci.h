/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI devices: stand-ins with the identity of a host's device, and no hardware behind them. */
#ifndef VGPU_PCI_H
#define VGPU_PCI_H

#include <linux/pci.h>
#include <linux/types.h>

struct device;

/* The functions up to vgpu_pci_destroy() exist only with CONFIG_PCI. */
int vgpu_pci_global_init(void (*orphan)(struct device *parent));
void vgpu_pci_global_exit(void);
bool vgpu_pci_valid(const char *bus_id, const u8 *header);
struct device *vgpu_pci_create(const char *bus_id, const u8 *header, bool same_address);
void vgpu_pci_destroy(struct device *dev);

/* Lock PCI hotplug: no device is added to a PCI bus or removed from one while the lock is held. */
static inline void vgpu_pci_lock(void)
{
#ifdef CONFIG_PCI
	pci_lock_rescan_remove();
#endif
}

static inline void vgpu_pci_unlock(void)
{
#ifdef CONFIG_PCI
	pci_unlock_rescan_remove();
#endif
}

#endif /* VGPU_PCI_H */
