// SPDX-License-Identifier: MIT
/* System calls and copies that run drivers' functions, and the signals that interrupt them. */
#include <linux/signal.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>

#include <linux/vgpu_host.h>

#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"

#define SIGNAL_BIT(nr)	(1UL << ((nr) - 1))

/* Sets PKRU to eax, which gives the thread these rights to memory. Clobbers rcx and rdx. */
#define REACH_EAX			\
	"	xor %ecx, %ecx\n"	\
	"	xor %edx, %edx\n"	\
	"	wrpkru\n"
/* Gives the thread access to memory of all keys. Clobbers rax, rcx and rdx. */
#define REACH_ALL			\
	"	xor %eax, %eax\n"	\
	REACH_EAX
/*
 * Does the same at the start of a signal handler, and keeps its third argument (rdx). Clobbers
 * r8, too.
 */
#define HANDLER_REACH			\
	"	mov %rdx, %r8\n"	\
	REACH_ALL			\
	"	mov %r8, %rdx\n"

/* --- system calls that can be cancelled ------------------------------------ */

/*
 * System calls that can be cancelled: the labels cancel_* are those of 64-bit programs' calls, and
 * compat_* those of 32-bit programs' calls.
 *
 * As long as a thread is at or after _begin, and before _end, its system call has not been made.
 * The last instruction there is the system call itself, to which the kernel also goes back to
 * restart the call.
 *
 * Memory that the kernel must not reach during the call is out of the thread's reach as well,
 * including its stack and @call. So by then everything is in registers.
 *
 * The kernel saves the thread's registers where a driver or a device may write (room.c), so the
 * handler does not return to them. The signal comes only between _begin and the end of
 * SYSCALL_IN. The handler continues as after the system call, with a stack that it finds by
 * memory of the program's own. From the saved registers it only takes whether the driver has
 * answered, and what.
 *
 * rdi: struct syscall. All registers that the compiler expects to be kept are saved. At _begin
 * both variants have the same stack layout, and r12d is @reach. From cancel_over on r13 is the
 * result.
 */
