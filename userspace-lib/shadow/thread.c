// SPDX-License-Identifier: MIT
/* Threads of both kinds of shadows, their memory, and handlers of signals. */
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "shadow/sys.h"
#include "shadow/thread.h"

int thread_map(struct thread *thread, unsigned long addr, unsigned long room, unsigned long own)
{
	unsigned long stack = addr + THREAD_GUARD, size = THREAD_GUARD + THREAD_STACK + room + own;
	long ret;

	if (thread->memory)
		return 0;
	ret = sys_mmap(addr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);
	if (sys_is_error(ret))
		return ret;
	/* Keep the lowest page without access, so that a stack overflow faults. */
	if (keys_give(stack, THREAD_STACK, KEY_OWN) ||
	    keys_give(stack + THREAD_STACK, room, KEY_SHARED) ||
	    keys_give(stack + THREAD_STACK + room, own, KEY_OWN)) {
		sys2(__NR_munmap, addr, size);
		return -ENOMEM;
	}
	thread->memory = (unsigned char *)addr;
	return 0;
}

/* Runs first in a new thread, on the thread's own stack. */
static void __attribute__((noreturn, used)) thread_main(struct thread *thread)
{
	unsigned long all = ~0UL;

	thread->fn(thread->arg);
	/*
	 * Block all signals: another thread may get the stack as soon as the kernel has cleared
	 * the tid.
	 */
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SIGSET);
	for (;;)
		sys2(__NR_exit, 0, 0);
}

/*
 * clone() returns twice, the second time on an empty stack. So no compiled code may run between
 * the system call and the jump.
 */
__asm__(".globl thread_clone\n"
	".hidden thread_clone\n"
	"thread_clone:\n"		/* rdi flags, rsi stack, rdx tid, rcx thread */
	"	mov %rcx, %r9\n"	/* the system call clobbers rcx and keeps r9 */
	"	mov %rdx, %r10\n"	/* child_tid: cleared at the thread's end */
	"	mov %rcx, %r8\n"	/* tls: %fs */
	"	mov $56, %eax\n"	/* clone */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %ebp, %ebp\n"
	"	mov %r9, %rdi\n"
	"	call thread_main\n"
	"	hlt\n"
	"1:	ret\n");

int thread_run(struct thread *thread, unsigned long flags, void (*fn)(void *arg), void *arg)
{
	long ret;

	flags |= CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	thread->fn = fn;
	thread->arg = arg;
	ret = thread_clone(flags, thread_room(thread), &thread->tid, thread);
	if (ret < 0)
		thread->tid = 0;
	return ret < 0 ? ret : 0;
}

__asm__(".globl signal_restorer\n"
	".hidden signal_restorer\n"
	"signal_restorer:\n"
	"	mov $15, %eax\n"	/* rt_sigreturn */
	"	syscall\n"
	"	hlt\n");

long signal_handle(int nr, signal_handler *handler, unsigned long flags, unsigned long mask)
{
	const struct {
		signal_handler *handler;
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {
		.handler = handler,
		.flags = flags | SA_RESTORER,
		.restorer = signal_restorer,
		.mask = mask,
	};

	return sys4(__NR_rt_sigaction, nr, (long)&action, 0, KERNEL_SIGSET);
}
