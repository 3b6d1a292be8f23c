/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extents: ranges of offsets in device files, and which memory these offsets name.
 */
#ifndef _VGPU_HOST_EXTENT_H
#define _VGPU_HOST_EXTENT_H

#include <linux/interval_tree.h>
#include <linux/types.h>

struct file;
struct vgpu_peer;
struct vgpuh_space;

/* Range of offsets in a space that a mapping shows; protected by peer->objects.lock. */
struct vgpu_extent {
	/* Node of space->extents, by the offsets that the guest is given. */
	struct interval_tree_node node;
	const void *data;
	u64 first;
	u64 end;
	u32 bank;
	u32 users;
};

/*
 * Record that a VMA maps @len bytes of @file from offset @first on; @data: its vm_private_data.
 * @space must outlive the extent.
 * Return: the extent; NULL if the offset alone says which memory it is; ERR_PTR(-ENOMEM),
 * ERR_PTR(-EOVERFLOW).
 */
struct vgpu_extent *vgpu_extent_add(struct vgpu_peer *peer, struct vgpuh_space *space,
				    const struct file *file, const void *data, u64 first,
				    u64 len);
/* Return the offset that the guest is given for @offset. */
u64 vgpu_extent_offset(const struct vgpu_extent *extent, u64 offset);
struct vgpu_extent *vgpu_extent_get(struct vgpu_peer *peer, struct vgpu_extent *extent);
void vgpu_extent_put(struct vgpu_peer *peer, struct vgpuh_space *space, struct vgpu_extent *extent);

#endif /* _VGPU_HOST_EXTENT_H */
