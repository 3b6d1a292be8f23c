// SPDX-License-Identifier: MIT
/* Places that become mappings or memory for calls, and demand pages again. */
#include <linux/errno.h>
#include <linux/mman.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/thread/syscall.h"
#include "shadow/keys.h"
#include "shadow/layout.h"

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
	if (ret)
		sys_exit_group(ESHADOW_EXIT_ROOM);
}

/* --- memory for a call's arguments ------------------------------------------------- */

int mapping_place(u64 addr, u64 len, int key)
{
	long ret = -EINVAL;

	lock_take(&map_lock);
	if (mapping_range_ok(addr, len) && !mapping_room() && mapping_range_free(addr, len, true)) {
		lock_take(&demand.lock);
		mapping_insert((struct mapping) { .addr = addr, .len = len });
		pages_cover(addr, len);
		lock_drop(&demand.lock);
		ret = sys_mmap(addr, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			       0);
		if (!sys_is_error(ret) && keys_give(addr, len, key))
			ret = -ENOMEM;
	}
	lock_drop(&map_lock);
	if (sys_is_error(ret) && ret != -EINVAL)
		sys_exit_group(ESHADOW_EXIT_ROOM);
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
	if (ret)
		sys_exit_group(ESHADOW_EXIT_ROOM);
}

/* --- memory of the guest that drivers keep ------------------------------------------- */

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

void mapping_give_back(u64 addr, u64 len)
{
	demand_cover_moving(addr, len);
	lock_take(&demand.lock);
	mapping_remove(mapping_index(addr));
	lock_drop(&demand.lock);
}
