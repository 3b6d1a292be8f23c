/* SPDX-License-Identifier: GPL-2.0-only */
/* Fetches: bring pages of the host into the cache, for faults that wait for them. */
#ifndef VGPU_SPACE_FETCH_H
#define VGPU_SPACE_FETCH_H

#include <linux/types.h>

struct vgpu_mapping;

/*
 * Fetch a page that is not cached, and, with @write, wait until it may become dirty. @deadline:
 * deadline of the fault, see deadline.h. Return: 0, -EINTR, or the error of the fetch or the wait.
 */
int vgpu_space_wait(struct vgpu_mapping *mapping, pgoff_t index, bool write,
		    unsigned long deadline);

/**
 * vgpu_space_note_use - note that a program uses a page that may have been fetched ahead
 * @mapping: mapping of the fault
 * @index: offset of the page in its space, in pages
 *
 * Context: any that may take mapping->lock.
 */
void vgpu_space_note_use(struct vgpu_mapping *mapping, pgoff_t index);

#endif /* VGPU_SPACE_FETCH_H */
