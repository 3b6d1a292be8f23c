// SPDX-License-Identifier: MIT
/* Filters of system calls of the programs of guests (seccomp). */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "process/filter.h"
#include "shadow/layout.h"
#include "shared/proto.h"

/* Filters by the kind of program; keepers have the filter of engines. */
static scmp_filter_ctx filters[SPAWN_KINDS];
/* Filter that is being built, and the first error in building filters; 0: none. */
static scmp_filter_ctx filter;
static int error;

static void allow(int call)
{
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
}

static void allow_all(const int *calls, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		allow(calls[i]);
}

static void allow_if(int call, struct scmp_arg_cmp condition)
{
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, condition);
}

static void allow_prctl(int option, unsigned long value)
{
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 2,
					 SCMP_A0(SCMP_CMP_EQ, option),
					 SCMP_A1(SCMP_CMP_EQ, value));
}

static void allow_ioctls(const unsigned long *commands, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		allow_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, commands[i]));
}

/*
 * Ioctls of sockets, of types 0x89 and 0x8b: the bits of their commands that all of them share, and
 * the value of these bits. No device that vgpud knows has ioctls of these types.
 */
#define SOCKET_BITS	0xfd00U
#define SOCKET_IOCTLS	0x8900U

/*
 * Allow ioctl(), but let those of sockets fail as they do on files that have none. They reach the
 * network namespace in which a socket was made, which is the host's. Some of them wait, with the
 * lock of all network namespaces (RTNL) held, for memory of the calling process, which the process
 * may withhold (userfaultfd).
 */
static int allow_device_ioctls(scmp_filter_ctx ctx)
{
	unsigned int bit;
	int ret;

	ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 1,
			       SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_BITS, SOCKET_IOCTLS));
	/* A command that differs in one of the bits is allowed. */
	for (bit = 1; !ret && bit <= SOCKET_BITS; bit <<= 1)
		if (bit & SOCKET_BITS)
			ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
					       SCMP_A1(SCMP_CMP_MASKED_EQ, bit,
						       ~SOCKET_IOCTLS & bit));
	return ret;
}

/*
 * Begin a filter with the system calls that a program needs at its start. execveat() executes the
 * program, whose file is @program. By seccomp() the program then forbids itself execveat() and
 * seccomp() (exec_forbid()). exec makes a process dumpable, and prctl(PR_SET_DUMPABLE, 0) undoes
 * that.
 */
static void filter_begin(enum spawn_kind kind, int program)
{
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	filters[kind] = filter;
	if (!filter && !error)
		error = -ENOMEM;
	allow_if(SCMP_SYS(execveat), SCMP_A0(SCMP_CMP_EQ, program));
	allow(SCMP_SYS(seccomp));
	allow_prctl(PR_SET_DUMPABLE, 0);
}

/* Allow memory that does not become executable, and threads with names, but no processes. */
static void allow_threads(void)
{
	/* The third argument of these calls is the protection of the memory. */
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);

	allow_if(SCMP_SYS(mprotect), no_code);
	allow_if(SCMP_SYS(pkey_mprotect), no_code);
	/* Pages of hugetlbfs do not count as memory of a control group, unless the host has so. */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_code,
					 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, 0));
	allow_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
}

/*
 * Build the filter of the host module's shadows: the system calls of the files in shadow/, and no
 * others. The module works in a shadow's threads without system calls. After its start a shadow
 * forbids itself mremap(), and mprotect() and pkey_mprotect() of memory outside its reserved range
 * (changes_forbid() in shadow/main.c).
 */
static void build_shadow(void)
{
	static const int calls[] = {
		SCMP_SYS(munmap), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup3),
		SCMP_SYS(eventfd2),
		SCMP_SYS(recvmsg), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
		SCMP_SYS(exit_group), SCMP_SYS(getrandom), SCMP_SYS(pkey_alloc),
		SCMP_SYS(mremap),
	};
	static const unsigned long commands[] = {
		VGPU_SHADOW_LANE, VGPU_SHADOW_SERVICE, VGPU_LANE_SERVE,
	};

	filter_begin(SPAWN_SHADOW, SHADOW_FD_PROGRAM);
	allow_all(calls, sizeof(calls) / sizeof(calls[0]));
	allow_ioctls(commands, sizeof(commands) / sizeof(commands[0]));
	allow_threads();
}

