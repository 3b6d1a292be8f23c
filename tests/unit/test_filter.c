// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the filters of system calls (userspace-lib/vgpud/process/filter.c): what the programs of
 * guests may ask of sockets, and which memory they may map.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "vgpud/process/filter.h"

/* Numbers of system calls by the entry for 32-bit programs. */
#define NR32_GETPID	20
#define NR32_IOCTL	54
/* Exit status of a child that could not load its filter. */
#define NO_FILTER	255

static const enum spawn_kind kinds[] = { SPAWN_ENGINE, SPAWN_KEEPER, SPAWN_ENGINE_SHADOW };
static const char *const names[SPAWN_KINDS] = {
	[SPAWN_SHADOW] = "the module's shadow", [SPAWN_ENGINE] = "an engine",
	[SPAWN_KEEPER] = "a keeper", [SPAWN_ENGINE_SHADOW] = "an engine's shadow",
};

/* Return: the result of the call, or a negative errno. */
static long call64(long nr, long a, long b, long c)
{
	long ret = syscall(nr, a, b, c);

	return ret < 0 ? -errno : ret;
}

/* Makes a system call by the entry for 32-bit programs. Return: as call64(). */
static long call32(long nr, long a, long b, long c)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "r8", "r9", "r10", "r11", "cc", "memory");
	return ret;
}

/*
 * Runs @fn in a child under a filter. @fn returns an exit status. Return: this status, or minus the
 * signal that ended the child.
 */
static int under(enum spawn_kind kind, int (*fn)(long arg), long arg)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(kind))
			_exit(NO_FILTER);
		/* ASan makes a forbidden system call before a function that does not return. */
		syscall(SYS_exit_group, fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return NO_FILTER;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Makes ioctls of each type on no file. Return: 0, or a type whose error is wrong. */
static int ask_types(long is_32_bit)
{
	unsigned int type;
	long error;

	for (type = 1; type < 256; type++) {
		error = is_32_bit ? call32(NR32_IOCTL, -1, type << 8 | 0x12, 0) :
			call64(SYS_ioctl, -1, type << 8 | 0x12, 0);
		if (error != (type == 0x89 || type == 0x8b ? -ENOTTY : -EBADF))
			return type;
	}
	return 0;
}

static int ask_native(long command)
{
	return -call64(SYS_ioctl, -1, command, 0);
}

static bool has_32_bit(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* Without the entry the signal comes, which ASan would report. */
		signal(SIGSEGV, SIG_DFL);
		_exit(call32(NR32_GETPID, 0, 0, 0) != getpid());
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* A socket's ioctls wait, with locks of the host's network held, for memory of the caller. */
static void test_sockets(void)
{
	/* The kernel takes the lower half of a command only. Size and direction may vary. */
	static const long commands[] = {
		0x8912, 0x8946, 0x89f0, 0x89e0, 0x8b01, 0x8bff, 0x100008912, 0x40048912,
	};
	size_t i, j;
	int type;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		type = under(kinds[i], ask_types, false);
		tap_expect(type == 0, "%s: type 0x%x", names[kinds[i]], type);
		for (j = 0; j < sizeof(commands) / sizeof(commands[0]); j++)
			tap_expect(under(kinds[i], ask_native, commands[j]) == ENOTTY,
				   "%s: command 0x%lx is not refused", names[kinds[i]],
				   commands[j]);
	}
	tap_expect(under(SPAWN_SHADOW, ask_native, commands[0]) == -SIGSYS,
		   "the module's shadow asks a socket");
	tap_subject("no ioctls of sockets");
}

static void test_sockets_32_bit(void)
{
	bool has = has_32_bit();
	int type = has ? under(SPAWN_ENGINE_SHADOW, ask_types, true) : 0;

	/* Some kernels have no such entry. */
	tap_expect(type == 0, "an engine's shadow: type 0x%x", type);
	tap_expect(!has || under(SPAWN_ENGINE, ask_types, true) == -SIGSYS,
		   "an engine makes 32-bit calls");
	tap_subject("no ioctls of sockets by the entry for 32-bit programs");
}

/* Maps memory by the system call alone, as ASan makes others for mmap(). Return: 0 or 1. */
static int map(long flags)
{
	return syscall(SYS_mmap, NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
		       0) < 0;
}

/* Huge pages do not count as memory of a control group. */
static void test_huge_pages(void)
{
	static const long flags[] = { MAP_HUGETLB, MAP_HUGETLB | 21 << 26, MAP_HUGETLB | 30 << 26 };
	unsigned int kind;
	size_t i;

	for (kind = 0; kind < SPAWN_KINDS; kind++) {
		if (!names[kind])
			continue;
		tap_expect(under(kind, map, 0) == 0, "%s maps no memory", names[kind]);
		for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			tap_expect(under(kind, map, flags[i]) == -SIGSYS,
				   "%s may map huge pages, flags 0x%lx", names[kind], flags[i]);
	}
	tap_subject("no huge pages");
}

int main(void)
{
	if (filters_init(true))
		return EXIT_FAILURE;
	test_sockets();
	test_sockets_32_bit();
	test_huge_pages();
	return tap_done();
}
