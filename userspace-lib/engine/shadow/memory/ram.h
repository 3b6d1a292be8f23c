/* SPDX-License-Identifier: MIT */
/* Files that hold the guest's memory, as the engine has told. */
#ifndef ESHADOW_RAM_H
#define ESHADOW_RAM_H

#include "engine/shadow/base/lib.h"
#include "kept.h"

/*
 * Notes that memory of the guest at physical address @addr is in a file, from @offset on. @fd
 * becomes ram.c's.
 */
void ram_add(u64 addr, u64 len, u64 offset, int fd);
void ram_remove(u64 addr, u64 len);
/* Does vgpu_kept_pieces() with all of the guest's memory. Context: map_lock is held. */
s64 ram_pieces(const struct vgpu_kept *kept, u64 addr,
	       int (*fn)(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
			 bool write),
	       void *data);

#endif /* ESHADOW_RAM_H */
