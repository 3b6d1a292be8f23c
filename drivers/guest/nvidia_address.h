/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI addresses of NVIDIA's cards, which may be others here than on the host. */
#ifndef VGPU_NVIDIA_ADDRESS_H
#define VGPU_NVIDIA_ADDRESS_H

#include <linux/types.h>

struct device;
struct vgpu_export;
struct vgpu_marshal;
struct vgpu_object;
struct vgpu_reply_view;

/**
 * struct vgpu_nvidia_address - where a card is; its function is the same there as here, too
 * @known: what follows counts
 * @there: its PCI domain on the host
 * @here: its domain in this machine
 * @bus: number of its bus in both
 * @slot: likewise
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
