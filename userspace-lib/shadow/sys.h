/* SPDX-License-Identifier: MIT */
/*
 * System calls of x86-64 without a libc, which return the result or a negative errno, and seccomp
 * filters by which programs forbid system calls to themselves.
 */
#ifndef VGPU_SHADOW_SYS_H
#define VGPU_SHADOW_SYS_H

#include <asm/unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long sys4(long nr, long a, long b, long c, long d)
{
	return sys6(nr, a, b, c, d, 0, 0);
}

static inline long sys3(long nr, long a, long b, long c)
{
	return sys6(nr, a, b, c, 0, 0, 0);
}

static inline long sys2(long nr, long a, long b)
{
	return sys6(nr, a, b, 0, 0, 0, 0);
}

static inline _Noreturn void sys_exit_group(int status)
{
	for (;;)
		sys2(__NR_exit_group, status, 0);
}

/* End the program with @status if @failed: something has failed that the program needs. */
static inline void sys_exit_if(_Bool failed, int status)
{
	if (failed)
		sys_exit_group(status);
}

/* Say that this program is not for people, and end: only vgpud gives it the files that it needs. */
static inline _Noreturn void sys_end_by_hand(void)
{
	static const char words[] =
		"only vgpud starts this program: run 'systemctl start vgpud'\n";

	sys3(__NR_write, 2, (long)words, sizeof(words) - 1);
	sys_exit_group(2);
}

static inline long sys_mmap(unsigned long addr, unsigned long len, int prot, int flags, int fd,
			    unsigned long offset)
{
	return sys6(__NR_mmap, addr, len, prot, flags, fd, offset);
}

/* Check the result of mmap(), which is an address or a negative errno. */
static inline int sys_is_error(long ret)
{
	return (unsigned long)ret >= -4095UL;
}

/* Add a seccomp filter, which threads inherit. Return: 0, or a negative errno. */
static inline int filter_add(struct sock_filter *code, unsigned short len)
{
	struct sock_fprog prog = { .len = len, .filter = code };

	return sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog);
}

/*
 * Forbid execveat(), and seccomp() that could add filters. vgpud's filter allows both, because
 * it is in force before exec. Threads inherit the filter. Return: 0, or a negative errno.
 */
static inline int exec_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execveat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_seccomp, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	return filter_add(code, sizeof(code) / sizeof(code[0]));
}

#endif /* VGPU_SHADOW_SYS_H */