/*
 * System calls of engines and their shadows, besides ioctl(). A shadow runs the guest's calls as
 * system calls of its own, so it may open, map and use ioctl() on any device that it is given.
 */
static const int engine_calls[] = {
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
	SCMP_SYS(lseek), SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(dup3),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs),
	SCMP_SYS(readlinkat), SCMP_SYS(readlink), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2),
	SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto),
	SCMP_SYS(shutdown), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(clock_gettime), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(tgkill), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(kcmp),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
	SCMP_SYS(arch_prctl), SCMP_SYS(prlimit64), SCMP_SYS(getrandom), SCMP_SYS(uname),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(ftruncate), SCMP_SYS(memfd_secret),
	SCMP_SYS(getrlimit), SCMP_SYS(signalfd4), SCMP_SYS(close_range),
	SCMP_SYS(sigaltstack), SCMP_SYS(pkey_alloc),
};

/*
 * Allow ioctl() by the entry for 32-bit programs, by which a shadow runs the ioctls of a 32-bit
 * program. No other call is allowed by that entry.
 */
static int compat_ioctl(void)
{
	scmp_filter_ctx compat = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ret;

	if (!compat)
		return -ENOMEM;
	ret = seccomp_arch_remove(compat, SCMP_ARCH_NATIVE);
	if (!ret)
		ret = seccomp_arch_add(compat, SCMP_ARCH_X86);
	if (!ret)
		ret = allow_device_ioctls(compat);
	/* seccomp_merge() takes over @compat if it succeeds. */
	if (!ret)
		ret = seccomp_merge(filter, compat);
	if (ret)
		seccomp_release(compat);
	return ret;
}

/*
 * Allow a shadow to start its tracer. Shadow and tracer later forbid themselves the calls that
 * they do not need any more (engine/shadow/thread/tracer.c).
 */
static void allow_tracer(void)
{
	static const int requests[] = {
		PTRACE_SEIZE, PTRACE_GETREGS, PTRACE_POKEUSER, PTRACE_CONT, PTRACE_LISTEN,
	};
	size_t i;

	allow_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_EQ, CLONE_VM | SIGCHLD));
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		allow_if(SCMP_SYS(ptrace), SCMP_A0(SCMP_CMP_EQ, requests[i]));
	allow(SCMP_SYS(wait4));
	allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_PTRACER));
	allow_prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Build the filter of engines or of their shadows. */
static void build_engine(enum spawn_kind kind, int program)
{
	filter_begin(kind, program);
	allow_all(engine_calls, sizeof(engine_calls) / sizeof(engine_calls[0]));
	if (!error)
		error = allow_device_ioctls(filter);
	allow_threads();
	/*
	 * A filter cannot see clone3()'s flags, which are in memory. libc falls back to
	 * clone().
	 */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (kind == SPAWN_ENGINE)
		return;
	allow_tracer();
	if (!error)
		error = compat_ioctl();
}

/*
 * Build the filter of vgpu-engine-master, which makes two ioctls on files that the engine
 * sends.
 */
static void build_master(void)
{
	static const int calls[] = {
		SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(fstat), SCMP_SYS(close),
		SCMP_SYS(exit_group),
	};
	static const unsigned long commands[] = { MASTER_SET, MASTER_DROP };

	filter_begin(SPAWN_MASTER, MASTER_FD_PROGRAM);
	allow_all(calls, sizeof(calls) / sizeof(calls[0]));
	allow_ioctls(commands, sizeof(commands) / sizeof(commands[0]));
}

int filters_init(bool engines)
{
	build_shadow();
	build_engine(SPAWN_ENGINE, ENGINE_FD_PROGRAM);
	/* Keepers use the filter of engines, also beside the host module. */
	filters[SPAWN_KEEPER] = filters[SPAWN_ENGINE];
	build_engine(SPAWN_ENGINE_SHADOW, ESHADOW_FD_PROGRAM);
	if (engines)
		build_master();
	return error;
}

int filter_load(enum spawn_kind kind)
{
	return filters[kind] ? seccomp_load(filters[kind]) : -EINVAL;
}
