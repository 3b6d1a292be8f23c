/* SPDX-License-Identifier: MIT */
/*
 * Threads, and the signals that reach into them. All threads share one table of files.
 */
#ifndef ESHADOW_THREAD_H
#define ESHADOW_THREAD_H

#include "wire.h"

/* For drivers that want the system call to be made again; programs know no such error. */
#define ERESTARTSYS	512

#define THREAD_SIGNALS	(16UL << 10)
#define THREAD_SCRATCH	(64UL << 10)
#define THREAD_BUF	(16UL << 10)

struct syscall;

/**
 * struct thread - a thread and memory of its own
 * @call: the system call that it makes, or made last; the thread finds it by %fs, and the next
 * @stack: where its stack is while copy_checked() runs; 0: it does not
 * @tid: 0: free. The kernel clears it when the thread no longer uses the memory
 * @fn: what it does
 * @arg: its argument
 * @memory: guard page, stack, room for calls, two buffers; kept for good
 */
struct thread {
	struct syscall *call;
	u64 stack;
	int tid;
	void (*fn)(void *arg);
	void *arg;
	u8 *memory;
};

/* Gives the thread memory, if it has none. @nr: which of all it is. Return: 0 or an errno. */
int thread_prepare(struct thread *thread, unsigned int nr);
int thread_start(struct thread *thread, void (*fn)(void *arg), void *arg);
/*
 * Return: room for calls, which is a stack for the cancel signal and memory for arguments; and two
 * buffers.
 */
#define THREAD_ROOM	(THREAD_SIGNALS + THREAD_SCRATCH)
u8 *thread_room(const struct thread *thread);
u8 *thread_buf(const struct thread *thread, unsigned int nr);

/* The calling thread takes the cancel signal on the stack in that room. */
void thread_signal_stack(const u8 *room);

/* Blocks all signals but those of faults and of cancels, for all threads that follow. */
int signals_init(void);

/**
 * enum syscall_state - where a system call is
 * @SYSCALL_OUT: not begun, or over
 * @SYSCALL_UNWANTED: not begun, and not to be made
 * @SYSCALL_IN: the thread makes it
 * @SYSCALL_SIGNALLED: likewise, and does not go on before the cancel signal has come
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
 * @reach: of the thread's memory, what the kernel can reach meanwhile (keys_only()); 0: all
 * @nr: of the system call
 * @args: of the system call
 * @stack: where the thread's stack is meanwhile
 */
struct syscall {
	u32 state;
	u32 reach;
	u64 nr;
	u64 args[6];
	u64 stack;
};

/*
 * Makes the system call. A cancel signal ends it whenever it comes: before it, as if it had
 * been interrupted before it did anything (-ERESTARTSYS); in it, as the driver says, which
 * wants the call to be made again (-ERESTARTSYS) or has an error of its own; after it, not
 * at all.
 */
long syscall_cancelable(struct syscall *call);
/* The same by the entry for 32-bit programs, of three arguments; -EOPNOTSUPP: there is none. */
long syscall_compat(struct syscall *call);

/*
 * Makes a system call in which a driver's operation may run, which reaches the guest's memory and
 * nothing of the program's, but for the second one's: what has the room's key. No cancel ends it.
 */
long sys6_apart(long nr, long a, long b, long c, long d, long e, long f);
long sys4_in_room(int key, long nr, long a, long b, long c, long d);

static inline long sys3_apart(long nr, long a, long b, long c)
{
	return sys6_apart(nr, a, b, c, 0, 0, 0);
}

/*
 * Copies where a fault may come, and a driver's handler of that may run, which reaches the guest's
 * memory and what has the room's key: there @to is, or @from, and the thread's stack for signals
 * (thread_signal_stack()). Return: false: a fault came, and what is copied by then is undefined.
 */
bool copy_checked(void *to, const void *from, u64 len, int key);

/* Has the thread end the call, by the cancel signal if it makes it already. */
void thread_cancel(const struct thread *thread, struct syscall *call);

/* The place of a thread whose call the cancel signal is to end. */
enum thread_stop {
	THREAD_BEFORE,		/* the system call was not made, or is to be made again */
	THREAD_AFTER,		/* it has a result */
	THREAD_BESIDE,		/* the result is kept already, and the thread waits for the signal */
};

/* @ip: the thread's register. Return: the call, or NULL: no signal of a cancel is expected. */
struct syscall *thread_stopped_at(const struct thread *thread, u64 ip, enum thread_stop *where);
/* Whether a fault at @ip has a handler that goes on elsewhere. */
bool thread_fault_is_meant(u64 ip);
/* The signal has come and done its work, for a thread that has not gone on yet. */
void thread_signal_came(struct syscall *call);
/* Return: where it goes on without making the system call, with the result in r13. */
u64 thread_way_out(void);

/*
 * Starts the one process that the shadow makes (tracer.c), with the same memory, on a stack that
 * ends at @stack. Return: its number, or a negative errno.
 */
long process_start(void (*fn)(void *arg), u8 *stack);

#endif /* ESHADOW_THREAD_H */
