/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arena: the last bytes of a window, in slots, through which long messages go. A lane
 * may have one slot. Of a message with VGPU_HDR_ARENA the connection carries the fixed part
 * alone; what follows that lies at the beginning of the slot.
 *
 * A slot needs no lock and no ring: it is that side's which may send the next message with
 * bytes, as a lane has one call at a time and its messages take turns.
 *
 *	CALL sent		the host's: it copies, runs, and may fill it
 *	FETCH sent		the guest's, for FETCHED
 *	WRITEBACK sent		the guest's, to copy, until WRITTEN
 *	REPLY sent		the guest's: it copies, and may fill it
 *
 * CANCEL and ACK have no bytes. After an upcall that was not answered in time both might
 * write, so the REPLY that ends the lane then (VGPU_REPLY_LAST) goes by the connection.
 * A peer that writes out of turn harms its own message: whoever receives copies what is there
 * once, into memory of its own, and looks at nothing but the copy.
 *
 * How it ends: the host gives a slot a number with ARENA_GET, and takes that out of the
 * window's header before it takes its memory away, which may be at any time for the guest.
 * The guest compares the number after each copy, so it takes nothing else for a message. What it
 * writes too late goes to a page of the arena's own. It uses a slot for another lane, of
 * whatever connection, after the last thread that could is through with it.
 */
#ifndef VGPU_ARENA_H
#define VGPU_ARENA_H

#include <linux/types.h>
#include <linux/uio.h>

/* So many bytes behind the fixed part of a message fit into a slot, and are worth it. */
bool vgpu_arena_suits(u64 len);
/*
 * So many bytes of such messages are worth asking for a slot: it is new memory, of which each
 * page costs a fault in the hypervisor, so who sends one or two messages does without.
 */
u64 vgpu_arena_worth(void);

/**
 * vgpu_arena_gather - put the bytes of a message into a slot
 * @to: the slot's memory
 * @vec: bytes
 * @nr: entries
 *
 * Return: how many they are; 0: nothing was written, as they do not suit.
 */
size_t vgpu_arena_gather(void *to, const struct kvec *vec, size_t nr);

#endif /* VGPU_ARENA_H */
