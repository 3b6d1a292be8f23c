/* SPDX-License-Identifier: MIT */
/* Lanes: see lane.c. */
#ifndef ESHADOW_LANE_H
#define ESHADOW_LANE_H

#include "engine/shadow/base/lib.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "fresh.h"

struct call;
struct iovec;
struct request;
struct vgpu_written;
struct writeback;

/*
 * Time in milliseconds in which a message must arrive completely, once it has begun. Otherwise
 * its connection ends.
 */
#define MSG_TIMEOUT_MS	10000

#define SHADOW_LANES	512

struct lane {
	struct thread thread;
	u32 index;
	int sock;
	u64 seq;
	bool unacked;
	bool cancelled;
	/* True after an upcall timed out: the call's reply is then the last message. */
	bool last;
	bool down;
	u8 *buf;
	u8 *reply_buf;
	struct call *call;
	/*
	 * @mm: true if the call is of class mm, which never asks the guest. @no_demand: true if the
	 *	driver of the call does not wait for the guest's memory. The lane writes both.
	 */
	bool mm;
	bool no_demand;
	struct writeback *batch;

	/* State of the running call, protected by demand.lock. */
	u64 fetch_addr;
	bool gating;
	/* An errno if the call has hit a limit, else 0. */
	int limited;
	struct vgpu_ahead ahead;
	u64 upcall_ns;
	/* Time that drivers had waited for the guest when the call began. The lane writes it. */
	u64 guest_call;

	/* State that a cancel needs, protected by @lock. */
	struct lock lock;
	bool running;
	bool upcalling;
	bool signalled;
	struct syscall syscall;

	/* The lane's request to the engine; @answered is a futex. */
	u32 answered;
	struct request *request;
};

struct lane *lane_by_index(u32 index);
/* Return: the lane whose thread has this number, or NULL. */
struct lane *lane_by_tid(int tid);
void lane_shutdown(struct lane *lane);
/* Return: true if the guest has closed the connection. */
bool lane_is_down(struct lane *lane);
/* Return: true if the socket has bytes, or its end, to read. */
bool lane_pending(struct lane *lane);
/* Notes that a driver's function begins to run, or has ended. */
void lane_set_running(struct lane *lane, bool running);
/* Return: true if the lane's thread may access memory of the guest process. */
bool lane_in_call(struct lane *lane);
/* Cancels the lane's call for the guest. Context: lane->lock is held. */
void lane_cancel_locked(struct lane *lane);
/*
 * Makes the lane's thread retry the access that it waits for, and no other thread. Return: false
 * if it cannot.
 */
bool lane_look_again(struct lane *lane);

/*
 * Waits for events of the socket. @deadline: nanoseconds; 0: none. Return: 0, or -ETIMEDOUT.
 */
int lane_wait(struct lane *lane, short events, u64 deadline);
/* @deadline: nanoseconds; 0: none. Return: 0, -ETIMEDOUT or another errno of the connection. */
int lane_send(struct lane *lane, struct iovec *iov, u32 nr, u64 deadline);
int lane_recv(struct lane *lane, void *buf, u64 len, u64 deadline);
/*
 * Makes an upcall from the lane's own thread. @answer: fixed part of the guest's answer. Return:
 * 0, or -EFAULT: the lane is of no use any more.
 */
int lane_ask(struct lane *lane, struct iovec *iov, u32 nr, u16 type, struct vgpu_written *answer);
/* Handles a failed upcall. @error: -ETIMEDOUT, or another errno, with which the connection ends. */
void lane_upcall_failed(struct lane *lane, int error);

#endif /* ESHADOW_LANE_H */
