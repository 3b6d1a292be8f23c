// SPDX-License-Identifier: MIT
/*
 * Lanes of a shadow. Each lane has a thread, whose fd table holds the lane's file only: the
 * host module takes every other file in the table after a call for output of the call.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <stddef.h>

#include <linux/vgpu_host.h>

#include "keys.h"
#include "lane.h"
#include "sys.h"

#define GUARD_SIZE	4096UL
#define STACK_SIZE	(64UL << 10)
#define SCRATCH_SIZE	(64UL << 10)
#define SLOT_SIZE	(GUARD_SIZE + STACK_SIZE + SCRATCH_SIZE)

#define KERNEL_SIGSET	8	/* bytes of a sigset_t in the kernel */

/**
 * struct slot - memory of one thread
 * @tid: ID of the thread; 0: the slot is free. It is set before the thread starts. The kernel
 *	clears it when the thread no longer uses the address space (CLONE_CHILD_CLEARTID): only
 *	then may the memory be used again
 * @lane_fd: file of the lane, until its thread has a copy
 * @memory: guard page, stack and scratch; kept for later threads
 * @fn: function that the thread runs
 * @arg: argument of @fn
 *
 * Only the main thread looks for free slots.
 */
struct slot {
	volatile int tid;
	int lane_fd;
	unsigned char *memory;
	void (*fn)(void *arg);
	void *arg;
};

/*
 * The program is linked at high addresses, so code reaches symbols by relative addresses
 * (HIDDEN), never by a table.
 */
static struct slot slots[SHADOW_LANES_MAX + 1];	/* one is the service's */

/*
 * Handler of the cancel signal. The signal only has to end a wait, so the handler does nothing.
 * The kernel starts a handler with access to key 0 only, and the return address is on a stack
 * with another key: the handler with keys first clears PKRU. Without a libc, the restorer is
 * needed, too.
 */
HIDDEN void lane_signal_handler(int signr);
HIDDEN void lane_signal_handler_keys(int signr);
HIDDEN void lane_signal_restorer(void);
__asm__(".globl lane_signal_handler, lane_signal_handler_keys, lane_signal_restorer\n"
	".hidden lane_signal_handler, lane_signal_handler_keys, lane_signal_restorer\n"
	"lane_signal_handler_keys:\n"
	"	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"	xor %edx, %edx\n"
	"	wrpkru\n"
	"lane_signal_handler:\n"
	"	ret\n"
	"lane_signal_restorer:\n"
	"	mov $15, %eax\n"	/* rt_sigreturn */
	"	syscall\n"
	"	hlt\n");

int lane_signals(void)
{
	struct {
		void (*handler)(int signr);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {
		.handler = keys_on ? lane_signal_handler_keys : lane_signal_handler,
		.flags = SA_RESTORER,
		.restorer = lane_signal_restorer,
		.mask = ~0UL,
	};
	unsigned long all = ~0UL;
	int ret;

	ret = sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SIGSET);
	if (ret)
		return ret;
	return sys4(__NR_rt_sigaction, VGPU_LANE_SIGNAL, (long)&action, 0, KERNEL_SIGSET);
}

/* Map the memory of a slot, which is kept for later threads. Return: 0 or a negative errno. */
static int slot_prepare(struct slot *slot)
{
	long memory, stack;

	if (slot->memory)
		return 0;
	memory = sys_mmap(slots_base + (slot - slots) * SLOT_SIZE, SLOT_SIZE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_is_error(memory))
		return memory;
	/* The lowest page stays without access, so that an overflow of the stack faults. */
	stack = memory + GUARD_SIZE;
	if (keys_give(stack, STACK_SIZE, KEY_OWN) ||
	    keys_give(stack + STACK_SIZE, SCRATCH_SIZE, KEY_SHARED)) {
		sys2(__NR_munmap, memory, SLOT_SIZE);
		return -ENOMEM;
	}
	slot->memory = (unsigned char *)memory;
	return 0;
}

void lane_prepare(void)
{
	unsigned int i;

	/* A failure is ignored: the memory is mapped again when the slot is used. */
	for (i = 0; i < SHADOW_LANES_READY + 1 && !slot_prepare(&slots[i]); i++)
		;
}

static struct slot *slot_find(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		if (!slots[i].tid)
			return slot_prepare(&slots[i]) ? NULL : &slots[i];
	return NULL;
}

