// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents: what memory the offsets of a device file are.
 *
 * Mappings with the same address space and offset show the same memory: so says
 * the kernel, and guests share pages by it. It holds for drivers that give each
 * buffer offsets of its own. Others give each opened file the same ones: ALSA
 * its substreams, V4L2 the queues of a device that converts. Their VMAs differ in
 * vm_private_data. So where a mapping overlaps one of other memory, the guest is
 * told offsets in another *bank*.
 *
 * DRM devices have an address space of their own making, in which offsets are
 * unique; dma-bufs have one each.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "host.h"

#define BANK_SHIFT	50
#define BANKS		256

/* A bank where the same memory is already, or the first that is free there. */
static u32 extent_bank(const struct vgpu_space *space, const struct vgpu_extent *extent)
{
	DECLARE_BITMAP(same, BANKS) = {};
	DECLARE_BITMAP(taken, BANKS) = {};
	const struct vgpu_extent *other;

	list_for_each_entry(other, &space->extents, node)
		if (other->first < extent->end && extent->first < other->end)
			__set_bit(other->bank, other->data == extent->data ? same : taken);
	if (bitmap_andnot(same, same, taken, BANKS))
		return find_first_bit(same, BANKS);
	return find_first_zero_bit(taken, BANKS);
}

struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpu_space *space,
				    const struct file *file, const void *data, u64 first,
				    u64 len)
{
	struct vgpu_extent *extent;

	if (!data || !S_ISCHR(file_inode(file)->i_mode) ||
	    file->f_mapping != file_inode(file)->i_mapping || (first + len) >> BANK_SHIFT)
		return NULL;
	extent = kzalloc(sizeof(*extent), GFP_KERNEL_ACCOUNT);
	if (!extent)
		return ERR_PTR(-ENOMEM);
	extent->data = data;
	extent->first = first;
	extent->end = first + len;
	extent->users = 1;
	mutex_lock(&peer->objects_lock);
	extent->bank = extent_bank(space, extent);
	if (extent->bank < BANKS)
		list_add_tail(&extent->node, &space->extents);
	mutex_unlock(&peer->objects_lock);
	if (extent->bank < BANKS)
		return extent;
	kfree(extent);
	return ERR_PTR(-ENOMEM);
}

u64 vgpu_extent_offset(const struct vgpu_extent *extent, u64 offset)
{
	return extent ? offset | (u64)extent->bank << BANK_SHIFT : offset;
}

struct vgpu_extent *vgpu_extent_get(struct vgpu_peer *peer, struct vgpu_extent *extent)
{
	if (extent) {
		mutex_lock(&peer->objects_lock);
		extent->users++;
		mutex_unlock(&peer->objects_lock);
	}
	return extent;
}

void vgpu_extent_put(struct vgpu_peer *peer, struct vgpu_extent *extent)
{
	if (!extent)
		return;
	mutex_lock(&peer->objects_lock);
	if (--extent->users)
		extent = NULL;
	else
		list_del(&extent->node);
	mutex_unlock(&peer->objects_lock);
	kfree(extent);
}
