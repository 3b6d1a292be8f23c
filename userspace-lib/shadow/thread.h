/* SPDX-License-Identifier: MIT */
/* Threads of both kinds of shadows, their memory, and handlers of signals. */
#ifndef VGPU_SHADOW_THREAD_H
#define VGPU_SHADOW_THREAD_H

#include "shadow/keys.h"

#define THREAD_GUARD	4096UL
#define THREAD_STACK	(64UL << 10)

#define KERNEL_SIGSET	8	/* size in bytes of the kernel's sigset_t */

struct syscall;
struct ucontext;

/**
 * struct thread - a thread and its memory
 * @call: system call that the thread makes, or made last, in shadows of the engine; at %fs:0
 * @stack: stack pointer while copy_checked() runs in shadows of the engine, else 0; at %fs:8
 * @tid: thread number; 0: the entry is free. The kernel writes the number before the thread starts,
 *	and 0 when the thread does not use the memory any more (CLONE_CHILD_CLEARTID)
 * @fn: function that the thread runs
 * @arg: argument of @fn
 * @memory: guard page, stack, room for calls, and more of the program's own memory; never freed
 */
struct thread {
	struct syscall *call;
	unsigned long stack;
	volatile int tid;
	void (*fn)(void *arg);
	void *arg;
	unsigned char *memory;
};

/* Return: the thread's room for calls, the part of its memory that drivers reach. */
static inline unsigned char *thread_room(const struct thread *thread)
{
	return thread->memory + THREAD_GUARD + THREAD_STACK;
}

/*
 * Give the thread memory at @addr, if it has none: guard page, stack, @room bytes for calls, and
 * @own bytes that no driver reaches. Return: 0, or a negative errno.
 */
int thread_map(struct thread *thread, unsigned long addr, unsigned long room, unsigned long own);

/*
 * Start a thread that has memory. @flags: flags of clone(), besides those that all threads have.
 * Return: 0, or a negative errno.
 */
int thread_run(struct thread *thread, unsigned long flags, void (*fn)(void *arg), void *arg);

/*
 * Call clone(). The new thread or process runs @fn of @thread, on @stack. @tid: place where the
 * kernel writes the number, and clears it at the end, if @flags say so. Return: number of the new
 * thread or process, or a negative errno.
 */
HIDDEN long thread_clone(unsigned long flags, void *stack, volatile int *tid,
			 struct thread *thread);

typedef void signal_handler(int nr, void *info, struct ucontext *ucontext);

/* Code to which a handler returns. A program without a libc has to supply this code. */
HIDDEN void signal_restorer(void);
/*
 * Set the handler of a signal. The signals of @mask are blocked while the handler runs. Return: 0,
 * or a negative errno.
 */
long signal_handle(int nr, signal_handler *handler, unsigned long flags, unsigned long mask);

#endif /* VGPU_SHADOW_THREAD_H */
