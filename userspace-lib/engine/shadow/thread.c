// SPDX-License-Identifier: MIT
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/errno.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>

#include <linux/vgpu_host.h>

#include "lib.h"
#include "shadow/layout.h"
#include "thread.h"

#define GUARD_SIZE	4096UL
#define STACK_SIZE	(64UL << 10)
#define THREAD_SIZE	(GUARD_SIZE + STACK_SIZE + THREAD_SCRATCH + 2 * THREAD_BUF)

#define ERESTARTSYS	512
#define KERNEL_SIGSET	8	/* bytes of a sigset_t in the kernel */
#define SIGNAL_BIT(nr)	(1UL << ((nr) - 1))

#define HIDDEN __attribute__((visibility("hidden")))

/* --- system calls that can be cancelled ------------------------------------ */

/*
 * From _begin to _end the system call has not been made: the instruction itself is the last
 * one there, where the kernel also goes back to when it has to be made again.
 *
 * rdi: struct syscall. All registers that the compiler wants to find again are saved.
 */
HIDDEN extern char cancel_begin[], cancel_end[], compat_begin[], compat_end[], cancel_out[];
__asm__(".globl syscall_cancelable, syscall_compat, cancel_begin, cancel_end\n"
	".globl compat_begin, compat_end, cancel_out\n"
	".hidden cancel_begin, cancel_end, compat_begin, compat_end, cancel_out\n"
	"syscall_cancelable:\n"
	"	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"	mov 8(%rbx), %rax\n"
	"	mov 16(%rbx), %rdi\n"
	"	mov 24(%rbx), %rsi\n"
	"	mov 32(%rbx), %rdx\n"
	"	mov 40(%rbx), %r10\n"
	"	mov 48(%rbx), %r8\n"
	"	mov 56(%rbx), %r9\n"
	"cancel_begin:\n"
	"	cmpl $0, (%rbx)\n"
	"	jne cancel_now\n"
	"	syscall\n"
	"cancel_end:\n"
	"	pop %rbx\n"
	"	ret\n"
	"cancel_now:\n"
	"	mov $-512, %rax\n"
	"cancel_out:\n"
	"	pop %rbx\n"
	"	ret\n"
	/* The stack is the same one at compat_begin as at cancel_begin. */
	"syscall_compat:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	call 1f\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"1:	push %rbx\n"
	"	mov %rdi, %rbp\n"
	"	mov 8(%rbp), %rax\n"
	"	mov 16(%rbp), %rbx\n"
	"	mov 24(%rbp), %rcx\n"
	"	mov 32(%rbp), %rdx\n"
	"	xor %esi, %esi\n"
	"	xor %edi, %edi\n"
	"compat_begin:\n"
	"	cmpl $0, (%rbp)\n"
	"	jne cancel_now\n"
	"	int $0x80\n"
	"compat_end:\n"
	"	cltq\n"
	"	pop %rbx\n"
	"	ret\n");

/* --- copies that may fault ------------------------------------------------- */

HIDDEN extern char copy_begin[], copy_end[], copy_failed[];
/*
 * Words where both sides are aligned: memory of devices is slow byte by byte, and drivers'
 * registers may not take bytes.
 */
__asm__(".globl copy_checked, copy_begin, copy_end, copy_failed\n"
	".hidden copy_begin, copy_end, copy_failed\n"
	"copy_checked:\n"
	"	mov %rdx, %rcx\n"
	"	mov %rdi, %rax\n"
	"	or %rsi, %rax\n"
	"	or %rdx, %rax\n"
	"	test $7, %al\n"
	"copy_begin:\n"
	"	jnz 1f\n"
	"	shr $3, %rcx\n"
	"	rep movsq\n"
	"	jmp 2f\n"
	"1:	rep movsb\n"
	"copy_end:\n"
	"2:	mov $1, %eax\n"
	"	ret\n"
	"copy_failed:\n"
	"	xor %eax, %eax\n"
	"	ret\n");

/* --- signals --------------------------------------------------------------- */

HIDDEN void signal_restorer(void);
__asm__(".globl signal_restorer\n"
	".hidden signal_restorer\n"
	"signal_restorer:\n"
	"	mov $15, %eax\n"	/* rt_sigreturn */
	"	syscall\n"
	"	hlt\n");

static bool between(u64 ip, const char *begin, const char *end)
{
	return ip >= (u64)begin && ip < (u64)end;
}

/*
 * The handler restarts system calls (SA_RESTART), so one that the driver wants to be made again
 * is found at its instruction, like one that was not made yet; one that has a result is not.
 */
