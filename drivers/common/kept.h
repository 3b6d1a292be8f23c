/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests name pages that devices are to keep as runs of physical addresses, and hosts find those
 * in files that a guest's hypervisor has given them.
 */
#ifndef VGPU_KEPT_H
#define VGPU_KEPT_H

#ifdef __KERNEL__
#include <asm/byteorder.h>
struct file;
#endif
#include <linux/errno.h>

#include "wire.h"

/**
 * vgpu_run_append - name one more page
 * @runs: the runs so far
 * @nr: number of them, which becomes one more unless the page belongs to the last
 * @max: number of runs that there is room for
 * @addr: physical address of the page in the guest, in bytes, a multiple of the page size
 *
 * A page right behind the last run makes that longer.
 *
 * Return: false if there is no room; nothing has changed then.
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

/*
 * Memory in larger pages is not kept. A shadow of the user-space engine hides what it has mapped
 * by other memory, part by part, and no part of a page of hugetlbfs can be hidden: each of its
 * parts ends where a page of this size may end. The module covers a range at once and could take
 * larger ones. It has the same limit, so that a guest does not depend on the engine.
 */
#define VGPU_RAM_PAGE_MAX	(2U << 20)

/**
 * struct vgpu_ram - a part of a guest's memory
 * @addr: physical address of its first byte in the guest
 * @len: number of bytes; 0: this entry of a table is free
 * @offset: offset of its first byte in the file
 * @page: size of the pages in which the file can be mapped, a power of two: those of hugetlbfs are
 *	large
 * @file: file that has the bytes, with a reference. The hypervisor has mapped it, too, and may
 *	make it shorter at any time
 * @fd: the same, of a process
 */
struct vgpu_ram {
	u64 addr;
	u64 len;
	u64 offset;
	u64 page;
#ifdef __KERNEL__
	struct file *file;
#else
	int fd;
#endif
};

/**
 * vgpu_ram_find - find the part of a guest's memory that has an address
 * @ram: the parts; of parts that overlap the first one counts
 * @nr: number of entries of @ram
 * @addr: physical address in the guest; anything, as guests may lie
 * @len: number of bytes from @addr on that are wanted, not 0; set to as many of them as the part
 *	has, at least 1
 *
 * Memory may go on in another part: the caller asks again for the rest.
 *
 * Return: the part, or NULL: no part has @addr.
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

/**
 * vgpu_kept_pieces - walk what a KEPT segment names
 * @ram: the parts of the guest's memory
 * @nr_ram: number of entries of @ram
 * @kept: the segment's data; the codec has checked that its runs are as long as it says
 * @at: address in the program of the first byte
 * @fn: NULL, or called for each piece, which is what of a run is in one part: its address in the
 *	program, its number of bytes, the part, the offset in the part's file, and whether the
 *	device writes to it. It returns 0, or a negative errno that ends the walk
 * @data: what @fn is given first
 *
 * Return: the number of pieces; -EFAULT: some of it is in no part; -EOPNOTSUPP: a piece is not made
 * of whole pages of its file, so that nothing can be mapped that is it and no more; or what @fn
 * returned.
 */
static inline s64 vgpu_kept_pieces(const struct vgpu_ram *ram, u32 nr_ram,
				   const struct vgpu_kept *kept, u64 at,
				   int (*fn)(void *data, u64 at, u64 len,
					     const struct vgpu_ram *part, u64 offset, bool write),
				   void *data)
{
	bool write = le32_to_cpu(kept->flags) & VGPU_KEPT_WRITE;
	const struct vgpu_run *run = (const void *)(kept + 1);
	u64 end = at + le64_to_cpu(kept->len);
	s64 nr = 0;

	for (; at < end; run++) {
		u64 addr = le64_to_cpu(run->addr), left = le64_to_cpu(run->len), len;

		for (; left; left -= len, addr += len, at += len) {
			const struct vgpu_ram *part;
			u64 offset;
			int ret = 0;

			len = left;
			part = vgpu_ram_find(ram, nr_ram, addr, &len);
			if (!part)
				return -EFAULT;
			offset = part->offset + (addr - part->addr);
			if ((at | len | offset) & (part->page - 1))
				return -EOPNOTSUPP;
			if (fn)
				ret = fn(data, at, len, part, offset, write);
			if (ret)
				return ret;
			nr++;
		}
	}
	return nr;
}

#endif /* VGPU_KEPT_H */
