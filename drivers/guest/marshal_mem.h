/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the marshaller share. Private to marshal*.c.
 *
 * Functions that add something return 0 or an index, or
 *  -EFAULT, -E2BIG: cannot be sent along (memory that cannot be read, a limit of
 *	the host); nothing was added, and the pointer is left to demand paging;
 *  -ENOMEM: the ioctl fails.
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
#include <linux/string.h>
#include <linux/uaccess.h>

/*
 * Can the byte be written? It stays as it is, whoever writes it meanwhile: the instruction
 * wants a page that may be written to also where it then writes nothing.
 */
static inline bool vgpu_user_may_write(u64 addr)
{
	u8 __user *p = u64_to_user_ptr(addr);
	u8 old = 0;

	return access_ok(p, 1) && __try_cmpxchg_user(p, &old, (u8)0, fault) >= 0;
}
#else
#include "marshal_user.h"
#endif
#include "marshal.h"

/* An fd that no process has: what the driver gets for one that is not open. */
#define VGPU_MARSHAL_NO_FD	0x7fffffff

/* The longest place of a time: two integers of 8 bytes. */
#define VGPU_MARSHAL_STAMP	16

/* A device file's number has a major and a minor one. */
#define VGPU_MARSHAL_RDEV	(2 * sizeof(u32))

/* A segment that holds the @len bytes at @addr, if @dir has VGPU_IN. */
int vgpu_marshal_seg_add(struct vgpu_marshal *m, u64 addr, u32 len, u8 dir);
/* @len bytes more for the segment that was added last, an IN one; @dir is all of it. */
int vgpu_marshal_seg_extend(struct vgpu_marshal *m, u32 len, u8 dir);
/* Takes the segment that was added last away again. */
void vgpu_marshal_seg_drop(struct vgpu_marshal *m);
/* Pages at their own address. */
int vgpu_marshal_page_add(struct vgpu_marshal *m, u64 addr);
/*
 * Adds a KEPT segment: [@addr, @addr + @len) is where @kept says, and overlaps no other one.
 * Return: 0, -ENOSPC: the call has too many of these, or no room for the runs, -ENOMEM. The ioctl
 * fails with the error.
 */
int vgpu_marshal_kept_add(struct vgpu_marshal *m, u64 addr, u64 len, bool write,
			  const struct vgpu_marshal_kept *kept);
/*
 * Finds the next piece of [*@addr, @end) that no KEPT segment has: [*@addr, *@gap). Return: there
 * is one.
 */
bool vgpu_marshal_kept_gap(const struct vgpu_marshal *m, u64 *addr, u64 end, u64 *gap);

int vgpu_marshal_fixup_add(struct vgpu_marshal *m, u16 type, u16 seg, u32 offset, u32 target,
			   u32 target_offset);
int vgpu_marshal_held_add(struct vgpu_marshal *m, const struct vgpu_marshal_held *held);
/* Is there room in the reply for another object? */
bool vgpu_marshal_object_fits(const struct vgpu_marshal *m);

/* The result will be an object. */
int vgpu_marshal_fd_ret(struct vgpu_marshal *m);

/* The fields of @body, a struct at the start of segment 0, and all behind them. */
int vgpu_marshal_walk(struct vgpu_marshal *m, const struct vgpu_schema_struct *body);

/* Does a condition on the struct at @base, as the driver left it, hold? */
bool vgpu_marshal_stamp_counts(const struct vgpu_schema_field *field, const u8 *base, u32 len);
/* A time at @place becomes one of this machine's clocks, if it is one. */
void vgpu_marshal_stamp(const struct vgpu_schema_field *field, u8 *place,
			const struct vgpu_marshal_fds *fds, void *fds_data);

/* Does a number fulfil a condition? */
static inline bool vgpu_marshal_when(const struct vgpu_schema_when *when, u64 value)
{
	value &= when->mask;
	return when->least ? value >= when->value : value == when->value;
}

/* Ids of processes on the host: a shadow is the first of its namespace; and one that nobody has. */
#define VGPU_MARSHAL_SHADOW	1
#define VGPU_MARSHAL_NOBODY	0x7fffffff

/* An integer of 1, 2, 4 or 8 bytes in the byte order of the program. */
static inline u64 vgpu_marshal_int(const u8 *p, u8 size)
{
	u64 v64 = 0;
	u32 v32;
	u16 v16;

	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	case 8:
		memcpy(&v64, p, sizeof(v64));
		break;
	}
	return v64;
}

#endif /* VGPU_MARSHAL_MEM_H */
