/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory functions of the kernel that the marshaller uses, for programs that run the
 * marshaller in user space. The program itself defines the functions that access the caller's
 * memory.
 */
#ifndef VGPU_MARSHAL_USER_H
#define VGPU_MARSHAL_USER_H

#include <stdlib.h>
#include "wire_user.h"

#define GFP_KERNEL_ACCOUNT	0

#ifndef READ_ONCE
#define READ_ONCE(x)		(x)	/* tests have one thread */
#define WRITE_ONCE(x, v)	((x) = (v))
#endif

#define u64_to_user_ptr(x)	((void *)(uintptr_t)(x))

/* The program defines this function and those below that have no body. */
u64 ktime_get_ns(void);

unsigned long copy_from_user(void *to, const void *from, unsigned long n);
unsigned long copy_to_user(void *to, const void *from, unsigned long n);
bool access_ok(const void *addr, unsigned long n);
bool vgpu_user_may_write(u64 addr);

/* A variable, so that a test can make the n-th allocation fail. */
extern long vgpu_user_alloc_fail;

static inline void *kvmalloc(size_t size, int flags)
{
	if (vgpu_user_alloc_fail && !--vgpu_user_alloc_fail)
		return NULL;
	return malloc(size);
}

static inline void kvfree(void *p)
{
	free(p);
}

#endif /* VGPU_MARSHAL_USER_H */
