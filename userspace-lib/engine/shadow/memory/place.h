/* SPDX-License-Identifier: MIT */
/* Places in the address space that change their use, and files with the guest's memory. */
#ifndef ESHADOW_PLACE_H
#define ESHADOW_PLACE_H

#include "engine/shadow/base/lib.h"
#include "kept.h"

/* Removes devices' mappings from [addr, addr + len), which the guest has unmapped. */
void mapping_unmap(u64 addr, u64 len);
/* Turns parts of devices' mappings in the range into demand pages. Context: map_lock is held. */
int mapping_unmap_locked(u64 addr, u64 end);
/* Reserves [addr, addr + len) for other memory, and gives it back. Context: map_lock is held. */
int mapping_reserve(u64 addr, u64 len);
void mapping_give_back(u64 addr, u64 len);
/* Maps zeroed memory with @key at [addr, addr + len), in place of demand pages, and unmaps it. */
int mapping_place(u64 addr, u64 len, int key);
void mapping_displace(u64 addr, u64 len);

/*
 * Notes that @len bytes of the guest's memory, at physical address @addr, are in the file @fd, from
 * @offset on. @fd becomes place.c's.
 */
void ram_add(u64 addr, u64 len, u64 offset, int fd);
void ram_remove(u64 addr, u64 len);
/* Does vgpu_kept_pieces() with all of the guest's memory. Context: map_lock is held. */
s64 ram_pieces(const struct vgpu_kept *kept, u64 addr,
	       int (*fn)(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
			 bool write),
	       void *data);

#endif /* ESHADOW_PLACE_H */
