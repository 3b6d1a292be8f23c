// SPDX-License-Identifier: MIT
/* Threads, their memory, and their files, which all threads share. */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "shadow/keys.h"

#define GUARD_SIZE	4096UL
#define STACK_SIZE	(64UL << 10)
#define THREAD_SIZE	(GUARD_SIZE + STACK_SIZE + THREAD_ROOM + 2 * THREAD_BUF)

#define KERNEL_SIGSET	8	/* size in bytes of the kernel's sigset_t */

int thread_prepare(struct thread *thread, unsigned int nr)
{
	u64 memory = slots_base + nr * THREAD_SIZE, room = memory + GUARD_SIZE + STACK_SIZE;
	long ret;

	if (thread->memory)
		return 0;
	ret = sys_mmap(memory, THREAD_SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_is_error(ret))
		return ret;
	/* Keep the lowest page without access, so that a stack overflow faults. */
	if (keys_give(memory + GUARD_SIZE, STACK_SIZE, KEY_OWN) ||
	    keys_give(room, THREAD_ROOM, KEY_SHARED) ||
	    keys_give(room + THREAD_ROOM, 2 * THREAD_BUF, KEY_OWN)) {
		sys2(__NR_munmap, memory, THREAD_SIZE);
		return -ENOMEM;
	}
	thread->memory = (u8 *)memory;
	return 0;
}

u8 *thread_room(const struct thread *thread)
{
	return thread->memory + GUARD_SIZE + STACK_SIZE;
}

u8 *thread_buf(const struct thread *thread, unsigned int nr)
{
	return thread_room(thread) + THREAD_ROOM + nr * THREAD_BUF;
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
HIDDEN long thread_clone(unsigned long flags, void *stack, int *tid, struct thread *thread);
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

int thread_start(struct thread *thread, void (*fn)(void *arg), void *arg)
{
	/* CLONE_PTRACE: the tracer of the starting thread traces the new one as well (tracer.c). */
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
			      CLONE_CHILD_CLEARTID | CLONE_PTRACE;
	long ret;

	thread->fn = fn;
	thread->arg = arg;
	ret = thread_clone(flags, thread->memory + GUARD_SIZE + STACK_SIZE, &thread->tid, thread);
	if (ret < 0)
		thread->tid = 0;
	return ret < 0 ? ret : 0;
}

long process_start(void (*fn)(void *arg), u8 *stack)
{
	static struct thread thread;

	thread.fn = fn;
	return thread_clone(CLONE_VM | SIGCHLD, stack, &thread.tid, &thread);
}

/* --- numbers of files ----------------------------------------------------- */

int fd_devices, fd_maps, fd_mem;

void fd_close(int fd)
{
	sys3_apart(__NR_close, fd, 0, 0);
}

int fd_up(int fd, int base)
{
	int up = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, base);

	fd_close(fd);
	return up;
}
