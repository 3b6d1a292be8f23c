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

/**
 * struct vgpuh_lane_cancel - state for cancels of the running call
 * @lock: spinlock that protects this struct; taken in socket callbacks
 * @running: true while a call runs
 * @upcalling: true while the call makes an upcall
 * @signalled: true if the call was interrupted
 */
struct vgpuh_lane_cancel {
	spinlock_t lock;
	bool running;
	bool upcalling;
	bool signalled;
};

/**
 * struct vgpuh_lane_proto - state of the protocol; written by the lane's thread only
 * @seq: number of the last call
 * @unacked: true if the guest has yet to acknowledge objects of the last reply
 * @cancelled: true if the guest has cancelled call @seq
 * @closes: true if the last call was a CLOSE, which the guest may repeat by a message
 * @last: true if an upcall was not answered in time: the call's reply is the last message
 */
struct vgpuh_lane_proto {
	u64 seq;
	bool unacked;
	bool cancelled;
	bool closes;
	bool last;
};

/**
 * struct vgpuh_lane_scratch - memory of the shadow for the arguments of calls without a room
 * @addr: address
 * @len: length in bytes
 * @used: number of bytes that may not be zero
 */
struct vgpuh_lane_scratch {
	unsigned long addr;
	size_t len;
	size_t used;
};

/**
 * struct vgpuh_lane_driver - time that the running call's driver waits for the guest; accessed by
 *	the lane's thread only
 * @runs: true while the driver runs
 * @upcall_ns: time in nanoseconds that the driver has waited for upcalls
 * @guest_call: result of vgpu_guest_call() when the call began
 */
struct vgpuh_lane_driver {
	bool runs;
	u64 upcall_ns;
	u64 guest_call;
};

/**
 * struct vgpuh_lane_fetch - fetches of the running call, see demand.c; accessed by the lane's
 *	thread only
 * @fault_addr: address of the last fault whose fetch has failed
 * @fault_failed: true if the next fault at @fault_addr is to fail, so that the driver gets -EFAULT
 * @addr: address of the last fetch
 * @gating: true if the call holds new calls back (demand->gated)
 * @ahead: read-ahead: next address if the driver reads on; number of pages of the last fetch
 * @limited: errno if the call needed more pages or time than it may have, or any page without
 *	the right to one, or if there was no memory; else 0
 */
struct vgpuh_lane_fetch {
	u64 fault_addr;
	bool fault_failed;
	u64 addr;
	bool gating;
	struct vgpu_ahead ahead;
	int limited;
};

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
	/* True if a CALL was received, and runs after the thread has tried to bring an eventfd. */
	bool held;
	struct vgpuh_lane_proto proto;
	/* Number of bytes that lane_count_bytes() has counted already. */
	u64 rx_counted;
	u64 tx_counted;
	u8 *buf;
	u8 *reply_buf;
	struct vgpuh_lane_scratch scratch;
	/* True if the shadow's memory has protection keys. */
	bool keys;
	unsigned int room_last;
	struct vgpuh_call call;
	struct vgpuh_lane_fetch fetch;
	struct vgpuh_lane_driver driver;
	struct vgpuh_lane_cancel cancel;
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
/*
 * Drop bytes that came after the lane's last reply. Return: false if they are more than a guest may
 * have sent before it read that reply.
 */
bool vgpuh_lane_drop_late(struct vgpuh_lane *lane);
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
