/* SPDX-License-Identifier: MIT */
/* Threads of shadows, their memory, and handlers of signals. */
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
 * @call: system call that the thread makes, or made last; found at %fs:0. Only the engine's shadow
 *	uses it
 * @stack: stack pointer while copy_checked() runs, else 0; found at %fs:8. Only the engine's shadow
 *	uses it
 * @tid: thread number; 0: the entry is free. It is set before the thread starts. The kernel clears
 *	it when the thread does not use the memory any more (CLONE_CHILD_CLEARTID)
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

/* Return: the thread's room for calls. */
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
 * Call clone(). The new thread or process runs @fn of @thread, on @stack. Return: its number, or a
 * negative errno.
 */
HIDDEN long thread_clone(unsigned long flags, void *stack, volatile int *tid,
			 struct thread *thread);

typedef void signal_handler(int nr, void *info, struct ucontext *ucontext);

/*
 * Set the handler of a signal, which blocks the signals of @mask while it runs. Without a libc, the
 * program has to tell the kernel how to return from it. Return: 0, or a negative errno.
 */
HIDDEN void signal_restorer(void);
long signal_handle(int nr, signal_handler *handler, unsigned long flags, unsigned long mask);

#endif /* VGPU_SHADOW_THREAD_H */
