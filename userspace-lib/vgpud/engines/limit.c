// SPDX-License-Identifier: MIT
/* Limits of a guest as its engine and shadows have them. */
#include <errno.h>

#include "engines/engine.h"
#include "engines/limit.h"
#include "engines/patience.h"
#include "policy.h"
#include "process/confine.h"
#include "shared/proto.h"

/*
 * Let the engine know of raised limits before a shadow can see them: the engine checks what shadows
 * report, and may get a report before ENGINE_LIMITS. The values are never lowered, as shadows keep
 * what they have when a limit is.
 */
static void limits_raise(struct engine_shared *shared, const struct vgpu_host_limits *new)
{
	if (new->lanes > shared->lanes_ever)
		__atomic_store_n(&shared->lanes_ever, new->lanes, __ATOMIC_RELAXED);
	if (new->mappings > shared->mappings_ever)
		__atomic_store_n(&shared->mappings_ever, new->mappings, __ATOMIC_RELAXED);
	/* Pairs with the load by which the engine reads them, after a shadow's message has come. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void engine_limits_init(struct engine_shared *shared, const struct vgpu_host_limits *limits)
{
	limits_raise(shared, limits);
	shared->limits = *limits;
}

/* Change the limits that shadows read at any time. The guest was told call_bytes, which stays. */
static void limits_change_shared(struct engine_shared *shared, const struct vgpu_host_limits *new)
{
	struct vgpu_host_limits *limits = &shared->limits;

	limits_raise(shared, new);
	__atomic_store_n(&limits->lanes, new->lanes, __ATOMIC_RELAXED);
	__atomic_store_n(&limits->fds_per_call, new->fds_per_call, __ATOMIC_RELAXED);
	__atomic_store_n(&limits->pages, new->pages, __ATOMIC_RELAXED);
	__atomic_store_n(&limits->mappings, new->mappings, __ATOMIC_RELAXED);
	__atomic_store_n(&limits->objects, new->objects, __ATOMIC_RELAXED);
}

int engine_peer_limit(const struct vgpu_host_peer_limit *arg)
{
	struct engine *engine = engine_find(arg->peer);
	struct engine_limits msg = { .type = ENGINE_LIMITS, .all_mappings = arg->all_mappings };
	struct engine_shared *shared;
	struct vgpu_wire_limits wire;

	if (!engine)
		return -ENOENT;
	shared = engine->shared;
	vgpu_limits_fill(&msg.limits, &arg->limits, &wire);
	limits_change_shared(shared, &msg.limits);
	__atomic_store_n(&shared->all_pages, arg->all_pages, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->rates.calls, arg->rates.calls, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->rates.opens, arg->rates.opens, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->rates.bytes, arg->rates.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->rated, vgpu_rates_any(&arg->rates), __ATOMIC_RELAXED);
	__atomic_store_n(&shared->patience_us, patience_whole(engine->cid, engine->port),
			 __ATOMIC_RELAXED);
	patience_forget_rates(engine->guest, &arg->rates);
	confine_raise(engine->pid, SPAWN_ENGINE, engine->cid, engine->port);
	return engine_tell(engine, &msg, sizeof(msg), -1);
}
