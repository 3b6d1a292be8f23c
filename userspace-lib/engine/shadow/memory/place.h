/* SPDX-License-Identifier: MIT */
/* Places that become mappings or memory for calls, and demand pages again. */
#ifndef ESHADOW_PLACE_H
#define ESHADOW_PLACE_H

#include "engine/shadow/base/lib.h"

void mapping_unmap(u64 addr, u64 len);
/* Turns parts of devices' mappings in the range into demand pages. Context: map_lock is held. */
int mapping_unmap_locked(u64 addr, u64 end);
/* Reserves [addr, addr + len) for other memory, and gives it back. Context: map_lock is held. */
int mapping_reserve(u64 addr, u64 len);
void mapping_give_back(u64 addr, u64 len);
/* Maps zeroed memory with @key at [addr, addr + len), in place of demand pages, and unmaps it. */
int mapping_place(u64 addr, u64 len, int key);
void mapping_displace(u64 addr, u64 len);

#endif /* ESHADOW_PLACE_H */