HIDDEN extern char cancel_begin[], cancel_end[], compat_begin[], compat_end[], cancel_over[];
HIDDEN void on_cancel(int nr, void *info, struct ucontext *ucontext);
HIDDEN void on_cancel_keys(int nr, void *info, struct ucontext *ucontext);
__asm__(".globl syscall_cancelable, syscall_entry32, compat_begin, compat_end, cancel_over\n"
	".globl cancel_begin, cancel_end, on_cancel, on_cancel_keys\n"
	".hidden syscall_entry32, cancel_begin, cancel_end, compat_begin, compat_end\n"
	".hidden cancel_over, on_cancel, on_cancel_keys\n"
	"syscall_cancelable:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rdi, %rbx\n"
	"	mov 4(%rbx), %r12d\n"
	"	mov 8(%rbx), %r13\n"
	"	mov 16(%rbx), %rdi\n"
	"	mov 24(%rbx), %rsi\n"
	"	mov 32(%rbx), %r14\n"
	"	mov 40(%rbx), %r10\n"
	"	mov 48(%rbx), %r8\n"
	"	mov 56(%rbx), %r9\n"
	"	mov %rsp, 64(%rbx)\n"
	"	mov %rbx, %fs:0\n"
	"	xor %eax, %eax\n"	/* SYSCALL_OUT */
	"	mov $2, %ecx\n"		/* SYSCALL_IN */
	"	lock cmpxchg %ecx, (%rbx)\n"
	"cancel_begin:\n"
	"	jne cancel_unwanted\n"
	"	mov %r12d, %eax\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	REACH_EAX
	"1:	mov %r13, %rax\n"
	"	mov %r14, %rdx\n"
	"	syscall\n"
	"cancel_end:\n"
	"	mov %rax, %r13\n"
	"cancel_over:\n"
	"	test %r12d, %r12d\n"
	"	jz 1f\n"
	REACH_ALL
	"1:	mov %fs:0, %rbx\n"
	"2:	mov $2, %eax\n"
	"	xor %ecx, %ecx\n"
	"	lock cmpxchg %ecx, (%rbx)\n"
	"	je cancel_return\n"
	"	mov $24, %eax\n"	/* sched_yield: the signal is on its way */
	"	syscall\n"
	"	jmp 2b\n"
	"cancel_unwanted:\n"
	"	mov %fs:0, %rbx\n"
	"	movl $0, (%rbx)\n"
	"cancel_restart:\n"
	"	mov $-512, %r13\n"	/* -ERESTARTSYS */
	"cancel_return:\n"
	"	mov %r13, %rax\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	"syscall_entry32:\n"
	"	push %rbp\n"
	"	call 1f\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rdi, %rbp\n"
	"	mov 4(%rbp), %r12d\n"
	"	mov 8(%rbp), %r13\n"
	"	mov 16(%rbp), %rbx\n"
	"	mov 24(%rbp), %r14\n"
	"	mov 32(%rbp), %r15\n"
	"	mov %rsp, 64(%rbp)\n"
	"	mov %rbp, %fs:0\n"
	"	xor %esi, %esi\n"
	"	xor %edi, %edi\n"
	"	xor %eax, %eax\n"
	"	mov $2, %ecx\n"
	"	lock cmpxchg %ecx, (%rbp)\n"
	"compat_begin:\n"
	"	jne cancel_unwanted\n"
	"	mov %r12d, %eax\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	REACH_EAX
	"1:	mov %r13, %rax\n"
	"	mov %r14, %rcx\n"
	"	mov %r15, %rdx\n"
	"	int $0x80\n"
	"compat_end:\n"
	"	movslq %eax, %r13\n"
	"compat_over:\n"
	"	jmp cancel_over\n"
	/*
	 * A handler starts with access to key 0 alone. Its registers are the interrupted ones,
	 * except for its arguments, rax, rsp and rip. The third argument points to the saved rax
	 * and rip, at 144 and 168.
	 */
	"on_cancel_keys:\n"
	HANDLER_REACH
	"on_cancel:\n"
	"	mov %fs:0, %rbx\n"
	"	test %rbx, %rbx\n"
	"	jz cancel_stray\n"
	"	cmpl $3, (%rbx)\n"	/* SYSCALL_SIGNALLED */
	"	jne cancel_stray\n"
	"	mov 64(%rbx), %rsp\n"
	"	movl $0, (%rbx)\n"	/* SYSCALL_OUT */
	"	mov 144(%rdx), %rax\n"
	"	mov 168(%rdx), %rdx\n"
	"	lea cancel_begin(%rip), %rcx\n"
	"	lea cancel_end(%rip), %rsi\n"
	"	cmp %rcx, %rdx\n"
	"	jb 1f\n"
	"	cmp %rsi, %rdx\n"
	"	jb cancel_restart\n"
	"	je 3f\n"
	"1:	lea compat_begin(%rip), %rcx\n"
	"	lea compat_end(%rip), %rsi\n"
	"	cmp %rcx, %rdx\n"
	"	jb 2f\n"
	"	cmp %rsi, %rdx\n"
	"	jb cancel_restart\n"
	"	jne 2f\n"
	"	movslq %eax, %rax\n"
	"	jmp 3f\n"
	/* r13 is already the result at all of these places. */
	"2:	lea compat_over(%rip), %rcx\n"
	"	cmp %rcx, %rdx\n"
	"	je cancel_return\n"
	"	lea cancel_over(%rip), %rcx\n"
	"	lea cancel_unwanted(%rip), %rsi\n"
	"	mov $-4, %rax\n"		/* -EINTR */
	"	cmp %rcx, %rdx\n"
	"	jb 3f\n"
	"	cmp %rsi, %rdx\n"
	"	jb cancel_return\n"
	"3:	mov %rax, %r13\n"
	"	jmp cancel_return\n"
	/* No cancel was sent: end the program, which cannot return to the interrupted place. */
	"cancel_stray:\n"
	"	mov $231, %eax\n"	/* exit_group */
	"	mov $102, %edi\n"	/* SHADOW_EXIT_SIGNAL */
	"	syscall\n"
	"	hlt\n");
_Static_assert(!offsetof(struct thread, call) && !offsetof(struct syscall, state) &&
	       offsetof(struct syscall, reach) == 4 && offsetof(struct syscall, nr) == 8 &&
	       offsetof(struct syscall, args) == 16 && offsetof(struct syscall, stack) == 64 &&
	       !SYSCALL_OUT && SYSCALL_IN == 2 && SYSCALL_SIGNALLED == 3 &&
	       ERESTARTSYS == 512 && EINTR == 4 && SHADOW_EXIT_SIGNAL == 102, "as assembled");
_Static_assert(offsetof(struct ucontext, uc_mcontext.rax) == 144 &&
	       offsetof(struct ucontext, uc_mcontext.rip) == 168, "as assembled");

