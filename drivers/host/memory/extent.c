// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents: ranges of offsets in device files, and which memory these offsets name.
 *
 * For the kernel, mappings with the same address_space and offset show the same memory, and
 * guests share pages on that ground. This is true of drivers that give each buffer offsets of its
 * own. Other drivers use the same offsets in each open file: ALSA for its substreams, V4L2 for
 * the two queues of a device that converts. Their VMAs differ in vm_private_data. So where a
 * mapping overlaps one of other memory, the guest is given offsets in another *bank*. Offsets
 * that are so large that they look like those of a bank are passed on unchanged, and fail with
 * -ENOMEM if another mapping has them.
 *
 * DRM devices have an address_space of their own, in which offsets are unique. Each dma-buf has
 * one.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "memory/extent.h"
#include "object/object.h"
#include "peer/peer.h"

#define BANK_SHIFT	50
#define BANKS		2048

static u64 bank_offset(u64 bank)
{
	return bank << BANK_SHIFT;
}

enum bank_state {
	BANK_FREE,	/* no extent is there */
	BANK_SAME,	/* only extents of the same memory are there */
	BANK_TAKEN,
};

/*
 * Check whether the offsets that @extent would have in the bank are free.
 * Return: state of these offsets.
 */
static enum bank_state bank_look(struct vgpuh_space *space, const struct vgpu_extent *extent,
				 u32 bank)
{
	u64 first = extent->first + bank_offset(bank);
	u64 last = extent->end - 1 + bank_offset(bank);
	enum bank_state state = BANK_FREE;
	struct interval_tree_node *node;
	struct vgpu_extent *other;

	for (node = interval_tree_iter_first(&space->extents, first, last); node;
	     node = interval_tree_iter_next(node, first, last)) {
		other = container_of(node, struct vgpu_extent, node);
		if (other->bank != bank || other->data != extent->data)
			return BANK_TAKEN;
		state = BANK_SAME;
		/* No extent that overlaps this one is of other memory. */
		if (node->start <= first && node->last >= last)
			break;
	}
	return state;
}

/* Return the number of the bank after the last one in which an extent begins. */
static u32 extent_banks(const struct vgpuh_space *space)
{
	struct rb_node *last = rb_last(&space->extents.rb_root);

	if (!last)
		return 0;
	return min_t(u64, rb_entry(last, struct interval_tree_node, rb)->start >> BANK_SHIFT,
		     BANKS - 1) + 1;
}

/*
 * Choose a bank for @extent: one that has the same memory already, else the first free one. An
 * extent that does not fit into one bank can only use the first bank.
 * Return: the bank; BANKS: none is free.
 */
static u32 extent_bank(struct vgpuh_space *space, const struct vgpu_extent *extent)
{
	u32 banks = extent->end >> BANK_SHIFT ? 1 : BANKS;
	u32 used = extent_banks(space), free = BANKS, bank;
	enum bank_state state;

	for (bank = 0; bank < banks && (bank < used || free == BANKS); bank++) {
		state = bank_look(space, extent, bank);
		if (state == BANK_SAME)
			return bank;
		if (state == BANK_FREE && free == BANKS)
			free = bank;
	}
	return free;
}

struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpuh_space *space,
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
	mutex_lock(&peer->objects.lock);
	extent->bank = extent_bank(space, extent);
	if (extent->bank < BANKS) {
		extent->node.start = extent->first + bank_offset(extent->bank);
		extent->node.last = extent->end - 1 + bank_offset(extent->bank);
		interval_tree_insert(&extent->node, &space->extents);
	}
	mutex_unlock(&peer->objects.lock);
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
		mutex_lock(&peer->objects.lock);
		extent->users++;
		mutex_unlock(&peer->objects.lock);
	}
	return extent;
}

void vgpu_extent_put(struct vgpu_peer *peer, struct vgpuh_space *space, struct vgpu_extent *extent)
{
	if (!extent)
		return;
	mutex_lock(&peer->objects.lock);
	if (--extent->users)
		extent = NULL;
	else
		interval_tree_remove(&extent->node, &space->extents);
	mutex_unlock(&peer->objects.lock);
	kfree(extent);
}
