/* SPDX-License-Identifier: MIT */
/* System calls of x86-64 without a libc. They return the result or a negative errno. */
#ifndef VGPU_SHADOW_SYS_H
#define VGPU_SHADOW_SYS_H

#include <asm/unistd.h>

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

/* End the program with a status if something that it cannot do without has failed. */
static inline void sys_exit_if(_Bool failed, int status)
{
	if (failed)
		sys_exit_group(status);
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

#endif /* VGPU_SHADOW_SYS_H */
