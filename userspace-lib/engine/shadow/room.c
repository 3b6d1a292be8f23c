// SPDX-License-Identifier: MIT
/*
 * Rooms: with protection keys each call has memory for its arguments that no driver but its own
 * can reach, as long as there are keys. The calls that are made when all are in use have rooms of
 * their lanes, which share a key: their drivers can reach the rooms of each other.
 *
 * A thread that nobody traces takes the cancel signal in the room, too. Before Linux 6.12 the
 * kernel puts a signal only where the thread itself may write, and during the system call that is
 * nowhere else. What drivers make of it there is not believed (thread.c).
 *
 * A device goes on with pages that its driver has pinned in a room, which a guest can bring about.
 * So a call of NVIDIA's driver finds new pages there, and leaves new ones for later calls.
 */
#include <linux/errno.h>
#include <linux/mman.h>

#include "shadow.h"
#include "shadow/keys.h"

/* How often a call that waits looks whether the guest still does. */
#define LOOK_MS		100

/*
 * Calls that can do with the room of their lane leave so many for those that cannot: they may sleep
 * for as long as the guest likes, and the others would wait for that.
 */
#define ROOMS_LEFT	4
#define ROOMS_OF_ANY	((1U << (KEYS_ALONE - ROOMS_LEFT)) - 1)

static struct room rooms[KEYS_ALONE];
/* One bit for each that is free. */
static u32 rooms_free;
/* Counts those that were given back, while somebody waits. */
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
 * The one that the thread had last, whose stack it has, is best. @those: the rooms that the call
 * may have, a bit each.
 */
static struct room *room_find(const struct lane *lane, u32 those)
{
	u32 free = __atomic_load_n(&rooms_free, __ATOMIC_RELAXED), may, bit;

	while ((may = free & those)) {
		bit = may & -may;
		if (lane->signals && lane->signals != &lane->room)
			bit = (may & (1U << (lane->signals - rooms))) ?: bit;
		if (__atomic_compare_exchange_n(&rooms_free, &free, free & ~bit, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &rooms[__builtin_ctz(bit)];
	}
	return NULL;
}

static int room_wait(struct lane *lane, struct room **room)
{
	u64 end = now_ns() + shared->fetch_timeout_ms * NSEC_PER_MS;
	int ret = 0;
	u32 back;

	__atomic_add_fetch(&rooms_waiters, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		back = __atomic_load_n(&rooms_back, __ATOMIC_SEQ_CST);
		*room = room_find(lane, ~0U);
		if (*room)
			break;
		ret = lane_pending(lane) ? -EINTR : now_ns() >= end ? -EBUSY : 0;
		if (ret)
			break;
		word_wait(&rooms_back, back, LOOK_MS);
	}
	__atomic_sub_fetch(&rooms_waiters, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/*
 * The engine looks at arguments for NVIDIA's driver, which may pin whatever the guest names.
 * Memory that a driver keeps has the room's key.
 */
static bool must_be_alone(const struct call *call)
{
	/* One of class mm has no argument that a driver sees, and must not wait for others. */
	return call->file && !call->mm &&
	       (call->file->policy.kind == VGPU_EXPORT_NVIDIA ||
		vgpu_view_has_seg(&call->view, VGPU_SEG_KEPT));
}

/* The pages that a device may have of the room are nobody's any more. */
static void room_renew(struct room *room)
{
	if (sys3(__NR_madvise, (long)room->memory, THREAD_ROOM, MADV_DONTNEED))
		sys_exit_group(SHADOW_EXIT_KEYS);
	room->used = 0;
	room->fresh = true;
}

int room_take(struct call *call)
{
	struct lane *lane = call->lane;
	struct room *room;
	int ret;

	if (call->room)
		return 0;
	room = room_find(lane, must_be_alone(call) ? ~0U : ROOMS_OF_ANY);
	if (!room && keys_on && must_be_alone(call)) {
		ret = room_wait(lane, &room);
		if (ret)
			return ret;
	}
	if (!room)
		room = &lane->room;
	if (keys_on && lane->signals != room) {
		thread_signal_stack(room->memory);
		lane->signals = room;
	}
	if (!room->fresh && must_be_alone(call))
		room_renew(room);
	room->fresh = false;
	call->room = room;
	return 0;
}

/* A signal that was sent to the thread has come by now (syscall_cancelable()). */
void room_put(struct call *call)
{
	struct room *room = call->room;

	call->room = NULL;
	if (room && must_be_alone(call))
		room_renew(room);
	if (!room || room == &call->lane->room)
		return;
	__atomic_or_fetch(&rooms_free, 1U << (room - rooms), __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&rooms_waiters, __ATOMIC_SEQ_CST))
		return;
	__atomic_add_fetch(&rooms_back, 1, __ATOMIC_SEQ_CST);
	word_wake(&rooms_back);
}
