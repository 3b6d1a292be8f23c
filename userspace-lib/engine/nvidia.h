/* SPDX-License-Identifier: MIT */
/*
 * A client of NVIDIA's resource manager that owns what a guest is shown. Memory of a program
 * stays allocated until the last of its duplicates is freed, and a mapping of a duplicate
 * stays as it is until that one is: so what the program frees, or its shadow's end frees, goes
 * on being its memory for as long as it may be seen.
 *
 * Only the process that has made a client can map its objects. They live until the last
 * file is closed that is one with @control: whoever holds such a one keeps them beyond the
 * process's end.
 */
#ifndef VGPU_ENGINE_NVIDIA_H
#define VGPU_ENGINE_NVIDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/nvidia_rm.h"

/**
 * struct nvidia - a client
 * @control: the file of nvidiactl that it was made by; -1: none
 * @client: its handle
 * @devices: of its devices, by number; 0: not there yet
 * @subdevices: likewise
 * @status: that RM has answered last
 */
struct nvidia {
	int control;
	uint32_t client;
	uint32_t devices[RM_DEVICES];
	uint32_t subdevices[RM_DEVICES];
	uint32_t status;
};

/**
 * struct nvidia_memory - what a program has mapped
 * @client: its client
 * @memory: its object
 * @flags: of its mapping
 * @card: that has its file, by minor number; RM_MINOR_CTL: memory of the system
 * @offset: in the object
 * @len: bytes
 */
struct nvidia_memory {
	uint32_t client;
	uint32_t memory;
	uint32_t flags;
	uint32_t card;
	uint64_t offset;
	uint64_t len;
};

/**
 * struct nvidia_lent - a duplicate that is mapped
 * @device: handle of the device that it was mapped by
 * @memory: the duplicate's
 * @addr: name of the mapping
 */
struct nvidia_lent {
	uint32_t device;
	uint32_t memory;
	uint64_t addr;
};

/* Each call may wait for the driver. Those that return an int return 0 or a negative errno. */

/* Takes over @control, a file of nvidiactl that nothing else was done with. */
int nvidia_begin(struct nvidia *nvidia, int control);
/* Frees all that it owns, unless somebody else holds the file. */
void nvidia_end(struct nvidia *nvidia);
/*
 * Owns @memory, and lets @file show it at offset 0: a file of the same device as the program's
 * that nothing was done with.
 */
int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent);
/* When it cannot be seen any more, and @file is closed. */
void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent);

#endif /* VGPU_ENGINE_NVIDIA_H */
