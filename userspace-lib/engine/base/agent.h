/* SPDX-License-Identifier: MIT */
/* State that all files of the engine use, and messages to vgpud: see agent.c. */
#ifndef ENGINE_AGENT_H
#define ENGINE_AGENT_H

#include <stdint.h>

#include "shared/proto.h"
#include "wire.h"

extern struct engine_shared *shared;
extern struct engine_start start;
extern struct vgpu_wire_limits wire_limits;
/*
 * Function to be called when something has ended that lanes or RELEASE messages may wait for. Lanes
 * wait until control messages are applied, and RELEASE messages until no driver has the memory. The
 * callers do not know the waiters, which may be in higher folders. So main.c sets the function.
 * Also called when a guest that was slow to read messages has read some.
 */
extern void (*progress_notify)(void);

/* Largest number of mappings of all shadows together; 0: no limit. */
extern uint32_t all_mappings_max;
/* Use the limits that vgpud has sent (struct engine_start, engine_limits). */
void limits_take(const struct vgpu_host_limits *limits);

/* Note in struct engine_shared, for people, the largest use of something. */
static inline void use_most32(__u32 *most, uint32_t now)
{
	if (now > *most)
		*most = now;
}

static inline void use_most64(__u64 *most, uint64_t now)
{
	if (now > *most)
		*most = now;
}

static inline void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/*
 * End the engine, and with it everything that the guest has at this host. @why: reason, which is
 * logged for debugging.
 */
void engine_end(const char *why) __attribute__((noreturn));
/* Tell vgpud of a session. @type: ENGINE_CLOSED or ENGINE_REAP. */
void agent_say(uint32_t type, uint64_t session);
/* Tell vgpud of a submission. @type: ENGINE_SUBMIT or ENGINE_SUBMITTED; see struct engine_number. */
void agent_ask(uint32_t type, uint32_t flags, uint64_t number);

#endif /* ENGINE_AGENT_H */
