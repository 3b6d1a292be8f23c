// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rooms: limits of what a driver can reach of its shadow's own memory while a call runs. A
 * driver follows pointers that the host has not checked. So the memory in which the shadow's
 * program lives has a protection key that is denied while a call runs. Each call has memory for
 * its arguments that only its own driver can reach, as long as there are free keys. A call that
 * finds no free room uses the memory of its lane; such memory of all lanes has one common key.
 * Some rooms are left to calls that must have one, as other calls may sleep in a driver for any
 * time and would keep these calls out.
 *
 * The memory of rooms and of long arguments is a private mapping of the shadow's file, as only
 * ->mmap() can give a mapping a key before it has pages.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>

#include "base/keys.h"
#include "compat.h"
#include "object/object.h"
#include "peer/agent.h"
#include "peer/grant.h"
#include "segs.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/room.h"
#include "session/session.h"

static_assert(VGPU_ROOMS == VGPU_KEY_LAST - VGPU_KEY_ALONE + 1);

int vgpu_room_mmap(struct vm_area_struct *vma)
{
	unsigned long key = vma->vm_pgoff - (VGPU_ROOM_OFFSET >> PAGE_SHIFT);

	if (!vgpu_keys_there() || (vma->vm_flags & VM_EXEC) || key < VGPU_KEY_SHARED ||
	    key > VGPU_KEY_LAST)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY | vgpu_keys_vm_flags(key));
	vm_flags_clear(vma, VM_MAYEXEC);
	vma_set_anonymous(vma);
	return 0;
}

unsigned int vgpu_room_key(const struct vgpuh_call *call)
{
	const struct vgpu_rooms *rooms = &call->lane->session->rooms;

	return call->room ? VGPU_KEY_ALONE + (call->room - rooms->room) : VGPU_KEY_SHARED;
}

unsigned long vgpu_room_map(struct vgpuh_call *call, unsigned long addr, size_t len,
			    unsigned long flags)
{
	struct vgpuh_lane *lane = call->lane;

	lockdep_assert_held(&lane->session->map_lock);
	flags |= MAP_PRIVATE;
	if (!lane->keys)
		return vm_mmap(NULL, addr, len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, 0);
	return vm_mmap(lane->shadow, addr, len, PROT_READ | PROT_WRITE, flags,
		       VGPU_ROOM_OFFSET + vgpu_room_key(call) * PAGE_SIZE);
}

unsigned long vgpu_room_map_reserved(struct vgpuh_call *call, size_t len)
{
	struct vgpuh_session *session = call->lane->session;
	unsigned long addr;

	/*
	 * The lock is held because a mapping that a driver refuses leaves a hole for a moment.
	 * The kernel would choose that hole before the reserved range.
	 */
	if (mutex_lock_killable(&session->map_lock))
		return -EINTR;
	addr = vgpu_room_map(call, 0, len, 0);
	if (!IS_ERR_VALUE(addr) && !vgpu_agent_in_reserved(session->peer->agent, addr, len)) {
		vm_munmap(addr, len);
		addr = -ENOMEM;
	}
	mutex_unlock(&session->map_lock);
	return addr;
}

/*
 * Take a room that any call may have, if possible the one that the lane had last.
 * Return: the room; NULL: all of them are taken.
 */
static struct vgpu_room *room_find(struct vgpuh_lane *lane)
{
	struct vgpu_rooms *rooms = &lane->session->rooms;
	unsigned int nr = lane->room_last;

	while (nr < VGPU_ROOMS_ANY && test_and_set_bit_lock(nr, &rooms->busy))
		nr = find_first_zero_bit(&rooms->busy, VGPU_ROOMS_ANY);
	if (nr >= VGPU_ROOMS_ANY)
		return NULL;
	lane->room_last = nr;
	return &rooms->room[nr];
}

/* Take a room for a call that must be alone: one of those that are left to such calls, or any. */
static struct vgpu_room *room_find_alone(struct vgpu_rooms *rooms)
{
	unsigned int nr = VGPU_ROOMS_ANY;

	while (nr < VGPU_ROOMS && test_and_set_bit_lock(nr, &rooms->busy)) {
		nr = find_next_zero_bit(&rooms->busy, VGPU_ROOMS, VGPU_ROOMS_ANY);
		if (nr >= VGPU_ROOMS)
			nr = find_first_zero_bit(&rooms->busy, VGPU_ROOMS);
	}
	return nr < VGPU_ROOMS ? &rooms->room[nr] : NULL;
}

static void room_free(struct vgpu_rooms *rooms, struct vgpu_room *room)
{
	clear_bit_unlock(room - rooms->room, &rooms->busy);
	/* A waiter is in the queue before it looks for a room (set_current_state()). */
	if (wq_has_sleeper(&rooms->wait))
		wake_up(&rooms->wait);
}

bool vgpu_room_must_be_alone(const struct vgpuh_call *call)
{
	const struct vgpu_grant *grant = call->object ? call->object->grant : NULL;

	/* Memory that a driver keeps has the key of the call's room. */
	return (grant && grant->policy.kind == VGPU_EXPORT_NVIDIA) ||
		vgpu_view_has_seg(&call->view, VGPU_SEG_KEPT);
}

/*
 * Wait interruptibly for a room for a call that must be alone.
 * Return: 0, -EINTR, -EBUSY: no room became free in time.
 */
static int room_wait_alone(const struct vgpuh_call *call, struct vgpu_room **room)
{
	struct vgpuh_session *session = call->lane->session;
	unsigned long timeout = msecs_to_jiffies(session->peer->agent->fetch_timeout_ms);
	struct vgpu_rooms *rooms = &session->rooms;
	long left;

	/*
	 * A call that has a room may wait for a page of the guest, which may need the program's
	 * mmap lock to send it. The guest holds that lock around a call of class mm, so such a
	 * call gives up earlier.
	 */
	if (call->op->mm)
		timeout /= 2;

	left = wait_event_interruptible_timeout(rooms->wait, (*room = room_find_alone(rooms)),
						timeout);
	if (*room)
		return 0;
	return left < 0 ? -EINTR : -EBUSY;
}

int vgpu_room_take(struct vgpuh_call *call)
{
	struct vgpuh_lane *lane = call->lane;
	struct vgpu_rooms *rooms = &lane->session->rooms;
	struct vgpu_room *room;
	unsigned long addr;
	int ret;

	if (!lane->keys || call->room)
		return 0;
	if (vgpu_room_must_be_alone(call)) {
		ret = room_wait_alone(call, &room);
		if (ret)
			return ret;
	} else {
		room = room_find(lane);
	}
	call->room = room;
	if (room && !room->addr) {
		addr = vgpu_room_map_reserved(call, VGPU_ROOM_LEN);
		if (IS_ERR_VALUE(addr)) {
			call->room = NULL;
			room_free(rooms, room);
			return (int)addr;
		}
		room->addr = addr;
	}
	vgpu_keys_only(vgpu_room_key(call));
	return 0;
}

void vgpu_room_begin(struct vgpuh_call *call)
{
	if (!call->lane->keys)
		return;
	call->reach = read_pkru();
	vgpu_keys_only(0);
}

void vgpu_room_end(struct vgpuh_call *call)
{
	if (!call->lane->keys)
		return;
	write_pkru(call->reach);
	if (call->room && !call->room_stuck)
		room_free(&call->lane->session->rooms, call->room);
	call->room = NULL;
}
