/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's memory, as files that its hypervisor has mapped as well.
 */
#ifndef _VGPU_HOST_RAM_H
#define _VGPU_HOST_RAM_H

#include <linux/kref.h>
#include <linux/types.h>

#include "drivers/common/kept.h"

struct file;
struct vgpu_peer;

/**
 * struct vgpu_ram_table - parts of a guest's memory; immutable once published
 * @ref: reference count; each reader holds a reference
 * @nr: number of entries of @parts
 * @parts: parts of the memory, with a reference to each one's file
 */
struct vgpu_ram_table {
	struct kref ref;
	u32 nr;
	struct vgpu_ram parts[];
};

/*
 * Make a file by which a process describes the layout of the peer's memory. The layout is used
 * once vgpu_ram_publish() was called for the file.
 */
struct file *vgpu_ram_create(struct vgpu_peer *peer, u32 pieces);
void vgpu_ram_publish(struct vgpu_peer *peer, struct file *file);
/* Forget the memory of @peer, which ends. */
void vgpu_ram_end(struct vgpu_peer *peer);
/*
 * Get the known parts of the guest's memory. @pieces: out: most mappings of that memory in one
 * shadow.
 * Return: the table with a reference; NULL: no part is known.
 */
struct vgpu_ram_table *vgpu_ram_get(struct vgpu_peer *peer, u32 *pieces);
void vgpu_ram_put(struct vgpu_ram_table *table);

#endif /* _VGPU_HOST_RAM_H */
