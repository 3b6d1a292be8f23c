/* SPDX-License-Identifier: MIT */
/* Filters of system calls by which shadows, engines and their helpers confine themselves. */
#ifndef VGPU_SHADOW_EXEC_H
#define VGPU_SHADOW_EXEC_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "shadow/sys.h"

/* Add a filter, which threads inherit. Return: 0, or a negative errno. */
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

#endif /* VGPU_SHADOW_EXEC_H */
