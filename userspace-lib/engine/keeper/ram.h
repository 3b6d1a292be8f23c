/* SPDX-License-Identifier: MIT */
/* The guest's memory: see ram.c. */
#ifndef KEEPER_RAM_H
#define KEEPER_RAM_H

#include <stdint.h>

/*
 * Number of slots for memory that the hypervisor reports: the largest number of parts of the
 * guest's memory, including those that show mappings of the window.
 */
#define KEEPER_MEM_SLOTS	509

/**
 * struct ram_part - a part of the guest's memory, as the hypervisor reports it
 * @addr: physical address in the guest
 * @len: length in bytes
 * @place: address in the hypervisor, which stays the same when the guest moves the memory
 * @offset: place in the file at which the part begins, in bytes
 */
struct ram_part {
	uint64_t addr;
	uint64_t len;
	uint64_t place;
	uint64_t offset;
};

/**
 * ram_appeared - note that the guest has memory that is no mapping of the window
 * @part: the memory
 * @fd: the file, which becomes ram.c's
 *
 * Only shared memory of tmpfs or hugetlbfs is taken. Drivers that read pages of any other file
 * would wait for its file system, which may be the hypervisor itself.
 */
void ram_appeared(const struct ram_part *part, int fd);

/**
 * ram_vanished - note that memory which is no mapping of the window is gone
 * @addr: physical address in the guest
 * @len: length in bytes
 */
void ram_vanished(uint64_t addr, uint64_t len);

/* Tell a new engine of all memory of the guest. */
void ram_tell(void);

/**
 * ram_module - tell the host module of the guest's memory from now on
 * @fd: the module's file for that, which becomes ram.c's
 */
void ram_module(int fd);

#endif /* KEEPER_RAM_H */
