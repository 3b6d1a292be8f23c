/* SPDX-License-Identifier: MIT */
/* The program's memory that drivers can reach: see room.c. */
#ifndef ESHADOW_ROOM_H
#define ESHADOW_ROOM_H

#include "engine/shadow/base/lib.h"
#include "engine/shadow/thread/thread.h"

struct call;

/**
 * struct room - memory that the driver of one call can reach
 * @memory: stack for the cancel signal, followed by scratch memory for arguments
 * @key: protection key of the memory
 * @used: number of bytes of the scratch memory that may be nonzero
 * @fresh: true if no driver could reach the pages yet
 */
struct room {
	u8 *memory;
	int key;
	u64 used;
	bool fresh;
};

static inline u8 *room_scratch(const struct room *room)
{
	return room->memory + THREAD_SIGNALS;
}

void rooms_init(void);
/*
 * Gives the call a room, if it has none. A call of NVIDIA's driver, whose arguments are checked
 * in the room, needs new pages and a room of its own, as does a call with memory that drivers
 * keep, which has the room's key. Such a call may wait for others to end. Return: 0; -EINTR: the
 * guest does not wait any more; -EBUSY: the others did not end.
 */
int room_take(struct call *call);
void room_put(struct call *call);

#endif /* ESHADOW_ROOM_H */
