// SPDX-License-Identifier: MIT
/* The table of mappings: parts of the address space that are no demand pages. */
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/memory/mapping.h"

struct mapping *mappings;
u32 nr_mappings;
static u32 max_mappings;

u32 mapping_index(u64 addr)
{
	u32 low = 0, high = nr_mappings;

	/* Find the first mapping that ends after @addr. */
	while (low < high) {
		u32 middle = (low + high) / 2;

		if (mappings[middle].addr + mappings[middle].len > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool mapping_at(u64 addr)
{
	u32 i = mapping_index(addr);

	return i < nr_mappings && mappings[i].addr <= addr;
}

u64 mapping_next(u64 addr)
{
	u32 i = mapping_index(addr);
	u64 end = addr < SHADOW_RESERVED_BASE ? SHADOW_RESERVED_BASE : SHADOW_DEMAND_END;

	return i < nr_mappings ? min(mappings[i].addr, end) : end;
}

void mapping_init(void)
{
	max_mappings = eshadow_mappings_max(limit_now(mappings), limit_now(lanes));
	mappings = memory_get(max_mappings * sizeof(*mappings));
	sys_exit_if(!mappings, SHADOW_EXIT_MAP);
}

int mapping_room(void)
{
	return nr_mappings + 1 < max_mappings ? 0 : -ENOMEM;
}

/* Changes of device mappings that the engine was not told of; protected by map_lock. */
static s64 untold_bytes;
static s32 untold_mappings;

void mapping_tell_usage(void)
{
	if (untold_bytes || untold_mappings)
		channel_tell_usage(untold_bytes, untold_mappings, 0);
	untold_bytes = 0;
	untold_mappings = 0;
	use->mappings = nr_mappings;
	use->most_mappings = max(use->most_mappings, nr_mappings);
}

void mapping_account(s64 len, s32 nr)
{
	untold_bytes += len;
	untold_mappings += nr;
}

void mapping_insert(struct mapping mapping)
{
	u32 i = mapping_index(mapping.addr), j;

	for (j = nr_mappings++; j > i; j--)
		mappings[j] = mappings[j - 1];
	mappings[i] = mapping;
	if (mapping.device)
		mapping_account(mapping.len, 1);
}

void mapping_remove(u32 i)
{
	if (mappings[i].device)
		mapping_account(-(s64)mappings[i].len, -1);
	for (nr_mappings--; i < nr_mappings; i++)
		mappings[i] = mappings[i + 1];
}

bool mapping_splits(u64 addr, u64 end)
{
	u32 i = mapping_index(addr);

	return i < nr_mappings && mappings[i].device && mappings[i].addr < addr &&
	       mappings[i].addr + mappings[i].len > end;
}

void mapping_cut(u64 addr, u64 end)
{
	u32 i = mapping_index(addr);

	while (i < nr_mappings && mappings[i].addr < end) {
		struct mapping old = mappings[i], part = old;

		if (!old.device) {
			i++;
			continue;
		}
		mapping_remove(i);
		if (old.addr < addr) {
			part.len = addr - old.addr;
			mapping_insert(part);
		}
		if (old.addr + old.len > end) {
			part.addr = end;
			part.len = old.addr + old.len - end;
			part.file_offset = old.file_offset + end - old.addr;
			mapping_insert(part);
		}
		i = mapping_index(max(addr, old.addr));
		if (old.addr < addr || old.addr + old.len > end)
			i = mapping_index(min(end, old.addr + old.len));
	}
}

bool mapping_range_ok(u64 addr, u64 len)
{
	return addr >= SHADOW_DEMAND_START && addr < SHADOW_DEMAND_END &&
	       len <= SHADOW_DEMAND_END - addr &&
	       (addr + len <= SHADOW_RESERVED_BASE ||
		addr >= SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE);
}

bool mapping_range_free(u64 addr, u64 len, bool device)
{
	u32 i;

	for (i = mapping_index(addr); i < nr_mappings && mappings[i].addr < addr + len; i++)
		if (device || !mappings[i].device)
			return false;
	return true;
}
