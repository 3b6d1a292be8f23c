// SPDX-License-Identifier: MIT
/*
 * Lanes of a shadow. Each lane has a thread, whose fd table holds the lane's file only: the
 * host module takes every other file in the table after a call for output of the call.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <stddef.h>

#include <linux/vgpu_host.h>

#include "lane.h"
#include "sys.h"
#include "thread.h"

#define SCRATCH_SIZE	(64UL << 10)
#define SLOT_SIZE	(THREAD_GUARD + THREAD_STACK + SCRATCH_SIZE)

/**
 * struct slot - entry of a lane's thread, or of the service thread
 * @thread: the thread; its room for calls is the lane's scratch memory
 * @lane_fd: file of the lane, until the thread has a copy of this file
 *
 * Only the main thread looks for free slots.
 */
struct slot {
	struct thread thread;
	int lane_fd;
};

/*
 * The program is linked at high addresses, so code reaches symbols by relative addresses
 * (HIDDEN), never by a table.
 */
static struct slot slots[SHADOW_LANES_MAX + 1];	/* one is the service's */

/*
 * Handler of the cancel signal. The signal only has to end a wait, so the handler does nothing.
 * The kernel starts a handler with access to key 0 only, but the return address is on a stack
 * with another key. So the variant for processors with keys clears PKRU first.
 */
HIDDEN void lane_signal_handler(int nr, void *info, struct ucontext *ucontext);
HIDDEN void lane_signal_handler_keys(int nr, void *info, struct ucontext *ucontext);
__asm__(".globl lane_signal_handler, lane_signal_handler_keys\n"
	".hidden lane_signal_handler, lane_signal_handler_keys\n"
	"lane_signal_handler_keys:\n"
	"	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"	xor %edx, %edx\n"
	"	wrpkru\n"
	"lane_signal_handler:\n"
	"	ret\n");

int lane_signals(void)
{
	unsigned long all = ~0UL;
	int ret;

	ret = sys4(__NR_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_SIGSET);
	if (ret)
		return ret;
	return signal_handle(VGPU_LANE_SIGNAL,
			     keys_on ? lane_signal_handler_keys : lane_signal_handler, 0, all);
}

/* Map the memory of a slot, which is kept for later threads. Return: 0 or a negative errno. */
static int slot_prepare(struct slot *slot)
{
	return thread_map(&slot->thread, slots_base + (slot - slots) * SLOT_SIZE, SCRATCH_SIZE, 0);
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
		if (!slots[i].thread.tid)
			return slot_prepare(&slots[i]) ? NULL : &slots[i];
	return NULL;
}

int lane_thread(void (*fn)(void *arg), void *arg, int share_files)
{
	struct slot *slot = slot_find();

	if (!slot)
		return -ENOMEM;
	return thread_run(&slot->thread, share_files ? CLONE_FILES : 0, fn, arg);
}

static void lane_main(void *arg)
{
	struct slot *slot = arg;
	struct vgpu_lane_serve serve = {
		.size = sizeof(serve),
		.flags = keys_on ? VGPU_LANE_KEYS : 0,
		.scratch = (unsigned long)thread_room(&slot->thread),
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
	thread_run(&slot->thread, 0, lane_main, slot);
	/* The new thread, if it was started, has a copy of this file in its table. */
	sys2(__NR_close, lane.out_fd, 0);
}
