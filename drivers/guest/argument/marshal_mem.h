/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers that the parts of the marshaller share, and the functions that add to a call. Private
 * to marshal*.c.
 *
 * Functions that add something return 0 or an index, or
 * -EFAULT, -E2BIG: the memory cannot be sent along (unreadable memory, a limit of the host);
 *	nothing was added, and the pointer is left to demand paging;
 * -ENOMEM: the ioctl fails.
 */
#ifndef VGPU_MARSHAL_MEM_H
#define VGPU_MARSHAL_MEM_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

/*
 * Return: true if the byte at @addr can be written. The byte does not change, even if another
 * thread writes to it at the same time: cmpxchg needs a writable page even if it stores
 * nothing.
 */
static inline bool vgpu_user_may_write(u64 addr)
{
	u8 __user *p = u64_to_user_ptr(addr);
	u8 old = 0;

	return access_ok(p, 1) && __try_cmpxchg_user(p, &old, (u8)0, fault) >= 0;
}
#else
#include "argument/marshal_user.h"
#endif
#include "argument/marshal.h"

/* An fd that no process has: the driver gets this number for an fd that is not open. */
#define VGPU_MARSHAL_NO_FD	0x7fffffff

/* Size of the longest time field: two integers of 8 bytes. */
#define VGPU_MARSHAL_STAMP	16

/* Size of the number of a device file: a major and a minor number. */
#define VGPU_MARSHAL_RDEV	(2 * sizeof(u32))

/* Add a segment for the @len bytes at @addr; the bytes are copied if @dir has VGPU_IN. */
int vgpu_marshal_seg_add(struct vgpu_marshal *m, u64 addr, u32 len, u8 dir);
/* Extend the last segment, an IN segment, by @len bytes; @dir is the direction of all of it. */
int vgpu_marshal_seg_extend(struct vgpu_marshal *m, u32 len, u8 dir);
/* Remove the last segment. */
void vgpu_marshal_seg_drop(struct vgpu_marshal *m);
/* Add a PAGE segment: a page at its own address. */
int vgpu_marshal_page_add(struct vgpu_marshal *m, u64 addr);
/*
 * Add a KEPT segment for [@addr, @addr + @len), whose pages @kept describes and which overlaps
 * no other KEPT segment. Return: 0, -ENOSPC: the call has too many KEPT segments, or no room
 * for the runs, -ENOMEM. The ioctl fails with the error.
 */
int vgpu_marshal_kept_add(struct vgpu_marshal *m, u64 addr, u64 len, bool write,
			  const struct vgpu_marshal_kept *kept);
/*
 * Find the next part [*@addr, *@gap) of [*@addr, @end) that is in no KEPT segment. Return:
 * false if there is none.
 */
bool vgpu_marshal_kept_gap(const struct vgpu_marshal *m, u64 *addr, u64 end, u64 *gap);

int vgpu_marshal_fixup_add(struct vgpu_marshal *m, u16 type, u16 seg, u32 offset, u32 target,
			   u32 target_offset);
int vgpu_marshal_held_add(struct vgpu_marshal *m, const struct vgpu_marshal_held *held);
/* Return: true if the reply has room for another object. */
bool vgpu_marshal_object_fits(const struct vgpu_marshal *m);

/* Return: true if @value fulfils the condition. */
static inline bool vgpu_marshal_when(const struct vgpu_schema_when *when, u64 value)
{
	value &= when->mask;
	return when->least ? value >= when->value : value == when->value;
}

/*
 * Process ids on the host: that of the shadow, which is the first process of its pid namespace,
 * and one that no process has.
 */
#define VGPU_MARSHAL_SHADOW	1
#define VGPU_MARSHAL_NOBODY	0x7fffffff

#endif /* VGPU_MARSHAL_MEM_H */
