// SPDX-License-Identifier: MIT
/*
 * Rooms: with protection keys each call has memory for its arguments that no other call's driver
 * can reach, as long as there are keys. When all rooms are in use, further calls use the rooms of
 * their lanes. These share one key, so the drivers of these calls can reach each other's rooms.
 *
 * A thread that is not traced handles the cancel signal on a stack in the room. Before Linux 6.12
 * the kernel puts a signal only where the thread itself may write, and during the system call
 * that is nowhere else. Drivers may write to this stack, so the handler does not trust it
 * (syscall.c).
 *
 * A device may go on using pages of a room that its driver has pinned, and a guest can cause
 * that. So a call of NVIDIA's driver gets new pages in its room, and leaves new pages for later
 * calls.
 */
#include <linux/errno.h>
#include <linux/mman.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/room.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/thread/syscall.h"
#include "segs.h"
#include "shadow/keys.h"
#include "shadow/layout.h"

/*
 * Time in milliseconds between looks whether the guest still waits for a call that waits for a
 * room.
 */
#define LOOK_MS		100

/*
 * Number of rooms that calls leave free if they can use their lane's room. Such calls may sleep
 * as long as the guest likes, and calls that need a room of their own would wait for that.
 */
#define ROOMS_LEFT	4
#define ROOMS_OF_ANY	((1U << (KEYS_ALONE - ROOMS_LEFT)) - 1)

static struct room rooms[KEYS_ALONE];
/* Bit mask of free rooms. */
static u32 rooms_free;
/*
 * Number of rooms that were given back while a thread waited (a futex), and of threads that wait.
 */
static u32 rooms_back, rooms_waiters;

void rooms_init(void)
{
	int i;

	for (i = 0; keys_on && i < KEYS_ALONE; i++) {
		rooms[i].key = KEY_ALONE(i);
		rooms[i].memory = memory_get_key(THREAD_ROOM, rooms[i].key);
		if (!rooms[i].memory)
			sys_exit_group(SHADOW_EXIT_KEYS);
		rooms_free |= 1U << i;
	}
}

/*
 * Takes a free room, preferably the last one of the thread, whose signal stack it has. @those:
 * bit mask of rooms that the call may have.
 */
static struct room *room_find(const struct call *call, u32 those)
{
	u32 free = __atomic_load_n(&rooms_free, __ATOMIC_RELAXED), may, bit;

	while ((may = free & those)) {
		bit = may & -may;
		if (call->signals && call->signals != &call->own)
			bit = (may & (1U << (call->signals - rooms))) ?: bit;
		if (__atomic_compare_exchange_n(&rooms_free, &free, free & ~bit, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &rooms[__builtin_ctz(bit)];
	}
	return NULL;
}

static int room_wait(struct call *call, struct room **room)
{
	u64 end = now_ns() + shared->fetch_timeout_ms * NSEC_PER_MS;
	int ret = 0;
	u32 back;

	__atomic_add_fetch(&rooms_waiters, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		back = __atomic_load_n(&rooms_back, __ATOMIC_SEQ_CST);
		*room = room_find(call, ~0U);
		if (*room)
			break;
		ret = lane_pending(call->lane) ? -EINTR : now_ns() >= end ? -EBUSY : 0;
		if (ret)
			break;
		word_wait(&rooms_back, back, LOOK_MS);
	}
	__atomic_sub_fetch(&rooms_waiters, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/*
 * Return: true if the call needs a room of its own. Arguments for NVIDIA's driver are checked in
 * the room, and that driver may pin whatever the guest names. Memory that a driver keeps has the
 * room's key.
 */
static bool must_be_alone(const struct call *call)
{
	/* A call of class mm passes no argument to a driver, and must not wait for other calls. */
	return call->file && !call->lane->mm &&
	       (call->file->policy.kind == VGPU_EXPORT_NVIDIA ||
		vgpu_view_has_seg(&call->view, VGPU_SEG_KEPT));
}

/* Replaces the room's pages: the old ones, which a device may have, are not used any more. */
static void room_renew(struct room *room)
{
	if (sys3(__NR_madvise, (long)room->memory, THREAD_ROOM, MADV_DONTNEED))
		sys_exit_group(SHADOW_EXIT_KEYS);
	room->used = 0;
	room->fresh = true;
}

int room_take(struct call *call)
{
	struct room *room;
	int ret;

	if (call->room)
		return 0;
	room = room_find(call, must_be_alone(call) ? ~0U : ROOMS_OF_ANY);
	if (!room && keys_on && must_be_alone(call)) {
		ret = room_wait(call, &room);
		if (ret)
			return ret;
	}
	if (!room)
		room = &call->own;
	if (keys_on && call->signals != room) {
		thread_signal_stack(room->memory);
		call->signals = room;
	}
	if (!room->fresh && must_be_alone(call))
		room_renew(room);
	room->fresh = false;
	call->room = room;
	return 0;
}

/*
 * Gives the room back. A signal that was sent to the thread has come by now
 * (syscall_cancelable()).
 */
void room_put(struct call *call)
{
	struct room *room = call->room;

	call->room = NULL;
	if (room && must_be_alone(call))
		room_renew(room);
	if (!room || room == &call->own)
		return;
	__atomic_or_fetch(&rooms_free, 1U << (room - rooms), __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&rooms_waiters, __ATOMIC_SEQ_CST))
		return;
	__atomic_add_fetch(&rooms_back, 1, __ATOMIC_SEQ_CST);
	word_wake(&rooms_back);
}
