/* SPDX-License-Identifier: MIT */
/* Files that hold the guest's memory: see ram.c. */
#ifndef ENGINE_RAM_H
#define ENGINE_RAM_H

#include <stdint.h>

struct shadow;

/* Note that the guest's memory at @addr is in a file, from @offset on. @fd becomes ram.c's. */
void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd);
void ram_remove(uint64_t addr, uint64_t len);
/* Forget all memory of the guest, as its keeper has ended and will not tell of changes. */
void ram_forget(void);
/* Tell a new shadow where the guest's memory is. */
void ram_tell(struct shadow *shadow);

#endif /* ENGINE_RAM_H */
