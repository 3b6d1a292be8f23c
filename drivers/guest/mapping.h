/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings: VMAs of guest processes that are backed by a device mapping in a
 * shadow.
 */
#ifndef VGPU_MAPPING_H
#define VGPU_MAPPING_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct vgpu_export;
struct vgpu_object;
struct vgpu_session;
struct vgpu_space;
struct vgpu_window_range;
struct vm_area_struct;

/**
 * struct vgpu_mapping - one mmap() of a forwarded file
 * @ref: VMAs, dirty pages, faults under way
 * @session: whose shadow has it; after a fork the child's VMAs use it too
 * @export: where its file came from, for the counters (a reference)
 * @space: what it shows
 * @addr: where it begins in the shadow
 * @pgoff: what it begins with, pages in @space
 * @flags: VGPU_MAP_*
 * @cache: VGPU_CACHE_*
 * @range: what shows it of the host's window; NULL: copy mode
 * @lock: guards what follows
 * @spans: parts of it with the number of VMAs that cover each, in order; what has
 *	ended at the host has none, and never again
 * @run_first: page from which the program read on
 * @run_end: behind the last one that it used since
 * @ahead_next: page at which a fault counts as sequential
 * @ahead: pages that the last fault fetched
 * @error: why the page at @error_index could not be fetched: the next fault
 *	there takes it away; 0: none
 * @error_index: offset in @space, pages
 */
struct vgpu_mapping {
	struct kref ref;
	struct vgpu_session *session;
	struct vgpu_export *export;
	struct vgpu_space *space;
	u64 addr;
	pgoff_t pgoff;
	u32 flags;
	u32 cache;
	struct vgpu_window_range *range;
	spinlock_t lock;
	struct list_head spans;
	pgoff_t run_first;
	pgoff_t run_end;
	pgoff_t ahead_next;
	u32 ahead;
	int error;
	pgoff_t error_index;
};

/**
 * vgpu_mapping_mmap - f_op->mmap of forwarded files
 * @object: what the file stands for
 * @vma: the new VMA
 *
 * Makes the shadow map the same range of the real file at the same address.
 *
 * Context: mmap lock held for writing; waits for the host killably, with calls
 * of class mm only.
 * Return: what the driver's mmap gives, or -EINTR, -ENODEV (host lost), -ENOMEM.
 */
int vgpu_mapping_mmap(struct vgpu_object *object, struct vm_area_struct *vma);

struct vgpu_mapping *vgpu_mapping_get(struct vgpu_mapping *mapping);
void vgpu_mapping_put(struct vgpu_mapping *mapping);

/* Address in the shadow of page @pgoff of the space; it is inside the mapping. */
u64 vgpu_mapping_addr(const struct vgpu_mapping *mapping, pgoff_t pgoff);

/*
 * How many pages from page @pgoff of the space on are still mapped in the shadow.
 * Something else may be at the address of others.
 */
pgoff_t vgpu_mapping_covered(struct vgpu_mapping *mapping, pgoff_t pgoff);

/*
 * A fault could not get page @pgoff of the space: the next one there, after the retry, takes the
 * error away and reports it.
 */
void vgpu_mapping_leave_error(struct vgpu_mapping *mapping, pgoff_t pgoff, int error);
vm_fault_t vgpu_mapping_take_error(struct vgpu_mapping *mapping, pgoff_t pgoff);

/* Tell the host, one-way, that a range of the shadow is not used any more. */
void vgpu_mapping_end(struct vgpu_mapping *mapping, u64 addr, u64 len);

#endif /* VGPU_MAPPING_H */
