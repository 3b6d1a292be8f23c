// SPDX-License-Identifier: GPL-2.0-only
/*
 * This is vgpu-shadow after an attacker has taken it over: the program itself, whose lanes
 * serve calls, and threads that keep making the system calls that vgpud's filter leaves such a
 * process, with the files that it has. hostile_shadow.c of the selftests gives this program to
 * vgpud. Each process chooses its threads' actions at random.
 */
/* This file has a lane_start() of its own, so the honest one gets another name. */
#define lane_start honest_lane_start
#include "../../userspace-lib/shadow/lane.c"
#undef lane_start

#include <asm/sigcontext.h>
#include <asm/socket.h>
#include <asm/ucontext.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/uio.h>

#include "../../userspace-lib/shadow/message.h"

/* Programs of the guest map the device here. */
#define TARGET		0x200000000000UL
#define TARGET_PAGES	16
#define PAGE		4096UL
/* First fd, and number, of copies of lanes' sockets and files in the main thread's fd table. */
#define KEPT_FIRST	800
#define KEPT_MAX	64
/* If this is set, hostile threads only call claim_mapping(), and lanes are served honestly. */
#ifndef ROGUE_CLAIMS
#define ROGUE_CLAIMS	0
#endif
/* Each lane of a process starts a thread in hostile_run(), until there are this many. */
#define THREADS_MAX	4

void lane_start(int sock_fd);

static unsigned int nr_kept, nr_lanes, nr_threads;
/* true if the hostile threads of this process only call claim_mapping() */
static unsigned char claims;

