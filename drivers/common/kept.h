/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of guests that devices keep: how a guest names its pages, and where a host finds them.
 */
#ifndef VGPU_KEPT_H
#define VGPU_KEPT_H

#ifdef __KERNEL__
#include <asm/byteorder.h>
#endif

#include "wire.h"

/**
 * vgpu_run_append - name one more page
 * @runs: those so far
 * @nr: how many they are; changed
 * @max: how many there is room for
 * @addr: the page's physical address in the guest
 *
 * A page that follows the last one makes the run longer.
 *
 * Return: false if there is no room.
 */
static inline bool vgpu_run_append(struct vgpu_run *runs, u32 *nr, u32 max, u64 addr)
{
	struct vgpu_run *last = runs + *nr - 1;

	if (*nr && le64_to_cpu(last->addr) + le64_to_cpu(last->len) == addr) {
		last->len = cpu_to_le64(le64_to_cpu(last->len) + VGPU_PAGE_SIZE);
		return true;
	}
	if (*nr == max)
		return false;
	runs[(*nr)++] = (struct vgpu_run) {
		.addr = cpu_to_le64(addr), .len = cpu_to_le64(VGPU_PAGE_SIZE),
	};
	return true;
}

/**
 * struct vgpu_ram - a part of a guest's memory
 * @addr: its physical address in the guest
 * @len: bytes; 0: there is none
 * @offset: where it begins in @fd
 * @fd: a file that others have mapped, too: the guest's hypervisor first of all
 */
struct vgpu_ram {
	u64 addr;
	u64 len;
	u64 offset;
	int fd;
};

/**
 * vgpu_ram_find - where memory of the guest is
 * @ram: its parts, which do not overlap
 * @nr: how many
 * @addr: physical address in the guest
 * @len: bytes from there on, not 0; out: as many of them as the part has
 *
 * A run may go on in another part: ask again for the rest.
 *
 * Return: the part, or NULL: nothing is known at @addr.
 */
static inline const struct vgpu_ram *vgpu_ram_find(const struct vgpu_ram *ram, u32 nr, u64 addr,
						   u64 *len)
{
	u64 left;

	for (; nr; nr--, ram++) {
		if (addr < ram->addr || addr - ram->addr >= ram->len)
			continue;
		left = ram->len - (addr - ram->addr);
		if (*len > left)
			*len = left;
		return ram;
	}
	return NULL;
}

#endif /* VGPU_KEPT_H */
