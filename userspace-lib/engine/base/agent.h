/* SPDX-License-Identifier: MIT */
/* Functions and variables of the whole engine: see agent.c. */
#ifndef ENGINE_AGENT_H
#define ENGINE_AGENT_H

#include <stdint.h>

#include "shared/proto.h"
#include "wire.h"

extern struct engine_shared *shared;
extern struct engine_start start;
extern struct vgpu_wire_limits wire_limits;
/*
 * Note that something has ended which lanes or messages of the guest may wait for: lanes wait until
 * control messages are applied, and RELEASE messages until no driver has the memory. The files that
 * end such a thing do not know who waits for it, so main.c sets this function.
 */
extern void (*progress_notify)(void);

static inline void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* End the engine, and with it everything that the guest has here. @why is logged for debugging. */
void engine_end(const char *why) __attribute__((noreturn));
/* Tell vgpud of a session. @type: ENGINE_CLOSED or ENGINE_REAP. */
void agent_say(uint32_t type, uint64_t session);

#endif /* ENGINE_AGENT_H */
