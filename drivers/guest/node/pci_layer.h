/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI layers: make a PCI bus of this machine answer for devices of this module. */
#ifndef VGPU_PCI_LAYER_H
#define VGPU_PCI_LAYER_H

struct pci_bus;

int vgpu_pci_layer_get(struct pci_bus *bus);
void vgpu_pci_layer_put(struct pci_bus *bus);
void vgpu_pci_layer_global_exit(void);

#endif /* VGPU_PCI_LAYER_H */
