// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents: what memory the offsets of a device file are.
 *
 * Mappings with the same address space and offset show the same memory: so says
 * the kernel, and guests share pages by it. It holds for drivers that give each
 * buffer offsets of its own. Others give each opened file the same ones: ALSA
 * its substreams, V4L2 the queues of a device that converts. Their VMAs differ in
 * vm_private_data. So where a mapping overlaps one of other memory, the guest is
 * told offsets in another *bank*. Offsets so large that they look like those of a
 * bank are told as they are, and refused if another mapping has them.
 *
 * DRM devices have an address space of their own making, in which offsets are
 * unique; dma-bufs have one each.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "host.h"

#define BANK_SHIFT	50
#define BANKS		2048

static u64 bank_offset(u64 bank)
{
	return bank << BANK_SHIFT;
}

/*
 * A bank where the same memory is already, or the first that is free there;
 * BANKS: none is. Nothing else has more than one to choose from than an @extent
 * that fits in one.
 */
static u32 extent_bank(const struct vgpu_space *space, const struct vgpu_extent *extent)
{
	DECLARE_BITMAP(same, BANKS) = {};
	DECLARE_BITMAP(taken, BANKS) = {};
	bool fits = !(extent->end >> BANK_SHIFT);
	const struct vgpu_extent *other;
	u64 first, end, bank, last;

	list_for_each_entry(other, &space->extents, node) {
		first = other->first + bank_offset(other->bank);
		end = other->end + bank_offset(other->bank);
		bank = fits ? first >> BANK_SHIFT : 0;
		last = fits ? min_t(u64, (end - 1) >> BANK_SHIFT, BANKS - 1) : 0;
		for (; bank <= last; bank++) {
			if (first >= extent->end + bank_offset(bank) ||
			    end <= extent->first + bank_offset(bank))
				continue;
			__set_bit(bank, other->bank == bank && other->data == extent->data ?
				  same : taken);
		}
	}
	if (bitmap_andnot(same, same, taken, BANKS))
		return find_first_bit(same, BANKS);
	bank = find_first_zero_bit(taken, BANKS);
	return fits || !bank ? bank : BANKS;
}

struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpu_space *space,
				    const struct file *file, const void *data, u64 first,
				    u64 len)
{
	struct vgpu_extent *extent;
	u64 end;

	if (!S_ISCHR(file_inode(file)->i_mode) || file->f_mapping != file_inode(file)->i_mapping)
		return NULL;
	if (check_add_overflow(first, len, &end))
		return ERR_PTR(-EOVERFLOW);
	extent = kzalloc(sizeof(*extent), GFP_KERNEL_ACCOUNT);
	if (!extent)
		return ERR_PTR(-ENOMEM);
	extent->data = data;
	extent->first = first;
	extent->end = end;
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
	return extent ? offset + bank_offset(extent->bank) : offset;
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
