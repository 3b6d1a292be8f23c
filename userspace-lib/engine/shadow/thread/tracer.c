// SPDX-License-Identifier: MIT
/*
 * The tracer: a process with the shadow's memory that traces the shadow's threads.
 *
 * The signal that cancels a call has a handler. Before a handler runs, the kernel turns the
 * results that drivers return for signals without one (-ERESTARTNOHAND) into -EINTR. A tracer
 * stops the thread before that, sees the driver's own result, and makes it the result of the
 * call. Then no handler runs.
 *
 * A thread cannot be traced by a thread of the same process, and no process outside sees the
 * shadow's process. If the kernel does not allow tracing, only the handler remains.
 *
 * The tracer has one file, the socket to the engine. The engine takes the end of this socket for
 * the end of the shadow's memory, which holds files of drivers. A process drops its memory before
 * its files, so the socket ends after all memory of both processes.
 */
#include <linux/audit.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/wait.h>

#include <linux/vgpu_host.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "engine/shadow/thread/tracer.h"

#define STACK_SIZE	(16UL << 10)
/* Time in milliseconds that the shadow and its tracer wait for each other at the start. */
#define START_MS	10000

/* Steps of the start, in which each side waits for the other. */
enum {
	TRACER_NEW,
	TRACER_MAY,	/* the process may be traced */
	TRACER_DONE,	/* the process is traced, or cannot be */
};

/**
 * struct registers - result of PTRACE_GETREGS
 * @user: registers of programs
 * @fs_base: base address of %fs
 * @rest: gs_base and the segment registers
 */
struct registers {
	struct pt_regs user;
	u64 fs_base;
	u64 rest[5];
};
_Static_assert(sizeof(struct registers) == 27 * 8, "as user_regs_struct of the kernel");

static u32 step;
static int process;
/* Stack of the tracer: .bss has the program's key, so drivers cannot reach it. */
static u8 stack[STACK_SIZE] __attribute__((aligned(16)));

/* Waits for the step to change. Return: true if it did in time. */
static bool step_await(u32 value)
{
	u64 end = now_ns() + START_MS * NSEC_PER_MS;

	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) == value) {
		if (now_ns() >= end)
			return false;
		word_wait(&step, value, START_MS);
	}
	return true;
}

static void step_go(u32 value)
{
	__atomic_store_n(&step, value, __ATOMIC_RELEASE);
	word_wake(&step);
}

static long trace(long request, int tid, unsigned long addr, unsigned long data)
{
	return sys4(__NR_ptrace, request, tid, addr, data);
}

static void set_register(int tid, size_t reg, u64 value)
{
	trace(PTRACE_POKEUSR, tid, reg, value);
}

/* Handles the stop of a thread by the cancel signal, in place of the signal's handler. */
static void cancel_seen(int tid)
{
	enum thread_stop where;
	struct registers regs;
	struct syscall *call;

	/* %fs points to the thread's struct thread: see thread.c. */
	if (trace(PTRACE_GETREGS, tid, 0, (unsigned long)&regs) || !regs.fs_base)
		return;
	call = thread_stopped_at((const struct thread *)regs.fs_base, regs.user.rip, &where);
	if (!call)
		return;
	/* Without a system call number the kernel restarts nothing, and keeps the result. */
	set_register(tid, offsetof(struct pt_regs, orig_rax), -1);
	if (where == THREAD_BEFORE) {
		set_register(tid, offsetof(struct pt_regs, rip), thread_way_out());
		set_register(tid, offsetof(struct pt_regs, r13), -ERESTARTSYS);
	}
	thread_signal_came(call);
}

/*
 * Return: true if a signal is to be delivered; the caller ends the shadow for any other signal.
 * Faults of copies have a handler. Other signals that a thread causes by itself would not end a
 * traced first process of a namespace: the thread would only fault again.
 */
static bool signal_is_meant(int tid, int signal)
{
	struct registers regs;

	switch (signal) {
	case SIGSEGV:
	case SIGBUS:
		return !trace(PTRACE_GETREGS, tid, 0, (unsigned long)&regs) &&
		       thread_fault_is_meant(regs.user.rip);
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGCONT:
	case SIGCHLD:
		return true;
	default:
		return false;
	}
}