HIDDEN long syscall_entry32(struct syscall *call);

/*
 * The kernel may lack the entry for 32-bit programs. Try it first without a file, and with all
 * memory in reach, as the fault then raises a signal, whose handler needs the stack.
 */
long syscall_compat(struct syscall *call)
{
	static bool there;
	struct syscall probe = { .nr = call->nr, .args = { ~0ULL } };

	if (!there && syscall_entry32(&probe) == -EOPNOTSUPP)
		return -EOPNOTSUPP;
	there = true;
	return syscall_entry32(call);
}

/* --- other system calls that run drivers ------------------------------------- */

/*
 * Makes a system call while the thread has no access to its stack, so all values are in
 * registers. No signal comes meanwhile: that of a cancel is only sent to a thread in a cancelable
 * call.
 */
static long sys6_reach(unsigned int reach, long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	register long r12 __asm__("r12") = nr;
	register long r13 __asm__("r13") = c;
	register long r14 __asm__("r14") = reach;
	long ret;

	__asm__ volatile("mov %%r14d, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "	xor %%edx, %%edx\n"
			 "	wrpkru\n"
			 "	mov %%r12, %%rax\n"
			 "	mov %%r13, %%rdx\n"
			 "	syscall\n"
			 "	mov %%rax, %%r12\n"
			 "	xor %%eax, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "	xor %%edx, %%edx\n"
			 "	wrpkru\n"
			 "	mov %%r12, %%rax\n"
			 : "=a"(ret), "+r"(r12)
			 : "D"(a), "S"(b), "r"(r13), "r"(r14), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "rdx", "r11", "memory");
	return ret;
}

long sys6_apart(long nr, long a, long b, long c, long d, long e, long f)
{
	if (!keys_on)
		return sys6(nr, a, b, c, d, e, f);
	return sys6_reach(keys_only(0), nr, a, b, c, d, e, f);
}

long sys4_in_room(int key, long nr, long a, long b, long c, long d)
{
	if (!keys_on)
		return sys4(nr, a, b, c, d);
	return sys6_reach(keys_only(key), nr, a, b, c, d, 0, 0);
}

/* --- copies that may fault ------------------------------------------------- */

HIDDEN extern char copy_begin[], copy_end[];
HIDDEN bool copy_reach(void *to, const void *from, u64 len, unsigned int reach);
/*
 * Copies words if both sides are aligned: memory of devices is slow byte by byte, and registers
 * of devices may not accept bytes. On a fault the handler continues at copy_failed, with the
 * stack that it finds by %fs.
 */
__asm__(".globl copy_reach, copy_begin, copy_end\n"
	".hidden copy_reach, copy_begin, copy_end\n"
	"copy_reach:\n"
	"	push %rbx\n"
	"	mov %ecx, %ebx\n"
	"	mov %rdx, %r8\n"
	"	mov %rsp, %fs:8\n"
	"	test %ebx, %ebx\n"
	"	jz 1f\n"
	"	mov %ebx, %eax\n"
	REACH_EAX
	"1:	mov %r8, %rcx\n"
	"	mov %rdi, %rax\n"
	"	or %rsi, %rax\n"
	"	or %r8, %rax\n"
	"	test $7, %al\n"
	"copy_begin:\n"
	"	jnz 1f\n"
	"	shr $3, %rcx\n"
	"	rep movsq\n"
	"	jmp 2f\n"
	"1:	rep movsb\n"
	"copy_end:\n"
	"2:	test %ebx, %ebx\n"
	"	jz 1f\n"
	REACH_ALL
	"1:	mov $1, %eax\n"
	"	jmp copy_over\n"
	"copy_failed:\n"
	"	xor %eax, %eax\n"
	"copy_over:\n"
	"	movq $0, %fs:8\n"
	"	pop %rbx\n"
	"	ret\n");
_Static_assert(offsetof(struct thread, stack) == 8, "as assembled");

bool copy_checked(void *to, const void *from, u64 len, int key)
{
	return copy_reach(to, from, len, keys_on ? keys_only(key) : 0);
}

/* --- signals --------------------------------------------------------------- */

static bool between(u64 ip, const char *begin, const char *end)
{
	return ip >= (u64)begin && ip < (u64)end;
}

struct syscall *thread_stopped_at(const struct thread *thread, u64 ip, enum thread_stop *where)
{
	struct syscall *call = thread->call;

