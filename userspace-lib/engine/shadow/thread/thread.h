/* SPDX-License-Identifier: MIT */
/* Threads. All threads share one table of files. */
#ifndef ESHADOW_THREAD_H
#define ESHADOW_THREAD_H

#include "wire.h"

#define THREAD_SIGNALS	(16UL << 10)
#define THREAD_SCRATCH	(64UL << 10)
#define THREAD_BUF	(16UL << 10)

struct syscall;

/**
 * struct thread - a thread and its memory
 * @call: system call that the thread makes, or made last; found at %fs:0
 * @stack: stack pointer while copy_checked() runs, else 0; found at %fs:8
 * @tid: thread number; 0: the entry is free. The kernel clears it when the thread does not use
 *	the memory any more
 * @fn: function that the thread runs
 * @arg: argument of @fn
 * @memory: guard page, stack, room for calls and two buffers; never freed
 */
struct thread {
	struct syscall *call;
	u64 stack;
	int tid;
	void (*fn)(void *arg);
	void *arg;
	u8 *memory;
};

/*
 * Gives the thread memory, if it has none. @nr: index of the thread. Return: 0, or a negative
 * errno.
 */
int thread_prepare(struct thread *thread, unsigned int nr);
int thread_start(struct thread *thread, void (*fn)(void *arg), void *arg);
/*
 * Return: the thread's room for calls (a stack for the cancel signal, then memory for arguments),
 * and its buffer @nr, 0 or 1.
 */
#define THREAD_ROOM	(THREAD_SIGNALS + THREAD_SCRATCH)
u8 *thread_room(const struct thread *thread);
u8 *thread_buf(const struct thread *thread, unsigned int nr);

/*
 * Starts the one process that the shadow makes (tracer.c), with the same memory, and a stack that
 * ends at @stack. Return: number of the process, or a negative errno.
 */
long process_start(void (*fn)(void *arg), u8 *stack);

#endif /* ESHADOW_THREAD_H */