static unsigned long draw(unsigned long *state)
{
	/* The generator is xorshift64. */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Returns an fd in the main thread's table, which all threads but those of lanes have. */
static int draw_fd(unsigned long *state)
{
	static const unsigned char low[] = {
		SHADOW_FD_FILE, SHADOW_FD_FILE, SHADOW_FD_LANES, 0, 5,
	};

	if (draw(state) % 2)
		return KEPT_FIRST + draw(state) % KEPT_MAX;
	return low[draw(state) % sizeof(low)];
}

/* Returns an address of the guest's mappings, of the rest of its memory, or of this program. */
static unsigned long draw_addr(unsigned long *state)
{
	switch (draw(state) % 8) {
	case 0:
		return SHADOW_DEMAND_START + draw(state) % (1UL << 40) / PAGE * PAGE;
	case 1:
		return slots_base + draw(state) % 64 * PAGE;
	case 2:
		return SHADOW_RESERVED_BASE + draw(state) % SHADOW_RESERVED_SIZE / PAGE * PAGE;
	default:
		return TARGET + draw(state) % TARGET_PAGES * PAGE;
	}
}

/* --- actions of threads ---------------------------------------------------------- */

static void make_ioctls(unsigned long *state)
{
	union {
		struct vgpu_lane_serve serve;
		struct vgpu_shadow_lane lane;
		unsigned long words[8];
	} arg;
	unsigned int i;

	for (i = 0; i < 8; i++)
		arg.words[i] = draw(state);
	switch (draw(state) % 4) {
	case 0:
		arg.serve = (struct vgpu_lane_serve){
			.size = sizeof(arg.serve),
			.flags = draw(state) % 2,
			.scratch = draw_addr(state),
			.scratch_len = SCRATCH_SIZE,
			.event_fd = draw(state) % 2 ? -1 : draw_fd(state),
		};
		break;
	case 1:
		arg.lane = (struct vgpu_shadow_lane){
			.size = sizeof(arg.lane), .sock_fd = draw_fd(state), .out_fd = -1,
		};
		break;
	}
	switch (draw(state) % 64) {
	case 0:
		/*
		 * The thread waits in the module until something is unmapped, so this is done
		 * rarely.
		 */
		sys3(__NR_ioctl, SHADOW_FD_FILE, VGPU_SHADOW_SERVICE, 0);
		break;
	case 1 ... 32:
		sys3(__NR_ioctl, SHADOW_FD_FILE, VGPU_SHADOW_LANE, (long)&arg);
		break;
	default:
		sys3(__NR_ioctl, draw_fd(state), VGPU_LANE_SERVE, (long)&arg);
	}
}

static void move_memory(unsigned long *state)
{
	unsigned long addr = draw_addr(state), len = (1 + draw(state) % 4) * PAGE;
	/* The filter of main.c kills a process that changes other memory, or moves memory. */
	unsigned long own = slots_base + draw(state) % 64 * PAGE;
	const int prot = PROT_READ | PROT_WRITE;

	/* This thread's stack and the program are left alone, so that it can go on. */
	if (addr >= SHADOW_RESERVED_BASE && addr < SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE)
		addr = TARGET;
	switch (draw(state) % 64) {
	case 0:
		sys2(__NR_munmap, addr, len);
		break;
	case 1:
		sys3(__NR_mprotect, own, PAGE, prot);
		break;
	case 2:
		sys4(__NR_pkey_mprotect, own, PAGE, prot, draw(state) % 16);
		break;
	case 3:
		sys_mmap(addr, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 4:
		sys_mmap(addr, len, prot, MAP_SHARED | MAP_FIXED, draw_fd(state), draw_addr(state));
		break;
	default:
		/* The memory becomes the shadow's own file again. */
		sys_mmap(addr, len, prot, MAP_SHARED | MAP_FIXED, SHADOW_FD_FILE, addr);
		break;
	}
}

/* Maps the shadow's file over a mapping that a lane is making, before the module looks at it. */
static void claim_mapping(unsigned long *state)
{
	(void)state;
	sys_mmap(TARGET, TARGET_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 SHADOW_FD_FILE, TARGET);
}

static void move_files(unsigned long *state)
{
	int fd = draw_fd(state);

	/* Actions that end lanes or the session are rare, so that some are left. */
	switch (draw(state) % 4096) {
	case 0 ... 255:
		sys3(__NR_close_range, KEPT_FIRST, KEPT_FIRST + draw(state) % KEPT_MAX, 0);
		break;
	case 256:
		sys3(__NR_close_range, SHADOW_FD_LANES + 1, 64, 0);
		break;
	case 257:
		sys2(__NR_close, SHADOW_FD_FILE, 0);
		break;
	case 258 ... 511:
		fd = sys2(__NR_eventfd2, 0, 0);
		sys3(__NR_dup3, fd, KEPT_FIRST + draw(state) % KEPT_MAX, 0);
		sys2(__NR_close, fd, 0);
		break;
	default:
		sys3(__NR_dup3, fd, KEPT_FIRST + draw(state) % KEPT_MAX, 0);
	}
}

/*
 * Reads bytes of the wire, which only the module should read. A lane ends without them, so most
 * reads only peek.
 */
static void take_bytes(unsigned long *state)
{
	unsigned char bytes[64];
	struct iovec iov = { .iov_base = bytes, .iov_len = 1 + draw(state) % sizeof(bytes) };
	struct user_msghdr msg = { .iov = &iov, .iovlen = 1 };

	sys3(__NR_recvmsg, KEPT_FIRST + draw(state) % KEPT_MAX, (long)&msg,
	     MSG_DONTWAIT | (draw(state) % 1024 ? MSG_PEEK : 0));
}

/* Makes a thread that ends at once. */
static void make_thread(unsigned long *state)
{
	const unsigned long must = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
	const unsigned long may = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_VFORK | CLONE_IO |
				  CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
				  CLONE_CHILD_CLEARTID | CLONE_UNTRACED | CLONE_PTRACE;
	/* Sometimes there are other flags, with which most calls fail. */
	const unsigned long flags = must | (draw(state) & (draw(state) % 8 ? may : ~0xffUL));
	/* The kernel writes thread ids to these addresses. */
	unsigned long parent_tid = draw_addr(state), child_addr = draw_addr(state);
	register unsigned long child_tid __asm__("r10") = child_addr;
	long ret = __NR_clone;

	__asm__ volatile("xor %%esi, %%esi\n"
			 "	xor %%r8d, %%r8d\n"
			 "	syscall\n"
			 "	test %%rax, %%rax\n"
			 "	jnz 1f\n"
			 "	mov $60, %%eax\n"	/* exit */
			 "	xor %%edi, %%edi\n"
			 "	syscall\n"
			 "	hlt\n"
			 "1:\n"
			 : "+a"(ret)
			 : "D"(flags), "d"(parent_tid), "r"(child_tid)
			 : "rcx", "r11", "rsi", "r8", "memory");
}

static void change_signals(unsigned long *state)
{
	unsigned long mask = draw(state);

	if (draw(state) % 64)
		sys4(__NR_rt_sigprocmask, draw(state) % 3, (long)&mask, 0, KERNEL_SIGSET);
	else
		lane_signals();
}

/* Sets a handler for any signal, also that of lanes; change_signals() restores the lanes'. */
static void change_handlers(unsigned long *state)
{
	static const unsigned long flags = SA_NODEFER | SA_RESETHAND | SA_RESTART | SA_ONSTACK;
	struct {
		unsigned long handler;
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {
		.handler = draw(state) % 4 ? (unsigned long)lane_signal_handler : draw(state) % 2,
		.flags = SA_RESTORER | (draw(state) & flags),
		.restorer = signal_restorer,
		.mask = draw(state),
	};
	int signr = 1 + draw(state) % 64;

	/* A thread that handles its own faults would fault for ever. */
	if (signr == SIGSEGV || signr == SIGBUS || signr == SIGILL)
		signr = VGPU_LANE_SIGNAL;
	sys4(__NR_rt_sigaction, signr, draw(state) % 8 ? (long)&action : (long)draw_addr(state),
	     draw(state) % 2 ? 0 : (long)draw_addr(state), KERNEL_SIGSET);
}

static void change_keys(unsigned int keys)
{
	if (keys_on)
		__asm__ volatile("wrpkru" : : "a"(keys), "c"(0), "d"(0) : "memory");
}

/* Has the kernel read and write at any address, with any protection keys of the thread. */
static void touch_anywhere(unsigned long *state)
{
	unsigned long addr = draw_addr(state);
	struct iovec iov = { .iov_base = (void *)addr, .iov_len = 1 + draw(state) % 64 };
	struct user_msghdr msg = { .iov = &iov, .iovlen = 1 };

	/* Access to the stack and data, and to memory without a key, is left. */
	change_keys(draw(state) % 4 ? draw(state) & ~(3U | 3U << 2 * KEY_OWN) : 0);
	switch (draw(state) % 4) {
	case 0:
		sys3(__NR_getrandom, addr, 1 + draw(state) % PAGE, 0);
		break;
	case 1:
		sys2(__NR_prctl, PR_SET_NAME, addr);
		break;
	case 2:
		sys3(__NR_recvmsg, KEPT_FIRST + draw(state) % KEPT_MAX, (long)&msg,
		     MSG_DONTWAIT | MSG_PEEK);
		break;
	default:
		make_ioctls(state);
	}
	if (draw(state) % 2)
		change_keys(0);
}

/* Makes system calls that must fail or do nothing. */
static void ask_in_vain(unsigned long *state)
{
	switch (draw(state) % 3) {
	case 0:
		sys2(__NR_restart_syscall, 0, 0);
		break;
	case 1:
		sys2(__NR_pkey_alloc, 0, draw(state) % 4);
		break;
	default:
		sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
	}
}

/*
 * Returns from a signal that never came, to the code behind, with flags and masks of its own.
 * The kernel resets the protection keys then. A bad @fpstate ends the process.
 */
static void return_forged(unsigned long *state, unsigned long fpstate)
{
	/*
	 * The flags are arithmetic ones and that of alignment checks, which the kernel must not
	 * keep.
	 */
	const unsigned long flags = 0x202 | (draw(state) & 0x408d5);
	struct ucontext frame = {
		.uc_flags = draw(state) % 8,
		.uc_mcontext = {
			.rax = keys_on, .eflags = flags, .cs = 0x33, .ss = 0x2b,
			.fpstate = (void *)fpstate,
		},
	};
	unsigned long at = (unsigned long)&frame;

	*(unsigned long *)&frame.uc_sigmask = draw(state);
	__asm__ volatile("mov %%rsp, %c[sp](%%rdi)\n"
			 "	mov %%rbp, %c[bp](%%rdi)\n"
			 "	lea 1f(%%rip), %%rax\n"
			 "	mov %%rax, %c[ip](%%rdi)\n"
			 "	mov %%rdi, %%rsp\n"
			 "	mov $15, %%eax\n"	/* rt_sigreturn */
			 "	syscall\n"
			 "	hlt\n"
			 "1:	test %%eax, %%eax\n"
			 "	jz 2f\n"
			 "	xor %%eax, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "	xor %%edx, %%edx\n"
			 "	wrpkru\n"
			 "2:	lea -128(%%rsp), %%rsp\n"
			 "	pushq $0x202\n"
			 "	popfq\n"
			 "	lea 128(%%rsp), %%rsp\n"
			 : "+D"(at)
			 : [sp] "i"(offsetof(struct ucontext, uc_mcontext.rsp)),
			   [bp] "i"(offsetof(struct ucontext, uc_mcontext.rbp)),
			   [ip] "i"(offsetof(struct ucontext, uc_mcontext.rip))
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "cc", "memory");
}

static void return_from_nothing(unsigned long *state)
{
	return_forged(state, 0);
}

/* Ends the process in one of several ways, in the middle of other threads' actions. */
static void end_somehow(unsigned long *state)
{
	unsigned long addr = draw_addr(state);

	switch (draw(state) % 5) {
	case 0:
		/* The registers of the FPU are loaded from there. */
		return_forged(state, addr);
		break;
	case 1:
		/* The whole frame is read from there. */
		__asm__ volatile("mov %0, %%rsp\n"
				 "	syscall\n"
				 "	hlt\n"
				 : : "r"(addr), "a"(__NR_rt_sigreturn) : "rcx", "r11", "memory");
		break;
	case 2:
		/* The filter forbids this call. */
		sys2(__NR_pkey_free, 1 + draw(state) % 15, 0);
		break;
	case 3:
		/* No lane exists to fetch this page. */
		*(volatile char *)addr = 1;
		break;
	}
	sys_exit_group(SHADOW_EXIT_OK);
}

static void (*const deeds[])(unsigned long *state) = {
	make_ioctls, move_memory, claim_mapping, move_files, take_bytes, make_thread,
	change_signals, change_handlers, touch_anywhere, ask_in_vain, return_from_nothing,
};

#define NR_DEEDS	(sizeof(deeds) / sizeof(deeds[0]))

/*
 * Runs actions at random until the process ends: any of them, one of two, or only
 * claim_mapping(), which needs many tries. Some processes end after a while, in the middle of
 * other threads' actions.
 */
static void hostile_run(void *unused)
{
	unsigned long state, first, second, left;

	(void)unused;
	if (sys3(__NR_getrandom, (long)&state, sizeof(state), 0) != sizeof(state) || !state)
		return;
	first = draw(&state) % NR_DEEDS;
	second = draw(&state) % NR_DEEDS;
	left = draw(&state) % 4 ? 0 : 1 + draw(&state) % 100000;
	/* The process has to end while a claimed mapping exists, so it ends early. */
	if (ROGUE_CLAIMS)
		left = 1 + draw(&state) % 20000;
	for (;;) {
		if (claims)
			claim_mapping(&state);
		else if (first == second)
			deeds[draw(&state) % NR_DEEDS](&state);
		else
			deeds[draw(&state) % 2 ? first : second](&state);
		if (left && !--left)
			end_somehow(&state);
	}
}

/* --- lanes ------------------------------------------------------------------------- */

/*
 * Starts a lane as the honest function does, and a thread with hostile actions. Of some lanes it
 * keeps the socket, or the lane's file, and has a second thread try to serve the lane.
 */
void lane_start(int sock_fd)
{
	struct vgpu_shadow_lane lane = {
		.size = sizeof(lane), .sock_fd = sock_fd, .out_fd = -1,
	};
	struct slot *slot;
	unsigned char random;
	int twice;

	if (!nr_lanes && sys3(__NR_getrandom, (long)&random, sizeof(random), 0) == sizeof(random))
		claims = ROGUE_CLAIMS || random % 3 == 0;
	if (nr_threads < THREADS_MAX) {
		nr_threads++;
		lane_thread(hostile_run, NULL, 1);
	}
	/*
	 * A guest is notified that a lane has ended when the last file of its socket is closed,
	 * so only some sockets are kept.
	 */
	if (nr_lanes++ % 3 == 2)
		sys3(__NR_dup3, sock_fd, KEPT_FIRST + nr_kept++ % KEPT_MAX, 0);
	if (ROGUE_CLAIMS || nr_lanes % 8) {
		honest_lane_start(sock_fd);
		return;
	}
	if (sys3(__NR_ioctl, SHADOW_FD_FILE, VGPU_SHADOW_LANE, (long)&lane)) {
		sys2(__NR_close, sock_fd, 0);
		return;
	}
	sys2(__NR_close, sock_fd, 0);
	for (twice = 0; twice < 2; twice++) {
		slot = slot_find();
		if (!slot)
			break;
		slot->lane_fd = lane.out_fd;
		thread_run(&slot->thread, 0, lane_main, slot);
	}
	sys3(__NR_dup3, lane.out_fd, KEPT_FIRST + nr_kept++ % KEPT_MAX, 0);
	sys2(__NR_close, lane.out_fd, 0);
}