static void stopped(int tid, u32 status)
{
	int signal = status >> 8 & 0xff;

	if (status >> 16 == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		/* The whole process is stopped until it is continued. */
		trace(PTRACE_LISTEN, tid, 0, 0);
		return;
	}
	/* This event means that a thread starts, or that it was continued. */
	if (status >> 16 == PTRACE_EVENT_STOP) {
		signal = 0;
	} else if (signal == VGPU_LANE_SIGNAL) {
		cancel_seen(tid);
		signal = 0;
	} else if (!signal_is_meant(tid, signal)) {
		/* The end of the tracer ends the shadow (PTRACE_O_EXITKILL). */
		sys_exit_group(SHADOW_EXIT_SIGNAL);
	}
	trace(PTRACE_CONT, tid, 0, signal);
}

/* Handles one event of the shadow. Return: false if the shadow has ended. */
static bool hear(void)
{
	u32 status = 0;
	long tid;

	tid = sys4(__NR_wait4, -1, (long)&status, __WALL, 0);
	if (tid == -EINTR)
		return true;
	if (tid < 0)
		return false;
	if ((status & 0xff) == 0x7f) {
		stopped(tid, status);
		return true;
	}
	return tid != process;
}

#define ALLOW_IF(value, to)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, to, 0)
#define ARG(i)		(offsetof(struct seccomp_data, args) + 8 * (i))

/*
 * Confines the tracer. A guest that has taken over the shadow has the tracer as well, whose stack
 * is in the same memory. The tracer must be able to do nothing but its work, above all nothing
 * with other processes of its user.
 */
static long tracer_confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 14),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW_IF(__NR_wait4, 13),
		ALLOW_IF(__NR_futex, 12),
		ALLOW_IF(__NR_exit_group, 11),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ptrace, 0, 9),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(0)),
		ALLOW_IF(PTRACE_GETREGS, 8),
		ALLOW_IF(PTRACE_CONT, 7),
		ALLOW_IF(PTRACE_LISTEN, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_POKEUSR, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(2)),
		ALLOW_IF(offsetof(struct pt_regs, orig_rax), 3),
		ALLOW_IF(offsetof(struct pt_regs, rip), 2),
		ALLOW_IF(offsetof(struct pt_regs, r13), 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter_add(code, ARRAY_SIZE(code));
}

static void tracer_main(void *arg)
{
	bool traced;

	(void)arg;
	/*
	 * If vgpud makes no namespaces, only this signal ends the tracer. Otherwise the tracer
	 * ends with the namespace, of which the shadow is the first process. The signal would
	 * come too early there: when the thread that has started the tracer ends, the shadow's
	 * last thread may still be closing files, and the engine takes the end of the socket for
	 * the end of both.
	 */
	if (process != 1)
		sys2(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
	sys2(__NR_prctl, PR_SET_NAME, (long)"vgpu-tracer");
	traced = !sys3(__NR_close_range, 0, ESHADOW_FD_ENGINE - 1, 0) &&
		!sys3(__NR_close_range, ESHADOW_FD_ENGINE + 1, ~0U, 0) &&
		step_await(TRACER_NEW) &&
		!trace(PTRACE_SEIZE, process, 0, PTRACE_O_EXITKILL);
	sys_exit_if(tracer_confine(), SHADOW_EXIT_SECCOMP);
	step_go(TRACER_DONE);
	while (traced && hear())
		;
	sys_exit_group(SHADOW_EXIT_OK);
}

/* Forbids tracing, waiting for processes and making processes to the shadow's own threads. */
static long tracing_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ptrace, 9, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_wait4, 8, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 4, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG(0)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	return filter_add(code, ARRAY_SIZE(code));
}

void tracer_start(void)
{
	u32 expected = TRACER_NEW;
	long tracer;

	process = sys2(__NR_getpid, 0, 0);
	tracer = process_start(tracer_main, stack + sizeof(stack));
	/* Without processes or memory there can be no shadow, either. */
	sys_exit_if(tracer < 0, SHADOW_EXIT_THREAD);
	/* Yama may need this. Without Yama the call fails, which is ignored. */
	sys2(__NR_prctl, PR_SET_PTRACER, tracer);
	/* The tracer may have stopped waiting. */
	if (__atomic_compare_exchange_n(&step, &expected, TRACER_MAY, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		word_wake(&step);
		step_await(TRACER_MAY);
	}
	sys_exit_if(tracing_forbid(), SHADOW_EXIT_SECCOMP);
}
