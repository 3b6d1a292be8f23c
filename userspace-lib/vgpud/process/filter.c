// SPDX-License-Identifier: MIT
/* Filters of system calls of the programs of guests (seccomp). */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include <linux/vgpu_host.h>

#include "process/filter.h"
#include "shadow/layout.h"
#include "shared/proto.h"

static scmp_filter_ctx filter, engine_filters[2], master_filter;

static int allow(int nr)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, nr, 0);
}

static int allow_if(int nr, struct scmp_arg_cmp condition)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, nr, 1, condition);
}

/*
 * Allow what a program needs at its start. execveat() executes the program; by seccomp() the
 * program forbids itself execveat() and seccomp() afterwards (shadow/sys.h). exec makes a
 * process dumpable, and prctl(PR_SET_DUMPABLE, 0) undoes that.
 */
static int allow_start(int program)
{
	int ret = allow_if(SCMP_SYS(execveat), SCMP_A0(SCMP_CMP_EQ, program));

	if (!ret)
		ret = allow(SCMP_SYS(seccomp));
	if (ret)
		return ret;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 2,
				SCMP_A0(SCMP_CMP_EQ, PR_SET_DUMPABLE), SCMP_A1(SCMP_CMP_EQ, 0));
}

/* Calls whose third argument is the protection of memory. PROT_EXEC is never allowed. */
static const int maps[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(pkey_mprotect) };

/*
 * Build the filter of the host module's shadows: the system calls of the files in shadow/, and no
 * others. The module works in a shadow's threads without system calls. After its start a shadow
 * forbids itself mremap(), and mprotect() and pkey_mprotect() of memory outside its reserved range
 * (changes_forbid()).
 */
static int build_filter(void)
{
	static const int plain[] = {
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
	unsigned int i;
	int ret = 0;

	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return -ENOMEM;
	for (i = 0; !ret && i < sizeof(plain) / sizeof(plain[0]); i++)
		ret = allow(plain[i]);
	for (i = 0; !ret && i < sizeof(commands) / sizeof(commands[0]); i++)
		ret = allow_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, commands[i]));
	for (i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
		ret = allow_if(maps[i], SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* Threads may be made, but no processes. */
	if (!ret)
		ret = allow_if(SCMP_SYS(clone),
			       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (!ret)
		ret = allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	return ret ? ret : allow_start(SHADOW_FD_PROGRAM);
}

/*
 * System calls of engines and their shadows. A shadow runs the guest's calls as system calls of
 * its own, so it may open, map and use ioctl() on any device that it is given.
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
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(kcmp), SCMP_SYS(ioctl),
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
static int allow_compat_ioctl(scmp_filter_ctx to)
{
	scmp_filter_ctx compat = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ret;

	if (!compat)
		return -ENOMEM;
	ret = seccomp_arch_remove(compat, SCMP_ARCH_NATIVE);
	if (!ret)
		ret = seccomp_arch_add(compat, SCMP_ARCH_X86);
	if (!ret)
		ret = seccomp_rule_add(compat, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 0);
	/* seccomp_merge() takes over @compat if it succeeds. */
	if (!ret)
		ret = seccomp_merge(to, compat);
	if (ret)
		seccomp_release(compat);
	return ret;
}

/*
 * Allow a shadow to start its tracer. Shadow and tracer later forbid themselves the calls that
 * they do not need any more (engine/shadow/thread/tracer.c).
 */
static int allow_tracer(void)
{
	static const int requests[] = {
		PTRACE_SEIZE, PTRACE_GETREGS, PTRACE_POKEUSER, PTRACE_CONT, PTRACE_LISTEN,
	};
	unsigned int i;
	int ret;

	ret = allow_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_EQ, CLONE_VM | SIGCHLD));
	for (i = 0; !ret && i < sizeof(requests) / sizeof(requests[0]); i++)
		ret = allow_if(SCMP_SYS(ptrace), SCMP_A0(SCMP_CMP_EQ, requests[i]));
	if (!ret)
		ret = allow(SCMP_SYS(wait4));
	if (!ret)
		ret = allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_PTRACER));
	if (ret)
		return ret;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 2,
				SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG),
				SCMP_A1(SCMP_CMP_EQ, SIGKILL));
}

static int build_engine_filters(void)
{
	static const int programs[] = { ENGINE_FD_PROGRAM, ESHADOW_FD_PROGRAM };
	scmp_filter_ctx shadow = filter;
	unsigned int i, kind;
	int ret = 0;

	for (kind = 0; !ret && kind < 2; kind++) {
		filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
		if (!filter)
			return -ENOMEM;
		engine_filters[kind] = filter;
		for (i = 0; !ret && i < sizeof(engine_calls) / sizeof(engine_calls[0]); i++)
			ret = allow(engine_calls[i]);
		/*
		 * No memory becomes executable, and no process is made except a shadow's
		 * tracer.
		 */
		for (i = 0; !ret && i < sizeof(maps) / sizeof(maps[0]); i++)
			ret = allow_if(maps[i], SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
		if (!ret)
			ret = allow_if(SCMP_SYS(clone),
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
		/*
		 * A filter cannot see clone3()'s flags, which are in memory. libc falls back to
		 * clone().
		 */
		if (!ret)
			ret = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
		if (!ret)
			ret = allow_if(SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
		if (!ret)
			ret = allow_start(programs[kind]);
		if (!ret && programs[kind] == ESHADOW_FD_PROGRAM)
			ret = allow_tracer();
	}
	if (!ret)
		ret = allow_compat_ioctl(engine_filters[1]);
	filter = shadow;
	return ret;
}

/*
 * Build the filter of vgpu-engine-master, which makes two ioctls on files that the engine
 * sends.
 */
static int build_master_filter(void)
{
	static const int plain[] = {
		SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(fstat), SCMP_SYS(close),
		SCMP_SYS(exit_group),
	};
	static const unsigned long commands[] = { MASTER_SET, MASTER_DROP };
	scmp_filter_ctx shadow = filter;
	unsigned int i;
	int ret = 0;

	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return -ENOMEM;
	master_filter = filter;
	for (i = 0; !ret && i < sizeof(plain) / sizeof(plain[0]); i++)
		ret = allow(plain[i]);
	for (i = 0; !ret && i < sizeof(commands) / sizeof(commands[0]); i++)
		ret = allow_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, commands[i]));
	if (!ret)
		ret = allow_start(MASTER_FD_PROGRAM);
	filter = shadow;
	return ret;
}

static scmp_filter_ctx filter_of(enum spawn_kind kind)
{
	switch (kind) {
	case SPAWN_SHADOW:
		return filter;
	case SPAWN_MASTER:
		return master_filter;
	default:
		return engine_filters[kind == SPAWN_ENGINE_SHADOW];
	}
}

int filters_init(bool engines)
{
	int ret = build_filter();

	/* Keepers use the filter of engines, also beside the host module. */
	if (!ret)
		ret = build_engine_filters();
	return ret || !engines ? ret : build_master_filter();
}

int filter_load(enum spawn_kind kind)
{
	scmp_filter_ctx its = filter_of(kind);

	return its ? seccomp_load(its) : -EINVAL;
}
