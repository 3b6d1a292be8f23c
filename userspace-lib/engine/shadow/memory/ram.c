// SPDX-License-Identifier: MIT
/* Files that hold the guest's memory, as the engine has told. */
#include <asm/statfs.h>
#include <linux/errno.h>
#include <linux/magic.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/memory/ram.h"

/* Number of entries of the table, as in the engine. */
#define RAM_MAX		64

/* Places of the guest's memory; protected by map_lock. */
static struct vgpu_ram ram[RAM_MAX];

/*
 * Return: the page size of the file, or 0 if unknown. A page of hugetlbfs is mapped as a whole,
 * whatever length is asked for.
 */
static u64 file_page(int fd)
{
	struct statfs stat;

	if (sys2(__NR_fstatfs, fd, (long)&stat))
		return 0;
	return stat.f_type == HUGETLBFS_MAGIC ? (u64)stat.f_bsize : PAGE_SIZE;
}

void ram_add(u64 addr, u64 len, u64 offset, int fd)
{
	u64 page = file_page(fd);
	u32 i;

	if (!page || page > VGPU_RAM_PAGE_MAX) {
		sys2(__NR_close, fd, 0);
		return;
	}
	lock_take(&map_lock);
	for (i = 0; i < RAM_MAX && ram[i].len; i++)
		;
	if (i < RAM_MAX)
		ram[i] = (struct vgpu_ram) {
			.addr = addr, .len = len, .offset = offset, .page = page, .fd = fd,
		};
	lock_drop(&map_lock);
	if (i == RAM_MAX)
		sys2(__NR_close, fd, 0);
}

void ram_remove(u64 addr, u64 len)
{
	u32 i;

	lock_take(&map_lock);
	for (i = 0; i < RAM_MAX; i++) {
		if (ram[i].addr != addr || ram[i].len != len || !len)
			continue;
		ram[i].len = 0;
		sys2(__NR_close, ram[i].fd, 0);
	}
	lock_drop(&map_lock);
}

s64 ram_pieces(const struct vgpu_kept *kept, u64 addr,
	       int (*fn)(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
			 bool write),
	       void *data)
{
	return vgpu_kept_pieces(ram, RAM_MAX, kept, addr, fn, data);
}
