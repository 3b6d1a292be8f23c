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

/* Value of @answered of struct lane. */
#define LANE_CANCELLED	2

/**
 * struct lane_fetch - fetches of the running call (memory/demand.c, memory/fault.c)
 * @addr: address of the last fault whose fetch has ended; 0: none
 * @gating: true if the lane holds back calls that begin
 * @limited: an errno if the call has hit a limit, else 0
 * @ahead: read-ahead of the call
 * @call: number of the call whose time @upcall_ns is
 * @upcall_ns: time in nanoseconds that upcalls and waits for other lanes' upcalls have taken
 * @guest_call: time in microseconds that drivers had waited for the guest when the call began; see
 *	vgpu_patience_call()
 *
 * While the pager may serve faults of the lane's thread, demand.lock protects the fields. At other
 * times only the lane accesses them. The exceptions are @call and @upcall_ns, which the lock always
 * protects: the pager may count a wait of an earlier call at any time (memory/wait.c).
 */
struct lane_fetch {
	u64 addr;
	bool gating;
	int limited;
	struct vgpu_ahead ahead;
	u64 call;
	u64 upcall_ns;
	u64 guest_call;
};

/**
 * struct lane_driver - the driver's function that the lane runs
 * @running: true if the function runs
 * @upcalling: true if the function waits for the answer to an upcall. A cancel takes effect after
 *	the answer
 * @signalled: true if the thread was sent the cancel signal since the function began
 * @queued: true if the thread waits for its turn before the function runs
 * @syscall: system call that runs the function
 *
 * The lane's lock protects the fields, except for @syscall. Only the lane's thread accesses
 * @syscall, apart from its state: the state also changes by cancels, atomically.
 */
struct lane_driver {
	bool running;
	bool upcalling;
	bool signalled;
	bool queued;
	struct syscall syscall;
};

/**
 * struct lane - a connection of the guest, and the thread that serves it
 * @thread: the thread
 * @index: index of the lane
 * @sock: socket of the connection
 * @seq: number of the last CALL; the thread writes it
 * @unacked: true if the last reply gave the guest objects, and no ACK has come yet
 * @cancelled: true if a CANCEL of the last CALL has come
 * @last: true after an upcall timed out: the call's reply is then the last message
 * @late: number of bytes that came after that reply
 * @down: true if this program has shut the connection down
 * @buf: buffer for the guest's messages
 * @reply_buf: buffer for the data of replies
 * @call: the call that the thread runs; no other thread accesses it meanwhile
 * @bytes: number of bytes that the lane has received and sent since turn_end(), without those
 *	that turn_take() has charged
 * @mm: true if the call is of class mm, which never asks the guest; only the thread writes it
 * @no_demand: true if the driver of the call does not wait for the guest's memory; only the thread
 *	writes it
 * @batch: memory for write-backs; see writeback_prepare()
 * @fetch: fetches of the call
 * @lock: lock of @driver; innermost of all locks (base/lib.h)
 * @driver: the driver's function that the thread runs
 * @answered: 1 if the engine has answered @request, else 0, or LANE_CANCELLED if the call was
 *	cancelled meanwhile; a futex that the main thread or the pager wakes
 * @request: request of the thread to the engine; NULL: none
 *
 * The pager serves upcalls while the thread waits for their end in a driver. It writes @cancelled,
 * @last, @down and @bytes then, and the thread writes them otherwise.
 */
struct lane {
	struct thread thread;
	u32 index;
	int sock;
	u64 seq;
	bool unacked;
	bool cancelled;
	bool last;
	u32 late;
	bool down;
	u8 *buf;
	u8 *reply_buf;
	struct call *call;
	u64 bytes;
	bool mm;
	bool no_demand;
	struct writeback *batch;

	struct lane_fetch fetch;
	struct lock lock;
	struct lane_driver driver;

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
/* Notes that the lane's thread begins to wait for its turn, or does not wait any more. */
void lane_set_queued(struct lane *lane, bool queued);
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
 * Waits for events of the socket. @deadline: time of now_ns(); 0: none. Return: 0, or -ETIMEDOUT.
 */
int lane_wait(struct lane *lane, short events, u64 deadline);
/*
 * Sends or receives all bytes. @deadline: time of now_ns(); 0: none. Return: 0, -ETIMEDOUT or
 * another errno of the connection.
 */
int lane_send(struct lane *lane, struct iovec *iov, u32 nr, u64 deadline);
int lane_recv(struct lane *lane, void *buf, u64 len, u64 deadline);
/*
 * Drops bytes that came after the lane's last reply. Return: 0; -EPROTO: they are more than a guest
 * may have sent before it read that reply; or -ENODEV: the connection has ended.
 */
int lane_drop_late(struct lane *lane);
/*
 * Makes an upcall from the lane's own thread. @answer: fixed part of the guest's answer. Return:
 * 0, or -EFAULT: the lane is of no use any more.
 */
int lane_ask(struct lane *lane, struct iovec *iov, u32 nr, u16 type, struct vgpu_written *answer);
/* Handles a failed upcall. @error: -ETIMEDOUT, or another errno, with which the connection ends. */
void lane_upcall_failed(struct lane *lane, int error);

#endif /* ESHADOW_LANE_H */
