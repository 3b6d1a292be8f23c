/* SPDX-License-Identifier: MIT */
/*
 * Clients of NVIDIA's resource manager (RM) that own what a guest is shown. A program's memory
 * object stays allocated until its last duplicate is freed, and a mapping of a duplicate stays
 * valid until that duplicate is freed. So when the program frees its object, or ends, the memory
 * remains the guest's for as long as it may be seen.
 *
 * Only the process that has made a client can map its objects. They live until the last reference
 * of the client's file is closed. What a hypervisor maps of a card has a client of its own, and a
 * file of the driver that is tied to the client's, which nobody else has: so the mapping alone
 * keeps the memory, however long that is and whoever else has ended, and its end frees that.
 *
 * A mapping of memory of the system has its pages by itself, but does not keep the card that the
 * memory was allocated by. When that is stopped the driver forgets the card, and a client that
 * frees such memory later has it use what it has forgotten. So this memory is freed while the
 * engine still holds the guest's cards, when it is said to be unmapped.
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
 * nvidia_begin_apart - make a client whose objects no other client may have
 * @nvidia: filled in
 * @control: as for nvidia_begin()
 *
 * RM lets processes of one number have each other's objects by default, and a client may be there
 * still when another process has the number of the one that made it.
 *
 * Return: 0, or a negative errno.
 */
int nvidia_begin_apart(struct nvidia *nvidia, int control);
/**
 * nvidia_end - close the client's file, which frees its objects if nobody else has the file
 * @nvidia: the client
 */
void nvidia_end(struct nvidia *nvidia);
/**
 * nvidia_lend - let a file own memory of a card that a program has, and show it
 * @nvidia: the client that the program has shared the memory with
 * @memory: the memory
 * @file: a file of the card, with which nothing was done; it shows the memory
 *	at offset 0, and owns it until the last reference of the file is closed, and with it the
 *	last mapping. If this fails it is good for nothing but to be closed
 * @control: a file of nvidiactl with which nothing was done, which this closes in any case
 *
 * Return: 0, or a negative errno.
 */
int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file, int control);
/**
 * nvidia_lend_system - own memory of the system that a program has, and let a file show it
 * @nvidia: the client that owns it from now on
 * @memory: the memory
 * @file: a file of nvidiactl with which nothing was done; it shows the memory at offset 0, and
 *	keeps the client until it is closed, even if this process ends
 * @lent: filled in
 *
 * Return: 0, or a negative errno.
 */
int nvidia_lend_system(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
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
 * nvidia_export - export memory of a card to a file, as programs do
 * @nvidia: a client, of a process that has the card open
 * @card: minor number of the card
 * @file: a file of nvidiactl with which nothing was done. The memory is exported until its last
 *	reference is closed
 *
 * Return: 0, or a negative errno.
 */
int nvidia_export(struct nvidia *nvidia, uint32_t card, int file);
/**
 * nvidia_take_back - end RM's mapping and free the duplicate
 * @nvidia: the client
 * @lent: what nvidia_lend_system() or nvidia_show() has filled in
 */
void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent);

#endif /* VGPU_ENGINE_NVIDIA_H */
