/* SPDX-License-Identifier: MIT */
/* System calls and copies that run drivers' functions, and the signals that interrupt them. */
#ifndef ESHADOW_SYSCALL_H
#define ESHADOW_SYSCALL_H

#include "wire.h"

struct thread;

/* Result of drivers that want the system call to be restarted; no header for programs has it. */
#define ERESTARTSYS	512

/* Makes the calling thread handle the cancel signal on the stack in @room. */
void thread_signal_stack(const u8 *room);

/* Blocks all signals but those of faults and of cancels, for threads that start later. */
int signals_init(void);

/**
 * enum syscall_state - state of a system call
 * @SYSCALL_OUT: the call has not begun, or is over
 * @SYSCALL_UNWANTED: the call has not begun, and must not be made
 * @SYSCALL_IN: the thread makes the call
 * @SYSCALL_SIGNALLED: the thread makes the call, and afterwards waits until the cancel signal has
 *	come
 */
enum syscall_state {
	SYSCALL_OUT = 0,
	SYSCALL_UNWANTED = 1,
	SYSCALL_IN = 2,
	SYSCALL_SIGNALLED = 3,
};

/**
 * struct syscall - a system call that can be cancelled
 * @state: one of enum syscall_state
 * @reach: PKRU value: rights to memory during the call (keys_only()); 0: rights to all memory
 * @nr: number of the system call
 * @args: arguments of the system call
 * @stack: stack pointer of the thread during the call
 */
struct syscall {
	u32 state;
	u32 reach;
	u64 nr;
	u64 args[6];
	u64 stack;
};

/*
 * Makes the system call, which a cancel signal ends at any time. A signal before the call makes
 * the function return -ERESTARTSYS, as if the call had been interrupted before it did anything.
 * During the call the driver decides the result: -ERESTARTSYS to have the call restarted, or an
 * errno of its own. After the call the signal has no effect.
 */
long syscall_cancelable(struct syscall *call);
/*
 * Does the same by the entry for 32-bit programs, with three arguments. Return: -EOPNOTSUPP if
 * the kernel has no such entry.
 */
long syscall_compat(struct syscall *call);

/*
 * Makes a system call that may run a driver's operation, and that no cancel ends. The operation
 * reaches the guest's memory and none of the program's; with sys4_in_room() also memory with the
 * room's key.
 */
long sys6_apart(long nr, long a, long b, long c, long d, long e, long f);
long sys4_in_room(int key, long nr, long a, long b, long c, long d);

static inline long sys3_apart(long nr, long a, long b, long c)
{
	return sys6_apart(nr, a, b, c, 0, 0, 0);
}

/*
 * Copies memory where a fault may run a driver's handler. The handler reaches the guest's memory,
 * and memory with the room's key: @to or @from, and the thread's stack for signals
 * (thread_signal_stack()). Return: false after a fault, with which the bytes at @to are
 * undefined.
 */
bool copy_checked(void *to, const void *from, u64 len, int key);

/* Makes the thread end the call: by the cancel signal if the thread makes the call already. */
void thread_cancel(const struct thread *thread, struct syscall *call);

/* Place at which the cancel signal has stopped a thread. */
enum thread_stop {
	THREAD_BEFORE,		/* the system call was not made, or is to be restarted */
	THREAD_AFTER,		/* the system call has a result */
	THREAD_BESIDE,		/* the result is saved, and the thread waits for the signal */
};

/*
 * Finds out where the thread has stopped. @ip: instruction pointer of the thread. Return: the
 * call, or NULL if no cancel signal is expected.
 */
struct syscall *thread_stopped_at(const struct thread *thread, u64 ip, enum thread_stop *where);
/* Return: true if the handler of a fault at @ip continues elsewhere. */
bool thread_fault_is_meant(u64 ip);
/* Notes that the signal has come and done its work, for a thread that has not continued yet. */
void thread_signal_came(struct syscall *call);
/* Return: address at which a thread continues without the system call, with the result in r13. */
u64 thread_way_out(void);

#endif /* ESHADOW_SYSCALL_H */
