/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel names in user space, for the sources that compile in both (the codec, the schema
 * tables and the marshaller).
 */
#ifndef VGPU_WIRE_USER_H
#define VGPU_WIRE_USER_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <asm/byteorder.h>
#include <linux/types.h>
#include <linux/vgpu_wire.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S32_MAX		INT32_MAX
#define S64_MAX		INT64_MAX

#define MAX_ERRNO	4095

#ifndef SEEK_MAX
#define SEEK_MAX	4	/* SEEK_HOLE */
#endif

#define __force
#define __user
#define fallthrough	__attribute__((__fallthrough__))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_USEC	1000L
#define USEC_PER_SEC	1000000L
#define NSEC_PER_SEC	1000000000L
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))

#define ALIGN(x, a)		({ __typeof__(x) _m = (a) - 1; ((x) + _m) & ~_m; })

#define min(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))

#define clamp(x, low, high)	min(max(x, low), high)

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)

#define hweight64(w)	((unsigned int)__builtin_popcountll(w))

#define cond_resched()	do { } while (0)

#define le16_to_cpu	__le16_to_cpu
#define le32_to_cpu	__le32_to_cpu
#define le64_to_cpu	__le64_to_cpu
#define cpu_to_le16	__cpu_to_le16
#define cpu_to_le32	__cpu_to_le32
#define cpu_to_le64	__cpu_to_le64

#endif /* VGPU_WIRE_USER_H */
