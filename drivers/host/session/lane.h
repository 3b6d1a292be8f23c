/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lanes: one connection of a session, and the call that runs on it.
 */
#ifndef _VGPU_HOST_LANE_H
#define _VGPU_HOST_LANE_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "conn.h"
#include "fresh.h"
#include "session/call.h"
#include "session/session.h"

struct file;
struct task_struct;

#define VGPU_LANE_BUF		SZ_16K
#define VGPU_LANE_SCRATCH_MIN	SZ_64K

struct vgpuh_lane {
	struct vgpuh_session *session;
	struct list_head node;
	struct file *file;
	struct file *shadow;
	struct vgpu_conn conn;
	struct task_struct *task;
	bool ready;
	/* Eventfd for the next call that needs one; NULL: the thread has to bring one. */
	struct file *event;
	u64 seq;
	/* True if the guest has yet to acknowledge objects of the last reply. */
	bool unacked;
	/* True if the guest has cancelled call @seq. */
	bool cancelled;
	/* True if the last call was a CLOSE, which the guest may repeat by a message. */
	bool closes;
	/* True if an upcall was not answered in time: the call's reply is the last message. */
	bool last;
	/* Number of bytes that lane_count_bytes() has counted already. */
	u64 rx_counted;
	u64 tx_counted;
	u8 *buf;
	u8 *reply_buf;
	unsigned long scratch;
	size_t scratch_len;
	/* Number of bytes of the scratch memory that may not be zero. */
	size_t scratch_used;
	/* True if the shadow's memory has protection keys. */
	bool keys;
	unsigned int room_last;
	struct vgpuh_call call;

	/*
	 * Fetches of the running call; accessed by the lane's thread only: address of the last
	 * fault and whether its fetch has failed, address of the last fetch, and whether this
	 * call holds new calls back (demand->gated).
	 */
	u64 fault_addr;
	bool fault_failed;
	u64 fetch_addr;
	bool gating;
	/* Read-ahead: next address if the driver reads on; number of pages of the last fetch. */
	struct vgpu_ahead ahead;
	/*
	 * Errno if the call needed more pages or time than it may have, or any page without the
	 * right to one, or if there was no memory; else 0.
	 */
	int limited;
	/* True while the call's driver runs; time that it has waited for upcalls in nanoseconds. */
	bool driving;
	u64 upcall_ns;
	/* Result of vgpu_guest_call() when the call began; written by the lane's thread. */
	u64 guest_call;

	/* State for cancels; protected by @lock. */
	spinlock_t lock;
	bool running;
	bool upcalling;
	bool signalled;
};

/* Interrupt a running call of lane @data: bytes or the end have arrived. Context: any. */
void vgpuh_lane_event(void *data);
/* Note that a call begins to run, which bytes that arrive interrupt, or that it has ended. */
void vgpuh_lane_set_running(struct vgpuh_lane *lane, bool running);
/*
 * Find the lane of @session that current serves. Return: the lane; NULL if there is none, or if
 * its call may not make upcalls.
 */
struct vgpuh_lane *vgpuh_lane_current(struct vgpuh_session *session);
/* Note that the lane's call has given a reference back. */
void vgpuh_lane_closes(struct vgpuh_lane *lane);
/**
 * vgpuh_lane_upcall - ask the guest something in the middle of a call
 * @lane: lane whose call is running on current
 * @vec: the request, header first
 * @nr: number of entries of @vec
 * @len: number of bytes in @vec
 * @type: type of the answer
 * @answer: buffer for the fixed part of the answer, which is checked completely
 * @answer_len: length of the fixed part in bytes
 * @data: buffers for the bytes that follow it in a successful answer
 * @nr_data: number of entries of @data
 *
 * Return: 0; -EFAULT when the lane is over (deadline, death, a malformed answer); -ENOBUFS when
 * the call or the guest has used up its time for upcalls.
 */
int vgpuh_lane_upcall(struct vgpuh_lane *lane, struct kvec *vec, size_t nr, size_t len, u16 type,
		      void *answer, u32 answer_len, const struct kvec *data, unsigned int nr_data);

#endif /* _VGPU_HOST_LANE_H */