/* First C code of a new thread, on the thread's own stack. */
static void __attribute__((noreturn, used)) slot_main(struct slot *slot)
{
	slot->fn(slot->arg);
	for (;;)
		sys2(__NR_exit, 0, 0);
}

/*
 * Start a thread. clone() returns a second time in the new thread, on an empty stack: no
 * compiled code may stand between the system call and the jump.
 */
HIDDEN long slot_clone(unsigned long flags, void *stack, volatile int *tid, struct slot *slot);
__asm__(".globl slot_clone\n"
	".hidden slot_clone\n"
	"slot_clone:\n"			/* rdi flags, rsi stack, rdx tid, rcx slot */
	"	mov %rcx, %r9\n"	/* the syscall clobbers rcx, keeps r9 */
	"	mov %rdx, %r10\n"	/* child_tid: cleared at the thread's end */
	"	xor %r8d, %r8d\n"	/* tls */
	"	mov $56, %eax\n"	/* clone */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %ebp, %ebp\n"
	"	mov %r9, %rdi\n"
	"	call slot_main\n"
	"	hlt\n"
	"1:	ret\n");

static int slot_start(struct slot *slot, void (*fn)(void *arg), void *arg, int share_files)
{
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	long ret;

	if (share_files)
		flags |= CLONE_FILES;
	slot->fn = fn;
	slot->arg = arg;
	ret = slot_clone(flags, slot->memory + GUARD_SIZE + STACK_SIZE, &slot->tid, slot);
	if (ret < 0) {
		slot->tid = 0;
		return ret;
	}
	return 0;
}

int lane_thread(void (*fn)(void *arg), void *arg, int share_files)
{
	struct slot *slot = slot_find();

	if (!slot)
		return -ENOMEM;
	return slot_start(slot, fn, arg, share_files);
}

static void lane_main(void *arg)
{
	struct slot *slot = arg;
	struct vgpu_lane_serve serve = {
		.size = sizeof(serve),
		.flags = keys_on ? VGPU_LANE_KEYS : 0,
		.scratch = (unsigned long)slot->memory + GUARD_SIZE + STACK_SIZE,
		.scratch_len = SCRATCH_SIZE,
	};
	long event;
	unsigned long mask = ~(1UL << (VGPU_LANE_SIGNAL - 1));
	long ret;

	/*
	 * The table is a copy of the main thread's: keep the lane's file only. The file is also
	 * put at 0, so that no file of a call gets the number that drivers use for "none".
	 */
	if (sys3(__NR_dup3, slot->lane_fd, SHADOW_FD_LANE, 0) != SHADOW_FD_LANE ||
	    sys3(__NR_dup3, SHADOW_FD_LANE, 0, 0) ||
	    sys3(__NR_close_range, 1, SHADOW_FD_LANE - 1, 0) ||
	    sys3(__NR_close_range, SHADOW_FD_LANE + 1, ~0U, 0))
		return;
	if (sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, KERNEL_SIGSET))
		return;

	ret = VGPU_LANE_NEEDS_EVENT;
	do {
		serve.event_fd = -1;
		if (ret == VGPU_LANE_NEEDS_EVENT) {
			/* Without an eventfd, calls that need one fail. */
			event = sys2(__NR_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
			serve.event_fd = sys_is_error(event) ? -1 : event;
		}
		ret = sys3(__NR_ioctl, SHADOW_FD_LANE, VGPU_LANE_SERVE, (long)&serve);
	} while (!ret || ret == VGPU_LANE_NEEDS_EVENT || ret == -EINTR);

	/*
	 * Block all signals until the thread ends: as soon as the kernel has cleared the slot's
	 * tid, the main thread may reuse the stack.
	 */
	mask = ~0UL;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, KERNEL_SIGSET);
}

void lane_start(int sock_fd)
{
	struct vgpu_shadow_lane lane = {
		.size = sizeof(lane),
		.sock_fd = sock_fd,
		.out_fd = -1,
	};
	struct slot *slot = slot_find();
	long ret = -1;

	if (slot)
		ret = sys3(__NR_ioctl, SHADOW_FD_FILE, VGPU_SHADOW_LANE, (long)&lane);
	/* The module holds its own reference, and the thread's table must not get one. */
	sys2(__NR_close, sock_fd, 0);
	if (ret)
		return;

	slot->lane_fd = lane.out_fd;
	slot_start(slot, lane_main, slot, 0);
	/* The new thread, if it was started, has a copy of this file in its table. */
	sys2(__NR_close, lane.out_fd, 0);
}
