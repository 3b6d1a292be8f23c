/* SPDX-License-Identifier: GPL-2.0-only */
/* Clear: empties the cache of a range, also of dirty pages, once the host has their bytes. */
#ifndef VGPU_SPACE_CLEAR_H
#define VGPU_SPACE_CLEAR_H

#include <linux/types.h>

struct vgpu_space;

/**
 * vgpu_space_clear - empty the cache of a range, so that the next fetch sees the host's bytes
 * @space: the space
 * @pgoff: first page, as offset in the space
 * @nr: number of pages
 * @wait: time in jiffies to wait for dirty bytes to be sent
 *
 * Dirty bytes are sent to the host. Meanwhile writers to clean pages of the space wait, but not
 * forever.
 *
 * Context: process, no locks.
 * Return: 0, -EAGAIN (pages are dirty still or again), -ETIMEDOUT (the bytes are not sent yet).
 */
int vgpu_space_clear(struct vgpu_space *space, pgoff_t pgoff, pgoff_t nr, unsigned long wait);

#endif /* VGPU_SPACE_CLEAR_H */
