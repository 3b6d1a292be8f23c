// SPDX-License-Identifier: MIT
/* The list of keepers, and what is known of them. */
#include <unistd.h>

#include "keeper/list.h"
#include "shared/proto.h"

struct keeper_list keepers = LIST_HEAD_INITIALIZER(keepers);

int keeper_compare(const struct keeper *keeper, uint32_t cid, uint32_t port)
{
	if (keeper->cid != cid)
		return keeper->cid < cid ? -1 : 1;
	return keeper->port == port ? 0 : keeper->port < port ? -1 : 1;
}

struct keeper *keeper_find(uint32_t cid, uint32_t port)
{
	struct keeper *keeper;

	/* A destroyed window stays in the list until its keeper has ended. */
	LIST_FOREACH(keeper, &keepers, node)
		if (keeper->source.fd >= 0 && !keeper_compare(keeper, cid, port))
			return keeper;
	return NULL;
}

bool keeper_has_window(uint32_t cid, uint32_t port)
{
	return keeper_find(cid, port);
}

bool keeper_is_connected(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_find(cid, port);

	return keeper && keeper->agent_fd >= 0;
}

static bool keeper_state_has(uint32_t cid, uint32_t port, uint8_t bit)
{
	const struct keeper *keeper = keeper_find(cid, port);
	uint8_t state;

	return keeper && keeper->agent_fd >= 0 &&
	       pread(keeper->state_fd, &state, sizeof(state), 0) == sizeof(state) && (state & bit);
}

bool keeper_memory_is_huge(uint32_t cid, uint32_t port)
{
	return keeper_state_has(cid, port, KEEPER_STATE_HUGE);
}

bool keeper_memory_is_giant(uint32_t cid, uint32_t port)
{
	return keeper_state_has(cid, port, KEEPER_STATE_GIANT);
}

pid_t keeper_hypervisor(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_find(cid, port);

	return keeper && keeper->agent_fd >= 0 ? keeper->hypervisor : 0;
}

const char *keeper_memory_path(uint32_t cid, uint32_t port)
{
	const struct keeper *keeper = keeper_find(cid, port);

	return keeper ? keeper->path : NULL;
}
