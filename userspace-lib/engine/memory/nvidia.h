/* SPDX-License-Identifier: MIT */
/*
 * Clients of NVIDIA's resource manager (RM) that own memory which a guest can see. A program's
 * memory object stays allocated until its last duplicate is freed, and a mapping of a duplicate
 * stays valid until that duplicate is freed. So the memory remains the guest's as long as it may
 * be visible, even if the program frees its object or ends.
 *
 * Only the process that has made a client can map the client's objects. These objects live until
 * the last reference of the client's file is dropped.
 *
 * Memory of a card that a hypervisor maps has a client of its own, and a file of the driver that
 * is tied to this client. Nothing else holds this client. So the mapping alone keeps the memory,
 * however long it lasts and whichever processes end, and the end of the mapping frees the memory.
 *
 * A mapping of memory of the system holds the pages by itself, but does not hold the card that
 * the memory was allocated by. The driver forgets a card that is stopped. A client that frees
 * such memory afterwards makes the driver use the forgotten card. So the engine frees this memory
 * when it is reported to be unmapped, while the engine still holds the guest's cards.
 *
 * All functions may sleep in the driver.
 */
#ifndef VGPU_ENGINE_NVIDIA_H
#define VGPU_ENGINE_NVIDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../drivers/common/nvidia_rm.h"

/**
 * struct nvidia - a client of RM
 * @control: file of nvidiactl by which the client was made; -1: there is no client
 * @client: handle of the client
 * @devices: handles of the client's device objects, by number of the card; 0: not made yet
 * @subdevices: handles of the subdevice objects, one below each of @devices
 * @status: RM's status of the last ioctl, RM_OK if the ioctl failed without a status
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
 * @card: minor number of the program's file that shows the memory: the card's, or RM_MINOR_CTL
 *	for memory of the system
 * @offset: place in the object at which the mapping begins, in bytes
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
 * @device: handle of the device object by which the memory was mapped
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
 * @control: file of nvidiactl that was not used yet; it becomes the client's in any case
 *
 * Return: 0, or a negative errno.
 */
int nvidia_begin(struct nvidia *nvidia, int control);
/**
 * nvidia_begin_apart - make a client whose objects no other client may have
 * @nvidia: filled in
 * @control: file of nvidiactl that was not used yet; it becomes the client's in any case
 *
 * By default RM lets processes with the same process number have each other's objects. A client
 * may outlive the process that made it, and another process may get that number.
 *
 * Return: 0, or a negative errno.
 */
int nvidia_begin_apart(struct nvidia *nvidia, int control);
/**
 * nvidia_end - close the client's file, whose last reference frees the client's objects
 * @nvidia: the client
 */
void nvidia_end(struct nvidia *nvidia);
/**
 * nvidia_lend - let a file own and show memory of a card that a program has
 * @nvidia: client that the program has shared the memory with
 * @memory: the memory
 * @file: file of the card that was not used yet. It shows the memory at offset 0, and owns the
 *	memory until the last reference of the file is dropped, and with it the last mapping. On
 *	failure the file can only be closed
 * @control: file of nvidiactl that was not used yet; closed in any case
 *
 * Return: 0, or a negative errno.
 */
int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file, int control);
/**
 * nvidia_lend_system - own memory of the system that a program has, and let a file show it
 * @nvidia: client that owns the memory afterwards
 * @memory: the memory
 * @file: file of nvidiactl that was not used yet. It shows the memory at offset 0, and holds the
 *	client until it is closed, even if this process ends
 * @lent: filled in
 *
 * Return: 0, or a negative errno.
 */
int nvidia_lend_system(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		       struct nvidia_lent *lent);
/**
 * nvidia_show - own memory of the system, and let a file show it
 * @nvidia: client that owns the memory afterwards
 * @memory: the memory
 * @file: file of nvidiactl that was not used yet. It does not become tied to the client's file, as
 *	a process with a tied file could use the client. A mapping of the file holds the pages by
 *	itself; until it is mapped, the file shows the memory as long as the memory is owned
 * @lent: filled in
 *
 * Return: 0, or a negative errno.
 */
int nvidia_show(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent);
/**
 * nvidia_export - export memory of a card to a file, as programs do
 * @nvidia: client of a process that has the card open
 * @card: minor number of the card
 * @file: file of nvidiactl that was not used yet. The memory is exported until the last reference
 *	of this file is dropped
 *
 * Return: 0, or a negative errno.
 */
int nvidia_export(struct nvidia *nvidia, uint32_t card, int file);
/**
 * nvidia_samples - read which processes a card has worked for
 * @nvidia: client of a process that has this card open, and no other one
 * @card: minor number of the card
 * @samples: filled in
 * @number: out: RM's number of the card
 *
 * Return: 0, or a negative errno.
 */
int nvidia_samples(struct nvidia *nvidia, uint32_t card, struct rm_samples *samples,
		   uint32_t *number);
/**
 * nvidia_subdevice - make a subdevice of a program's device
 * @control: file of nvidiactl that has made the client
 * @client: handle of the client
 * @device: handle of the device
 * @subdevice: out: the subdevice's handle, for nvidia_subdevice_free()
 *
 * Return: 0, or a negative errno.
 */
int nvidia_subdevice(int control, uint32_t client, uint32_t device, uint32_t *subdevice);
/* Free a subdevice of nvidia_subdevice(). */
void nvidia_subdevice_free(int control, uint32_t client, uint32_t subdevice);
/**
 * nvidia_switch - take channels of a client off their card, or let them run again
 * @control: file of nvidiactl that has made the client
 * @client: handle of the client, of this process or another
 * @subdevice: handle of a subdevice of the card
 * @channels: handles of the channels
 * @nr: number of channels, RM_SWITCH_MAX or less
 * @off: true if the channels are to be taken off
 *
 * Return: 0, or a negative errno; some of the channels may be switched then.
 */
int nvidia_switch(int control, uint32_t client, uint32_t subdevice, const uint32_t *channels,
		  uint32_t nr, bool off);
/**
 * nvidia_take_back - end RM's mapping and free the duplicate
 * @nvidia: the client
 * @lent: duplicate and mapping from nvidia_lend_system() or nvidia_show()
 */
void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent);

#endif /* VGPU_ENGINE_NVIDIA_H */