static void on_cancel(struct sigcontext *context)
{
	const struct syscall *call;

	if (between(context->rip, cancel_begin, cancel_end))
		call = (const struct syscall *)context->rbx;
	else if (between(context->rip, compat_begin, compat_end))
		call = (const struct syscall *)context->rbp;
	else
		return;
	if (!__atomic_load_n(&call->cancel, __ATOMIC_ACQUIRE))
		return;
	context->rip = (u64)cancel_out;
	context->rax = (u64)-ERESTARTSYS;
}

static void on_fault(struct sigcontext *context)
{
	/* A kernel without system calls of 32-bit programs. */
	if (between(context->rip, compat_begin, compat_end)) {
		context->rip = (u64)cancel_out;
		context->rax = (u64)-EOPNOTSUPP;
		return;
	}
	if (!between(context->rip, copy_begin, copy_end))
		sys_exit_group(SHADOW_EXIT_SIGNAL);
	context->rip = (u64)copy_failed;
}

static void on_signal(int nr, void *info, struct ucontext *ucontext)
{
	(void)info;
	if (nr == VGPU_LANE_SIGNAL)
		on_cancel(&ucontext->uc_mcontext);
	else
		on_fault(&ucontext->uc_mcontext);
}

int signals_init(void)
{
	static const int signals[] = { VGPU_LANE_SIGNAL, SIGSEGV, SIGBUS };
	struct {
		void (*handler)(int nr, void *info, struct ucontext *ucontext);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {
		.handler = on_signal,
		.flags = SA_RESTORER | SA_SIGINFO | SA_RESTART,
		.restorer = signal_restorer,
		.mask = ~0UL,
	};
	unsigned long blocked = ~(SIGNAL_BIT(VGPU_LANE_SIGNAL) | SIGNAL_BIT(SIGSEGV) |
				  SIGNAL_BIT(SIGBUS));
	unsigned int i;
	long ret;

	ret = sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&blocked, 0, KERNEL_SIGSET);
	for (i = 0; !ret && i < ARRAY_SIZE(signals); i++)
		ret = sys4(__NR_rt_sigaction, signals[i], (long)&action, 0, KERNEL_SIGSET);
	return ret;
}

void thread_cancel(const struct thread *thread, struct syscall *call)
{
	__atomic_store_n(&call->cancel, 1, __ATOMIC_RELEASE);
	sys3(__NR_tgkill, sys2(__NR_getpid, 0, 0), thread->tid, VGPU_LANE_SIGNAL);
}

/* --- threads --------------------------------------------------------------- */

int thread_prepare(struct thread *thread, unsigned int nr)
{
	long ret;

	if (thread->memory)
		return 0;
	/* The lowest page stays without access: a stack that overflows faults. */
	ret = sys_mmap(SHADOW_SLOTS_BASE + nr * THREAD_SIZE, THREAD_SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_is_error(ret))
		return ret;
	if (sys_is_error(sys_mmap(ret + GUARD_SIZE, THREAD_SIZE - GUARD_SIZE,
				  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				  -1, 0))) {
		sys2(__NR_munmap, ret, THREAD_SIZE);
		return -ENOMEM;
	}
	thread->memory = (u8 *)ret;
	return 0;
}

u8 *thread_scratch(const struct thread *thread)
{
	return thread->memory + GUARD_SIZE + STACK_SIZE;
}

u8 *thread_buf(const struct thread *thread, unsigned int nr)
{
	return thread_scratch(thread) + THREAD_SCRATCH + nr * THREAD_BUF;
}

/* First C code of a new thread, on its own stack. */
static void __attribute__((noreturn, used)) thread_main(struct thread *thread)
{
	unsigned long all = ~0UL;

	thread->fn(thread->arg);
	/* Somebody else may get the stack as soon as the kernel has cleared the tid. */
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SIGSET);
	for (;;)
		sys2(__NR_exit, 0, 0);
}

/*
 * clone() returns twice, the second time on an empty stack: no compiled code
 * can be between the call and the jump.
 */
HIDDEN long thread_clone(unsigned long flags, void *stack, int *tid, struct thread *thread);
__asm__(".globl thread_clone\n"
	".hidden thread_clone\n"
	"thread_clone:\n"		/* rdi flags, rsi stack, rdx tid, rcx thread */
	"	mov %rcx, %r9\n"	/* the syscall clobbers rcx, keeps r9 */
	"	mov %rdx, %r10\n"	/* child_tid: cleared at the thread's end */
	"	xor %r8d, %r8d\n"	/* tls */
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
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	long ret;

	thread->fn = fn;
	thread->arg = arg;
	ret = thread_clone(flags, thread->memory + GUARD_SIZE + STACK_SIZE, &thread->tid, thread);
	if (ret < 0)
		thread->tid = 0;
	return ret < 0 ? ret : 0;
}