	if (!call || __atomic_load_n(&call->state, __ATOMIC_ACQUIRE) != SYSCALL_SIGNALLED)
		return NULL;
	if (ip == (u64)cancel_end || ip == (u64)compat_end)
		*where = THREAD_AFTER;
	else if (between(ip, cancel_begin, cancel_end) || between(ip, compat_begin, compat_end))
		*where = THREAD_BEFORE;
	else
		*where = THREAD_BESIDE;
	return call;
}

u64 thread_way_out(void)
{
	return (u64)cancel_over;
}

bool thread_fault_is_meant(u64 ip)
{
	return between(ip, compat_begin, compat_end) || between(ip, copy_begin, copy_end);
}

/*
 * Handles a fault of a copy, or of a system call of 32-bit programs that the kernel does not
 * have. As with the signal of a cancel, drivers may write where the kernel saves the registers.
 * So the handler only trusts that the thread was at one of these places. At any other fault the
 * program ends.
 */
HIDDEN void on_fault(int nr, void *info, struct ucontext *ucontext);
HIDDEN void on_fault_keys(int nr, void *info, struct ucontext *ucontext);
__asm__(".globl on_fault, on_fault_keys\n"
	".hidden on_fault, on_fault_keys\n"
	"on_fault_keys:\n"
	HANDLER_REACH
	"on_fault:\n"
	"	mov 168(%rdx), %rdx\n"
	"	lea copy_begin(%rip), %rcx\n"
	"	lea copy_end(%rip), %rsi\n"
	"	cmp %rcx, %rdx\n"
	"	jb 1f\n"
	"	cmp %rsi, %rdx\n"
	"	jae 1f\n"
	"	mov %fs:8, %rcx\n"
	"	test %rcx, %rcx\n"
	"	jz cancel_stray\n"
	"	mov %rcx, %rsp\n"
	"	jmp copy_failed\n"
	"1:	lea compat_begin(%rip), %rcx\n"
	"	lea compat_end(%rip), %rsi\n"
	"	cmp %rcx, %rdx\n"
	"	jb cancel_stray\n"
	"	cmp %rsi, %rdx\n"
	"	jae cancel_stray\n"
	"	mov %fs:0, %rbx\n"
	"	test %rbx, %rbx\n"
	"	jz cancel_stray\n"
	"	mov 64(%rbx), %rsp\n"
	"	mov $-95, %r13\n"	/* -EOPNOTSUPP */
	"	jmp cancel_over\n");
_Static_assert(EOPNOTSUPP == 95, "as assembled");

int signals_init(void)
{
	unsigned long blocked = ~(SIGNAL_BIT(VGPU_LANE_SIGNAL) | SIGNAL_BIT(SIGSEGV) |
				  SIGNAL_BIT(SIGBUS));
	signal_handler *fault = keys_on ? on_fault_keys : on_fault;
	/* Handlers do not return, so they must run with the thread's own signal mask. */
	const unsigned long flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO | SA_RESTART;
	long ret;

	ret = sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&blocked, 0, KERNEL_SIGSET);
	if (!ret)
		ret = signal_handle(SIGSEGV, fault, flags, 0);
	if (!ret)
		ret = signal_handle(SIGBUS, fault, flags, 0);
	if (!ret)
		ret = signal_handle(VGPU_LANE_SIGNAL, keys_on ? on_cancel_keys : on_cancel, flags,
				    0);
	return ret;
}

static bool state_changes(struct syscall *call, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&call->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void thread_cancel(const struct thread *thread, struct syscall *call)
{
	if (state_changes(call, SYSCALL_OUT, SYSCALL_UNWANTED) ||
	    !state_changes(call, SYSCALL_IN, SYSCALL_SIGNALLED))
		return;
	/* Tell the thread that no signal comes, as it waits for one. */
	if (sys3(__NR_tgkill, sys2(__NR_getpid, 0, 0), thread->tid, VGPU_LANE_SIGNAL))
		thread_signal_came(call);
}

void thread_signal_came(struct syscall *call)
{
	state_changes(call, SYSCALL_SIGNALLED, SYSCALL_IN);
}

void thread_signal_stack(const u8 *room)
{
	const struct {
		const u8 *memory;
		int flags;
		u64 size;
	} stack = { .memory = room, .size = THREAD_SIGNALS };

	sys_exit_if(sys2(__NR_sigaltstack, (long)&stack, 0), SHADOW_EXIT_SIGNAL);
}
