/* SPDX-License-Identifier: MIT */
/* A call that is being run, and helpers of the functions that run it: see call.c. */
#ifndef ESHADOW_CALL_H
#define ESHADOW_CALL_H

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/room.h"
#include "draft.h"
#include "rate.h"
#include "segs.h"

struct engine_tally;
struct file_entry;
struct lane;

#define SEGS_SMALL	16

/**
 * struct call_scratch - memory of a call for its driver's arguments
 * @addr: address of the memory
 * @len: size of the memory in bytes
 * @mapped: true if the memory is the call's own, and no part of its room
 * @low: true if the memory is at an address of the guest process
 */
struct call_scratch {
	u64 addr;
	u64 len;
	bool mapped;
	bool low;
};

/**
 * struct call_fixups - files and file numbers that a call's fixups need (fixup.c)
 * @files: files of FD_IN fixups, an entry for each fixup; NULL: no fixup was placed
 * @fds: numbers for FD_IN and EVENT fixups, an entry for each fixup, in the memory of @files
 * @event: number of the guest's eventfd; 0: none
 * @event_fd: number of this process's eventfd that stands for the guest's, if @event
 */
struct call_fixups {
	struct file_entry **files;
	s32 *fds;
	u32 event;
	int event_fd;
};

/**
 * struct call - a call that the thread of a lane runs, and that no other thread accesses
 * @lane: lane of the call
 * @msg: message of the guest, in the lane's buffer or in memory of budget_get()
 * @msg_len: length of @msg in bytes
 * @paid: bytes of @msg that the guest has been charged for
 * @left: true if the call was given up before its turn at the guest's rates
 * @rest: turn of the bytes of the last such call, for which the lane waits; no units: it does not
 * @tsc_in: time-stamp counter at the time when the message came
 * @view: parts of @msg, which were checked
 * @file: file of the call's object; NULL: none
 * @tally: tally of the export that @file came from; NULL: there is none
 * @reply: reply, as far as it is known
 * @room: room of the call; NULL: the call has none yet
 * @own: room of the lane, for calls that get no other one
 * @signals: room whose signal stack the thread has; NULL: none yet
 * @scratch: memory for the driver's arguments
 * @segs: places of an ioctl's segments: @segs_small, or memory of their own; NULL: none
 * @segs_small: array for the places of few segments
 * @fixups: files and file numbers for fixups
 * @arg_file: file that the argument of an ioctl names; NULL: none
 * @nr_kept: number of KEPT segments whose pages are mapped
 * @nr_pieces: number of pieces of the guest's memory that are mapped for KEPT segments
 */
struct call {
	struct lane *lane;
	u8 *msg;
	u32 msg_len;
	u64 paid;
	bool left;
	struct vgpu_turn rest;
	u64 tsc_in;
	struct vgpu_call_view view;
	struct file_entry *file;
	struct engine_tally *tally;
	struct vgpu_draft reply;
	struct room *room;
	struct room own;
	const struct room *signals;
	struct call_scratch scratch;
	struct vgpu_seg_place *segs;
	struct vgpu_seg_place segs_small[SEGS_SMALL];
	struct call_fixups fixups;
	struct file_entry *arg_file;
	u32 nr_kept;
	u32 nr_pieces;
};

int call_send_reply(struct call *call);
void call_finish(struct call *call);
void call_take_back(struct call *call);
s64 call_refuse(struct call *call, int error);
/*
 * Counts memory of a call against a limit for all lanes of this shadow, or stops counting it.
 * Return: false at the limit.
 */
bool budget_charge(u64 len);
void budget_return(u64 len);
/*
 * Allocates memory for a message or a reply, which counts against that limit. Return: the memory,
 * or NULL at the limit, or if there is no memory.
 */
void *budget_get(u64 len);
void budget_put(void *memory, u64 len);
int call_alloc_data(struct call *call, u32 len);
int call_alloc_scratch(struct call *call, u64 len);
/* Makes a system call that runs a driver's function and that the guest can interrupt. */
long call_system(struct call *call, u64 nr, u64 a, u64 b, u64 c, u64 d);
static inline bool call_is_compat(const struct call *call)
{
	return le16_to_cpu(call->view.call->flags) & VGPU_CALL_COMPAT;
}

/* Closes files that the call's driver has made and no fixup names. Return: the call's result. */
s64 call_close_strays(struct call *call, s64 result);

#endif /* ESHADOW_CALL_H */
