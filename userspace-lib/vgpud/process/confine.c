// SPDX-License-Identifier: MIT
/*
 * Confinement of the programs of guests: seccomp filters, namespaces, resource limits, users
 * and capabilities.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/vgpu_host.h>

#include "config/config.h"
#include "config/room.h"
#include "engine/proto.h"
#include "process/confine.h"
#include "process/sandbox.h"
#include "shadow/layout.h"
#include "shared/log.h"

/* Empty directory that becomes the root of a guest's programs. */
#define EMPTY_DIR	"/run/vgpu/empty"

/*
 * Number of threads of a shadow beside its lanes: the main thread, the service thread (host
 * module) or the pager and the tracer (engine), and some to spare while lanes come and go.
 */
#define EXTRA_THREADS	16

static scmp_filter_ctx filter, engine_filters[2], master_filter;
static bool has_keys;

/* --- system calls --------------------------------------------------------- */

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
 * program forbids itself execveat() and seccomp() afterwards (shadow/exec.h). exec makes a
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
 * Build the filter of the host module's shadows: the system calls of shadow/main.c,
 * shadow/lane.c and shadow/keys.c, and no others. The module works in a shadow's threads
 * without system calls. After its start a shadow forbids itself mremap(), and mprotect() and
 * pkey_mprotect() of memory outside its reserved range (changes_forbid()).
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

/* --- namespaces ----------------------------------------------------------- */

static const struct {
	const char *path;
	int flag;
} kinds[SANDBOX_NAMESPACES] = {
	{ "/proc/self/ns/net", CLONE_NEWNET },
	{ "/proc/self/ns/ipc", CLONE_NEWIPC },
	{ "/proc/self/ns/uts", CLONE_NEWUTS },
};

static int open_all(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		namespaces[i] = open(kinds[i].path, O_RDONLY | O_CLOEXEC);
		if (namespaces[i] < 0)
			return -errno;
	}
	return 0;
}

static int enter_all(const int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++)
		if (setns(namespaces[i], kinds[i].flag))
			return -errno;
	return 0;
}

void confine_namespaces_close(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		if (namespaces[i] >= 0)
			close(namespaces[i]);
		namespaces[i] = -1;
	}
}

/*
 * Make the guest's namespaces: vgpud enters new ones, opens them, and returns to its own. This
 * makes one set for each guest, not for each shadow. Sockets that are open stay in the
 * namespace in which they were made.
 */
int confine_namespaces_open(int *namespaces)
{
	int home[SANDBOX_NAMESPACES] = { -1, -1, -1 };
	int ret;

	if (!settings.namespaces || namespaces[0] >= 0)
		return 0;
	ret = open_all(home);
	if (ret)
		goto out_close;
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)) {
		ret = -errno;
		goto out_close;
	}
	ret = open_all(namespaces);
	if (enter_all(home)) {
		/* vgpud may be left in some of the guest's namespaces: it cannot go on. */
		log_error("cannot return to my own namespaces: %s", strerror(errno));
		abort();
	}
	if (ret)
		confine_namespaces_close(namespaces);

out_close:
	confine_namespaces_close(home);
	return ret;
}

int confine_enter(const struct sandbox *sandbox)
{
	int ret;

	if (settings.namespaces) {
		ret = enter_all(sandbox->namespaces);
		if (ret)
			return ret;
		/* MS_SLAVE: file systems that the host unmounts are unmounted here, too. */
		if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
			return -errno;
	}
	if (chroot(EMPTY_DIR) || chdir("/"))
		return -errno;
	return 0;
}

/* --- the process ---------------------------------------------------------- */

/**
 * struct limit - a limit of a process
 * @what: number of the limit, RLIMIT_*
 * @value: value of the limit
 * @means: name of what is limited, for messages
 * @setting: name of the setting in [limits] that determines @value; NULL: none does
 */
struct limit {
	int what;
	rlim_t value;
	const char *means;
	const char *setting;
};

#define LIMITS	5

/* Fill in @limits. Return: the number of entries. */
static unsigned int limits_of(enum spawn_kind kind, struct limit limits[LIMITS])
{
	const rlim_t page = 4096;
	/* RLIMIT_NPROC counts by user: all shadows of the guest together, including zombies. */
	rlim_t threads = (rlim_t)settings.limits.sessions *
		(settings.limits.lanes + EXTRA_THREADS) + room_zombies(&settings.limits, settings.session_rate);
	unsigned int nr = 0;

	limits[nr++] = (struct limit) { RLIMIT_CORE, 0, "core dumps", NULL };
	limits[nr++] = (struct limit) { RLIMIT_NOFILE, room_files(&settings.limits, kind), "open files",
		kind == SPAWN_KEEPER || kind == SPAWN_MASTER ? NULL : "objects" };
	/* Secret memory counts as locked memory, and each page is mapped twice. */
	if (kind == SPAWN_ENGINE_SHADOW)
		limits[nr++] = (struct limit) { RLIMIT_MEMLOCK,
			(2 * (rlim_t)settings.limits.pages + 256) * page,
			"bytes of locked memory", "pages" };
	limits[nr++] = (struct limit) { RLIMIT_NPROC, threads, "threads", "sessions" };
	/* A shadow maps memory anywhere in the address space of the guest process. */
	limits[nr++] = (struct limit) { RLIMIT_AS, RLIM_INFINITY, "address space", NULL };
	return nr;
}

