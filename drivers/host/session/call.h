/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls: what a call has while it runs, and its reply.
 */
#ifndef _VGPU_HOST_CALL_H
#define _VGPU_HOST_CALL_H

#include "draft.h"
#include "rate.h"
#include "segs.h"
#include "session/fdtable.h"
#include "wire.h"

struct vgpuh_fences;
struct vgpuh_lane;
struct vgpuh_object;
struct vgpu_room;
struct vgpu_tally;

#define VGPU_SEGS_SMALL		16

/* NVIDIA's driver supports this many cards at most. */
#define VGPU_CARDS_MAX		32

/**
 * struct vgpuh_call_scratch - memory in the shadow for the arguments of a call
 * @addr: address
 * @len: length in bytes
 * @mapped: true if the memory was mapped for this call alone
 * @low: true if the memory is in the place of demand pages
 */
struct vgpuh_call_scratch {
	unsigned long addr;
	size_t len;
	bool mapped;
	bool low;
};

/**
 * struct vgpuh_call_kept - memory of the guest that is mapped for a call; see kept.c
 * @nr: number of KEPT segments that are mapped
 * @nr_pieces: number of mappings that they consist of
 */
struct vgpuh_call_kept {
	u32 nr;
	u32 nr_pieces;
};

/**
 * struct vgpuh_call_fds - fds of a call in the fd table of the lane's thread
 * @placed: fds of the FD_IN and EVENT fixups, while they are in the fd table
 * @arg: fd that is the ioctl's argument, while it is in the fd table
 * @cards: files of NVIDIA's cards that are in the fd table while the driver runs
 * @nr_cards: number of entries of @cards
 * @left: files that the driver left in the fd table
 * @nr_left: number of entries of @left
 */
struct vgpuh_call_fds {
	struct vgpu_fd *placed;
	struct vgpu_fd arg;
	struct vgpu_fd cards[VGPU_CARDS_MAX];
	u32 nr_cards;
	struct vgpu_fd left[VGPU_FDS_MAX];
	u32 nr_left;
};

/**
 * struct vgpuh_call_cost - cost of a call, for tracing; written by the lane's thread
 * @upcalls: number of upcalls
 * @pages: number of program pages that were fetched
 */
struct vgpuh_call_cost {
	u32 upcalls;
	u32 pages;
};

/**
 * struct vgpuh_call - a call on its way through the host
 * @lane: lane by which the call came
 * @op: entry of the table of operations
 * @msg: the CALL message, in private memory and checked
 * @msg_len: length of @msg in bytes; charged to the session unless @msg is the lane's buffer
 * @tsc_in: value of the time-stamp counter when the header of the CALL was received; 0: the
 *	processor has none
 * @view: pointers to the parts of @msg
 * @object: object that the call names, or NULL
 * @reply: results of the call
 * @room: room for the arguments; NULL: they are in the lane's memory, if they need any
 * @room_stuck: true if memory with the room's key could not be unmapped: the session ends, and
 *	no other call gets the room
 * @reach: protection-key rights that the thread had before the call
 * @scratch: memory in the shadow for the arguments
 * @segs: place of each segment
 * @segs_small: memory for @segs that suffices for most calls
 * @kept: memory of the guest that devices may keep
 * @fds: fds in the fd table of the lane's thread
 * @fences: fences of the work that the call gives a device; NULL: they do not matter
 * @tally: tally of the export that the call's object came from; NULL: there is none
 * @owned_client: handle of the RM client that has the memory of a MMAP, or 0
 * @event: number of the event of the EVENT fixup, or 0
 * @closed_fd: fd number of a file that the call has closed, to be freed; or 0
 * @cost: cost of the call
 * @paid: number of bytes that the call has taken of the guest's rate of bytes
 * @left: true if the call was given up before its turn at the guest's rates
 * @rest: turn of the bytes of the last such call, for which the lane waits; no units: it does not
 * @done: true if the call ran and its reply is not sent yet
 */
struct vgpuh_call {
	struct vgpuh_lane *lane;
	const struct vgpuh_call_op *op;
	void *msg;
	u32 msg_len;
	u64 tsc_in;
	struct vgpu_call_view view;
	struct vgpuh_object *object;
	struct vgpu_draft reply;
	struct vgpu_room *room;
	bool room_stuck;
	u32 reach;
	struct vgpuh_call_scratch scratch;
	struct vgpu_seg_place *segs;
	struct vgpu_seg_place segs_small[VGPU_SEGS_SMALL];
	struct vgpuh_call_kept kept;
	struct vgpuh_call_fds fds;
	struct vgpuh_fences *fences;
	struct vgpu_tally *tally;
	u32 owned_client;
	u32 event;
	u32 closed_fd;
	struct vgpuh_call_cost cost;
	u32 paid;
	bool left;
	struct vgpu_turn rest;
	bool done;
};

struct vgpuh_call_op {
	s64 (*run)(struct vgpuh_call *call);
	bool mm;	/* class mm: never makes upcalls */
	bool leave;	/* return to user mode before the reply */
};

int vgpuh_call_send_reply(struct vgpuh_call *call);
/* Free what the call holds, when its reply is sent or cannot be sent. */
void vgpuh_call_finish(struct vgpuh_call *call);
/* Mark the call as refused by the host. Return: @error. */
s64 vgpuh_call_refuse(struct vgpuh_call *call, int error);
/* Allocate @len bytes at call->reply.data. */
int vgpuh_call_alloc_data(struct vgpuh_call *call, u32 len);
/* Provide @len zeroed bytes of the shadow's memory at call->scratch.addr. */
int vgpuh_call_alloc_scratch(struct vgpuh_call *call, size_t len);
u16 vgpuh_call_nr(const struct vgpuh_call *call);
/* Take back the objects of the reply, as the guest will not get them. */
void vgpuh_call_take_back(struct vgpuh_call *call);

/* Check whether the call is that of a 32-bit program. */
static inline bool vgpuh_call_is_compat(const struct vgpuh_call *call)
{
	return le16_to_cpu(call->view.call->flags) & VGPU_CALL_COMPAT;
}

static inline u32 vgpu_seg_len(const struct vgpuh_call *call, u32 i)
{
	return vgpu_view_seg_len(&call->view, i);
}

static inline bool vgpu_seg_is(const struct vgpuh_call *call, u32 i, u32 flag)
{
	return vgpu_view_seg_is(&call->view, i, flag);
}

#endif /* _VGPU_HOST_CALL_H */
