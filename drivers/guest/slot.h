/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots: parts of a window through which a lane's long messages go. arena.h says which side may
 * write to a slot when.
 */
#ifndef VGPU_GUEST_SLOT_H
#define VGPU_GUEST_SLOT_H

#include <linux/types.h>
#include <linux/uio.h>

struct vgpu_hdr;
struct vgpu_host;
struct vgpu_lane;
struct vgpu_window;

/**
 * struct vgpu_slot - a slot that one lane uses, or asks for
 * @window: window of the slot, with a reference
 * @nr: number of the slot in the window, claimed by this lane in the provider's bitmap
 * @open: true if the host has given the slot and the provider has mapped it
 * @id: number that the host has given the slot; valid while the window's header shows it
 * @memory: address of the slot's bytes, between the provider's @slot_enter and @slot_leave
 * @data: private data of the provider
 */
struct vgpu_slot {
	struct vgpu_window *window;
	unsigned int nr;
	bool open;
	u64 id;
	void *memory;
	void *data;
};

/* Return: true if the lane has had enough long messages to be worth a slot. */
bool vgpu_slot_is_wanted(const struct vgpu_lane *lane);
/* Claim a slot that no lane of this machine uses. Return: the slot, to be asked for, or NULL. */
struct vgpu_slot *vgpu_slot_claim(struct vgpu_host *host);
/* Open a slot that the host has given as @id. Return: 0, or an errno if it cannot be accessed. */
int vgpu_slot_open(struct vgpu_slot *slot, u64 id);
/* Free a slot that no thread uses any more. */
void vgpu_slot_put(struct vgpu_slot *slot);
/* Return: the slot's offset in the window in bytes. */
u64 vgpu_slot_offset(const struct vgpu_slot *slot);
/* Return: false if the window is not used any more; then the lane must not carry another call. */
bool vgpu_slot_is_usable(const struct vgpu_slot *slot);

/**
 * vgpu_slot_send - send a message, through the slot if the lane has one and the length suits
 * @lane: the lane
 * @vec: parts of the message; vec[0] is the fixed part. Modified
 * @nr: number of entries of @vec
 * @len: total length of @vec in bytes
 * @deadline: time in jiffies by which all must be sent; 0: none
 *
 * Return: as vgpu_conn_send().
 */
int vgpu_slot_send(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len,
		   unsigned long deadline);

/**
 * vgpu_slot_recv - receive the rest of a message from the connection and the slot
 * @lane: the lane
 * @msg: buffer for all of the message, beginning with its checked header
 * @deadline: time in jiffies by which all must be received; 0: none
 *
 * Return: 0, -ENODEV, -EINTR (killed), -ETIMEDOUT, -EPROTO.
 */
int vgpu_slot_recv(struct vgpu_lane *lane, void *msg, unsigned long deadline);

/**
 * vgpu_slot_recv_head - receive the fixed part of a message
 * @lane: the lane
 * @msg: buffer of @head bytes, beginning with the message's checked header
 * @head: length of the fixed part in bytes
 * @deadline: time in jiffies; 0: none
 *
 * Return: as vgpu_slot_recv().
 */
int vgpu_slot_recv_head(struct vgpu_lane *lane, void *msg, u32 head, unsigned long deadline);

/**
 * vgpu_slot_recv_rest - receive the bytes behind the fixed part from the connection or the slot
 * @lane: the lane
 * @hdr: header of the message
 * @head: number of bytes that vgpu_slot_recv_head() has received
 * @vec: buffers for the bytes
 * @nr: number of entries of @vec
 * @deadline: time in jiffies; 0: none
 *
 * Return: as vgpu_slot_recv(); also -EPROTO if @vec is too short.
 */
int vgpu_slot_recv_rest(struct vgpu_lane *lane, const struct vgpu_hdr *hdr, u32 head,
			const struct kvec *vec, size_t nr, unsigned long deadline);

#endif /* VGPU_GUEST_SLOT_H */
