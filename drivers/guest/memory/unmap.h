/* SPDX-License-Identifier: GPL-2.0-only */
/* Unmaps: ranges that are unmapped at the host once their dirty bytes are there. */
#ifndef VGPU_MEMORY_UNMAP_H
#define VGPU_MEMORY_UNMAP_H

#include <linux/list.h>
#include <linux/types.h>

struct vgpu_mapping;

/**
 * struct vgpu_unmap_entry - range that is unmapped at the host once its dirty bytes are there
 * @node: list entry in flush->unmaps; protected by flush->lock; or in a list of a run
 * @mapping: mapping of the range, with a reference
 * @addr: address of the first byte in the shadow
 * @len: length in bytes
 */
struct vgpu_unmap_entry {
	struct list_head node;
	struct vgpu_mapping *mapping;
	u64 addr;
	u64 len;
};

/**
 * vgpu_unmap_range - unmap a range of a mapping at the host
 * @mapping: the mapping
 * @pgoff: first page, as offset in its space
 * @nr: number of pages
 *
 * Unmaps at once if nothing in the range is dirty, and the session's flush neither runs nor has
 * orphans; else after the bytes are sent.
 *
 * Context: mmap_lock held for writing. Does not wait for the host.
 */
void vgpu_unmap_range(struct vgpu_mapping *mapping, pgoff_t pgoff, pgoff_t nr);

/**
 * vgpu_unmap_free - free an entry that is on no list any more
 * @unmap: the entry
 *
 * Context: process, no lock of a space, as the mapping may be freed.
 */
void vgpu_unmap_free(struct vgpu_unmap_entry *unmap);

#endif /* VGPU_MEMORY_UNMAP_H */
