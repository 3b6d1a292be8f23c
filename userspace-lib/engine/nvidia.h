/* SPDX-License-Identifier: MIT */
/*
 * A client of NVIDIA's resource manager (RM) that owns what a guest is shown. A program's memory
 * object stays allocated until its last duplicate is freed, and a mapping of a duplicate stays
 * valid until that duplicate is freed. So when the program frees its object, or ends, the memory
 * remains the guest's for as long as it may be seen.
 *
 * Only the process that has made a client can map its objects. They live until the last reference
 * of the client's file, @control, is closed. Files that nvidia_lend() has mapped objects to are
 * tied to it, so that a mapping of such a file keeps them, too.
 *
 * All functions may wait for the driver.
 */
#ifndef VGPU_ENGINE_NVIDIA_H
#define VGPU_ENGINE_NVIDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "../../drivers/common/nvidia_rm.h"

/**
 * struct nvidia - a client
 * @control: the file of nvidiactl by which the client was made; -1: there is no client
 * @client: the client's handle
 * @devices: handles of its device objects, by number of the card; 0: not made yet
 * @subdevices: handles of its subdevice objects, one below each of @devices
 * @status: RM's status of the last ioctl, RM_OK where that failed without one
 */
struct nvidia {
	int control;
	uint32_t client;
	uint32_t devices[RM_DEVICES];
	uint32_t subdevices[RM_DEVICES];
	uint32_t status;
};

/**
 * struct nvidia_memory - memory that a program has mapped
 * @client: handle of the program's client
 * @memory: handle of the memory object in that client
 * @flags: the mapping's flags, as the program gave them to the driver
 * @card: minor number of the program's file, which shows it: the card's, or RM_MINOR_CTL for memory
 *	of the system
 * @offset: where the mapping begins in the object, in bytes
 * @len: length of the mapping in bytes
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
 * struct nvidia_lent - a duplicate of memory, with a mapping
 * @device: handle of the device object by which it was mapped
 * @memory: handle of the duplicate
 * @addr: number by which RM knows the mapping
 */
struct nvidia_lent {
	uint32_t device;
	uint32_t memory;
	uint64_t addr;
};

/**
 * nvidia_begin - make a client
 * @nvidia: filled in
 * @control: a file of nvidiactl with which nothing was done; it becomes the client's in any case
 *
 * Return: 0, or a negative errno.
 */
int nvidia_begin(struct nvidia *nvidia, int control);
/**
 * nvidia_end - close the client's file, which frees its objects if nobody else has the file
 * @nvidia: the client
 */
void nvidia_end(struct nvidia *nvidia);
/**
 * nvidia_lend - own memory of a program, and let a file show it
 * @nvidia: the client that owns it from now on
 * @memory: the memory
 * @file: a file of the same node as the program's, with which nothing was done; it shows the memory
 *	at offset 0, as long as it is mapped, even if this process ends
 * @lent: filled in
 *
 * Return: 0, or a negative errno.
 */
int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent);
/**
 * nvidia_show - own memory of the system, and let a file show it
 * @nvidia: the client that owns it from now on
 * @memory: the memory
 * @file: a file of nvidiactl with which nothing was done. It is not tied to @control, by which
 *	whoever has the file could use the client. A mapping of it has the pages by itself; until
 *	it is mapped, it shows the memory as long as that is owned
 * @lent: filled in
 *
 * Return: 0, or a negative errno.
 */
int nvidia_show(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent);
/**
 * nvidia_take_back - end the mapping and free the duplicate of nvidia_lend()
 * @nvidia: the client
 * @lent: what nvidia_lend() has filled in. Nobody may see it any more: RM gives the memory to
 *	others, and changes nothing for whoever has it mapped
 */
void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent);

#endif /* VGPU_ENGINE_NVIDIA_H */
