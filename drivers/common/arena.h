/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arena: the last bytes of a window, divided into slots, through which long messages go. A
 * lane may have one slot. The connection carries only the fixed part of a message with
 * VGPU_HDR_ARENA; the rest of the message lies at the beginning of the slot.
 *
 * A slot needs no lock and no ring. A lane has one call at a time and its messages take turns,
 * so the slot belongs to the side that may send the next message with bytes:
 *
 *	CALL sent		to the host: it copies, runs, and may fill the slot
 *	FETCH sent		to the guest, for FETCHED
 *	WRITEBACK sent		to the guest, to copy, until WRITTEN
 *	REPLY sent		to the guest: it copies, and may fill the slot
 *
 * CANCEL and ACK have no bytes. After an upcall that was not answered in time both sides might
 * write to the slot, so the REPLY that ends the lane then (VGPU_REPLY_LAST) goes over the
 * connection. A peer that writes out of turn harms only its own message: the receiver copies
 * the slot once into private memory, and reads nothing but the copy.
 *
 * Teardown: the host assigns an id to a slot with ARENA_GET. It removes the id from the
 * window's header before it takes the slot's memory away; to the guest this may happen at any
 * time. The guest compares the id after each copy, so it takes no other bytes for a message.
 * Bytes that the guest writes too late go to a page of the arena itself. The guest gives a slot
 * to another lane, of any connection, only after the last thread that could still use the slot
 * is done with it.
 */
#ifndef VGPU_ARENA_H
#define VGPU_ARENA_H

#include <linux/types.h>
#include <linux/uio.h>

/*
 * Return: true if @len bytes behind the fixed part of a message fit into a slot and are worth
 * it.
 */
bool vgpu_arena_suits(u64 len);
/*
 * Return: number of bytes of suitable messages from which on a lane should ask for a slot. A
 * slot is new memory, and each of its pages costs a fault in the hypervisor, so a lane that
 * sends one or two messages does without.
 */
u64 vgpu_arena_worth(void);

/**
 * vgpu_arena_gather - copy the bytes of a message into a slot
 * @to: memory of the slot
 * @vec: array of buffers with the bytes
 * @nr: number of entries of @vec
 *
 * Return: number of bytes copied; 0 if the message does not suit and nothing was written.
 */
size_t vgpu_arena_gather(void *to, const struct kvec *vec, size_t nr);

#endif /* VGPU_ARENA_H */