static int set_limits(enum spawn_kind kind)
{
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, limits);

	for (i = 0; i < nr; i++) {
		const struct rlimit rlimit = { limits[i].value, limits[i].value };

		if (setrlimit(limits[i].what, &rlimit))
			return -errno;
	}
	return 0;
}

/*
 * Check that a child can have the limit. Without CAP_SYS_RESOURCE vgpud cannot raise its own
 * hard limit.
 */
static int check_limit(const struct limit *limit)
{
	struct rlimit have;
	rlim_t hard;

	if (getrlimit(limit->what, &have))
		return -errno;
	hard = have.rlim_max;
	if (hard >= limit->value)
		return 0;
	have.rlim_max = limit->value;
	if (!setrlimit(limit->what, &have))
		return 0;
	log_error("programs of guests need room for %llu %s, and vgpud has %llu and may not raise that (CAP_SYS_RESOURCE): give it more%s%s%s",
		  (unsigned long long)limit->value, limit->means, (unsigned long long)hard,
		  limit->setting ? ", or lower '" : "", limit->setting ? limit->setting : "",
		  limit->setting ? "' in [limits]" : "");
	return -EPERM;
}

static int check_limits_of(enum spawn_kind kind)
{
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, limits);
	int ret = 0;

	for (i = 0; !ret && i < nr; i++)
		ret = check_limit(&limits[i]);
	return ret;
}

static int check_limits(bool engines)
{
	int ret = check_limits_of(engines ? SPAWN_ENGINE : SPAWN_SHADOW);

	if (!ret && engines)
		ret = check_limits_of(SPAWN_ENGINE_SHADOW);
	return ret ? ret : check_limits_of(SPAWN_KEEPER);
}

static int drop_capabilities(enum spawn_kind kind)
{
	int cap;

	for (cap = 0; ; cap++) {
		if (cap == CAP_SYS_ADMIN && kind == SPAWN_MASTER)
			continue;
		/* EINVAL: the number is above the last capability that this kernel knows. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return errno == EINVAL ? 0 : -errno;
	}
}

/* Keep CAP_SYS_ADMIN alone. The capability must be ambient, or exec would drop it. */
static int keep_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		[CAP_TO_INDEX(CAP_SYS_ADMIN)] = {
			.effective = CAP_TO_MASK(CAP_SYS_ADMIN),
			.permitted = CAP_TO_MASK(CAP_SYS_ADMIN),
			.inheritable = CAP_TO_MASK(CAP_SYS_ADMIN),
		},
	};

	if (syscall(SYS_capset, &header, data) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0))
		return -errno;
	return 0;
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

/*
 * Change user and groups by plain system calls. glibc's functions would do so in all threads,
 * and in a forked child glibc's list of threads is still vgpud's: the child would wait for ever
 * for a thread that was about to start (setxid_mark_thread() in nptl_setxid.c).
 */
static int become_user(const struct sandbox *sandbox)
{
	/* A change from user 0 clears all capability sets, unless PR_SET_KEEPCAPS is set. */
	if (syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, settings.gid, settings.gid, settings.gid) ||
	    syscall(SYS_setresuid, sandbox->uid, sandbox->uid, sandbox->uid))
		return -errno;
	return 0;
}

int confine_self(const struct sandbox *sandbox, enum spawn_kind kind, const char **step)
{
	scmp_filter_ctx its = filter_of(kind);
	int ret;

	*step = "limits";
	ret = set_limits(kind);
	if (ret)
		return ret;

	*step = "capabilities";
	ret = drop_capabilities(kind);
	if (ret)
		return ret;
	if (kind == SPAWN_MASTER && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;

	*step = "user";
	ret = become_user(sandbox);
	if (ret)
		return ret;
	if (kind == SPAWN_MASTER) {
		*step = "CAP_SYS_ADMIN";
		ret = keep_admin();
		if (ret)
			return ret;
	}

	/*
	 * If vgpud ended before the next call, no process holds the other end of the socket for
	 * lanes, and the program ends by itself.
	 */
	*step = "parent death signal";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	*step = "no new privileges";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	*step = "system call filter";
	return its ? seccomp_load(its) : -EINVAL;
}

/* --- initialisation ------------------------------------------------------- */

/* Check for protection keys, as shadows do at their start. */
static void look_for_keys(void)
{
	int key = pkey_alloc(0, 0);

	has_keys = key >= 0;
	if (has_keys)
		pkey_free(key);
}

bool confine_has_keys(void)
{
	return has_keys;
}

int confine_init(bool engines)
{
	int ret;

	look_for_keys();
	ret = check_limits(engines);
	if (ret)
		return ret;
	if (mkdir(EMPTY_DIR, 0555) && errno != EEXIST) {
		log_error("%s: %s", EMPTY_DIR, strerror(errno));
		return -errno;
	}
	ret = build_filter();
	/* Keepers use the filter of engines, also beside the host module. */
	if (!ret)
		ret = build_engine_filters();
	return ret || !engines ? ret : build_master_filter();
}
