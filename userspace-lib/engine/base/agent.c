// SPDX-License-Identifier: MIT
/* State that all files of the engine use, messages to vgpud, and the end of the engine. */
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "shared/log.h"

struct engine_shared *shared;
struct engine_start start;
struct vgpu_wire_limits wire_limits;
void (*progress_notify)(void);

uint32_t all_mappings_max;

void limits_take(const struct vgpu_host_limits *limits)
{
	const uint32_t call_bytes = start.limits.call_bytes;

	start.limits = *limits;
	/* Messages are checked against the value that the guest was told when it connected. */
	if (call_bytes)
		start.limits.call_bytes = call_bytes;
}

void engine_end(const char *why)
{
	log_debug("engine: %s", why);
	exit(EXIT_SUCCESS);
}

void agent_ask(uint32_t type, uint32_t flags, uint64_t number)
{
	const struct engine_number msg = { .type = type, .flags = flags, .number = number };

	if (write(ENGINE_FD_SESSIONS, &msg, sizeof(msg)) != sizeof(msg))
		engine_end("vgpud does not receive messages");
}

void agent_say(uint32_t type, uint64_t session)
{
	agent_ask(type, 0, session);
}
