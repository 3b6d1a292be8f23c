/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kept memory: the guest names pages that devices keep as runs of physical addresses, and the
 * host finds these addresses in files that the guest's hypervisor has given to it.
 */
#ifndef VGPU_KEPT_H
#define VGPU_KEPT_H

#include <linux/errno.h>

#include "wire.h"

struct file;

/**
 * vgpu_run_append - append one page to a list of runs
 * @runs: array of runs
 * @nr: number of runs; incremented unless the page extends the last run
 * @max: number of runs that @runs has room for
 * @addr: physical address of the page in the guest, in bytes, a multiple of the page size
 *
 * A page right behind the last run extends that run.
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
 * Maximum page size in bytes of memory that can be kept. A shadow of the user-space engine
 * hides mapped memory part by part, by other mappings. A part may end at any multiple of this
 * size, and no part of a larger hugetlbfs page can be hidden. The module replaces a whole range
 * at once and could take larger pages; it has the same limit, so that a guest does not depend
 * on the engine.
 */
#define VGPU_RAM_PAGE_MAX	(2U << 20)

/**
 * struct vgpu_ram - one part of a guest's memory
 * @addr: physical address of its first byte in the guest
 * @len: number of bytes; 0: this entry of a table is free
 * @offset: offset of its first byte in the file
 * @page: size of the file's pages, a power of two; large for hugetlbfs. Offsets and lengths of
 *	mappings of the file are multiples of it
 * @file: file that has the bytes, with a reference. The hypervisor has mapped the file, too,
 *	and may truncate it at any time
 * @fd: file descriptor of that file in user space
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
 * vgpu_kept_pieces - walk the memory of a KEPT segment
 * @ram: array of the parts of the guest's memory
 * @nr_ram: number of entries of @ram
 * @kept: data of the segment; the codec has checked that its runs are as long as it says
 * @at: address of the first byte in the program
 * @fn: callback for each piece, or NULL. A piece is the overlap of a run and a part. The
 *	arguments are @data, the address of the piece in the program, its number of bytes, the
 *	part, the offset in the part's file, and whether the device writes to the piece. The
 *	callback returns 0, or a negative errno that ends the walk
 * @data: first argument of @fn
 *
 * Return: number of pieces; -EFAULT if no part has some of the memory; -EOPNOTSUPP if a piece
 * does not consist of whole pages of its file, so that no mapping can show exactly the piece;
 * or the error of @fn.
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
