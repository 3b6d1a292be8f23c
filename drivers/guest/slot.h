/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots: parts of a window through which a lane's long messages go. See arena.h for who
 * writes when.
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
 * @window: a reference
 * @nr: which of the window's it is; nobody else's here
 * @open: the host has given it
 * @id: what the host calls it, for as long as it is this lane's there
 * @memory: its bytes, between the provider's @slot_enter and @slot_leave
 * @data: the provider's
 */
struct vgpu_slot {
	struct vgpu_window *window;
	unsigned int nr;
	bool open;
	u64 id;
	void *memory;
	void *data;
};

/* The lane has had messages for one. */
bool vgpu_slot_is_wanted(const struct vgpu_lane *lane);
/* One that nobody uses here, to be asked for; NULL: there is none. */
struct vgpu_slot *vgpu_slot_claim(struct vgpu_host *host);
/* The host has given it. Return: 0, or an errno: it is of no use. */
int vgpu_slot_open(struct vgpu_slot *slot, u64 id);
/* No thread uses it any more. */
void vgpu_slot_put(struct vgpu_slot *slot);
/* Where it is in the window. */
u64 vgpu_slot_offset(const struct vgpu_slot *slot);
/* The window is still to be used; else its lane is not, for another call. */
bool vgpu_slot_is_usable(const struct vgpu_slot *slot);

/**
 * vgpu_slot_send - send a message, through the slot if the lane has one and it suits
 * @lane: the lane
 * @vec: vec[0] is the fixed part; modified
 * @nr: entries
 * @len: bytes together
 * @deadline: jiffies, for all of it; 0: none
 *
 * Return: as vgpu_conn_send().
 */
int vgpu_slot_send(struct vgpu_lane *lane, struct kvec *vec, size_t nr, size_t len,
		   unsigned long deadline);

/**
 * vgpu_slot_recv - receive the rest of a message, from wherever it is
 * @lane: the lane
 * @msg: room for all of it, beginning with its header, checked
 * @deadline: jiffies, for all of it; 0: none
 *
 * Return: 0, -ENODEV, -EINTR (killed), -ETIMEDOUT, -EPROTO.
 */
int vgpu_slot_recv(struct vgpu_lane *lane, void *msg, unsigned long deadline);

/**
 * vgpu_slot_recv_head - receive what a message begins with
 * @lane: the lane
 * @msg: room for @head bytes, beginning with the message's header, checked
 * @head: the length of the fixed part
 * @deadline: jiffies; 0: none
 *
 * Return: as vgpu_slot_recv().
 */
int vgpu_slot_recv_head(struct vgpu_lane *lane, void *msg, u32 head, unsigned long deadline);

/**
 * vgpu_slot_recv_rest - receive all that follows, from wherever it is
 * @lane: the lane
 * @hdr: the message's header
 * @head: bytes that vgpu_slot_recv_head() has received
 * @vec: where it goes
 * @nr: entries of @vec
 * @deadline: jiffies; 0: none
 *
 * Return: as vgpu_slot_recv(), -EPROTO also where @vec is too short.
 */
int vgpu_slot_recv_rest(struct vgpu_lane *lane, const struct vgpu_hdr *hdr, u32 head,
			const struct kvec *vec, size_t nr, unsigned long deadline);

#endif /* VGPU_GUEST_SLOT_H */
