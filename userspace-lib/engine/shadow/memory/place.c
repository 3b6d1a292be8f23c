// SPDX-License-Identifier: MIT
/*
 * Places in the address space that change their use: demand pages become memory for a call, and
 * that memory and devices' mappings become demand pages again. Also the table of the files that
 * hold the guest's memory.
 */
#include <asm/statfs.h>
#include <linux/magic.h>
#include <linux/mman.h>

#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/thread/syscall.h"

/* --- unmaps --------------------------------------------------------------------- */

int mapping_unmap_locked(u64 addr, u64 end)
{
	u32 i;
	int ret = 0;

	for (i = mapping_index(addr); !ret && i < nr_mappings && mappings[i].addr < end; i++) {
		u64 from = max(addr, mappings[i].addr);

		if (mappings[i].device)
			ret = demand_cover(from, min(end, mappings[i].addr + mappings[i].len) -
					   from);
	}
	lock_take(&demand.lock);
	mapping_cut(addr, end);
	lock_drop(&demand.lock);
	mapping_tell_usage();
	return ret;
}

/*
 * Makes accesses to a hole in a mapping fail, if there is no entry left to split the mapping. The
 * hole counts as the device's until the rest is unmapped. Context: map_lock is held.
 */
static int bar_locked(u64 addr, u64 len)
{
	long ret = sys6_apart(__NR_mmap, addr, len, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_is_error(ret))
		return ret;
	lock_take(&demand.lock);
	mappings[mapping_index(addr)].barred = true;
	lock_drop(&demand.lock);
	return 0;
}

void mapping_unmap(u64 addr, u64 len)
{
	int ret;

	lock_take(&map_lock);
	if (mapping_room() && mapping_splits(addr, addr + len))
		ret = bar_locked(addr, len);
	else
		ret = mapping_unmap_locked(addr, addr + len);
	lock_drop(&map_lock);
	/* The old mapping may still be there, so this shadow must end. */
	sys_exit_if(ret, ESHADOW_EXIT_ROOM);
}

/* --- memory for a call's arguments ------------------------------------------------- */

int mapping_reserve(u64 addr, u64 len)
{
	if (!mapping_range_ok(addr, len) || !mapping_range_free(addr, len, true))
		return -EINVAL;
	if (mapping_room())
		return -ENOMEM;
	lock_take(&demand.lock);
	mapping_insert((struct mapping) { .addr = addr, .len = len });
	pages_cover(addr, len);
	lock_drop(&demand.lock);
	return 0;
}

int mapping_place(u64 addr, u64 len, int key)
{
	long ret = -EINVAL;

	lock_take(&map_lock);
	if (!mapping_reserve(addr, len)) {
		ret = sys_mmap(addr, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			       0);
		if (!sys_is_error(ret) && keys_give(addr, len, key))
			ret = -ENOMEM;
	}
	lock_drop(&map_lock);
	sys_exit_if(sys_is_error(ret) && ret != -EINVAL, ESHADOW_EXIT_ROOM);
	return sys_is_error(ret) ? ret : 0;
}

void mapping_displace(u64 addr, u64 len)
{
	int ret;

	lock_take(&map_lock);
	ret = demand_cover(addr, len);
	lock_take(&demand.lock);
	mapping_remove(mapping_index(addr));
	lock_drop(&demand.lock);
	lock_drop(&map_lock);
	sys_exit_if(ret, ESHADOW_EXIT_ROOM);
}

/* --- memory of the guest that drivers keep ------------------------------------------- */

void mapping_give_back(u64 addr, u64 len)
{
	demand_cover_moving(addr, len);
	lock_take(&demand.lock);
	mapping_remove(mapping_index(addr));
	lock_drop(&demand.lock);
}

/* --- files that hold the guest's memory, as the engine reports them ------------------- */

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
