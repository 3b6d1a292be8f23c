/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI addresses of NVIDIA's cards, whose domain may differ between guest and host. */
#ifndef VGPU_NVIDIA_ADDRESS_H
#define VGPU_NVIDIA_ADDRESS_H

#include <linux/types.h>

struct device;
struct vgpu_export;
struct vgpu_marshal;
struct vgpu_object;
struct vgpu_reply_view;

/**
 * struct vgpu_nvidia_address - PCI address of a card; its function is the same on both
 * machines, too
 * @known: true if the other members are valid
 * @there: PCI domain on the host
 * @here: PCI domain in the guest
 * @bus: number of the bus on both machines
 * @slot: number of the slot on both machines
 */
struct vgpu_nvidia_address {
	bool known;
	u32 there;
	u32 here;
	u8 bus;
	u8 slot;
};

void vgpu_nvidia_address_set(struct vgpu_export *export, struct device *parent);
void vgpu_nvidia_address_clear(struct vgpu_export *export);
void vgpu_nvidia_address_given(struct vgpu_object *object, unsigned int cmd,
			       struct vgpu_marshal *m);
int vgpu_nvidia_address_told(struct vgpu_object *object, unsigned int cmd,
			     const struct vgpu_marshal *m, const struct vgpu_reply_view *reply);

#endif /* VGPU_NVIDIA_ADDRESS_H */
