/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rooms: what drivers can reach of a shadow's own memory.
 */
#ifndef _VGPU_HOST_ROOM_H
#define _VGPU_HOST_ROOM_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/wait.h>

struct vgpuh_call;
struct vm_area_struct;

/*
 * Memory for the arguments of one call at a time, which only the driver of that call can reach;
 * see room.c. All bytes beyond @used are zero.
 */
struct vgpu_room {
	unsigned long addr;
	size_t used;
};

#define VGPU_ROOMS	13
/* Number of rooms that any call may take; the others are left to calls that must be alone. */
#define VGPU_ROOMS_ANY	(VGPU_ROOMS - 4)
#define VGPU_ROOM_LEN	SZ_64K
/* Offset in the shadow's file of memory of rooms. Demand pages have their addresses as offsets. */
#define VGPU_ROOM_OFFSET BIT_ULL(62)
struct vgpu_rooms {
	struct vgpu_room room[VGPU_ROOMS];
	unsigned long busy;
	wait_queue_head_t wait;
};

/* Make a private mapping of the shadow's file; its offset says which key the mapping gets. */
int vgpu_room_mmap(struct vm_area_struct *vma);
/*
 * Restrict what the thread reaches of the shadow's memory. From vgpu_room_begin() to
 * vgpu_room_end() it reaches only memory of the guest process; from vgpu_room_take() on also
 * the memory for the call's arguments. Calls that must be alone (vgpu_room_must_be_alone()) may
 * wait in vgpu_room_take() for a room. Return: 0, -EINTR, -EBUSY (no room became free in time),
 * -ENOMEM.
 */
void vgpu_room_begin(struct vgpuh_call *call);
int vgpu_room_take(struct vgpuh_call *call);
void vgpu_room_end(struct vgpuh_call *call);
/* Return the protection key of the memory that the call's driver can reach. */
unsigned int vgpu_room_key(const struct vgpuh_call *call);
/*
 * Check whether the call needs a room that no other call has. Arguments for NVIDIA's driver are
 * checked in place and must not change before the driver reads them. Memory that a driver keeps
 * is for the driver of this call alone.
 */
bool vgpu_room_must_be_alone(const struct vgpuh_call *call);
/*
 * Map zeroed memory that the call's driver can reach: vgpu_room_map() at @addr if @flags has
 * MAP_FIXED, with map_lock held; vgpu_room_map_reserved() in the reserved range.
 * Return: the address or a negative errno.
 */
unsigned long vgpu_room_map(struct vgpuh_call *call, unsigned long addr, size_t len,
			    unsigned long flags);
unsigned long vgpu_room_map_reserved(struct vgpuh_call *call, size_t len);

#endif /* _VGPU_HOST_ROOM_H */
