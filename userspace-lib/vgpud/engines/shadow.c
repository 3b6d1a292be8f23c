// SPDX-License-Identifier: MIT
/* Shadows of engines, and their counters. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/guests.h"
#include "engines/denial.h"
#include "engines/engine.h"
#include "engines/patience.h"
#include "engines/shadow.h"
#include "engines/tally.h"
#include "process/spawn.h"
#include "shared/proto.h"

static int faults_fd = -1;

void engine_shadows_init(int faults)
{
	faults_fd = faults;
}

int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions)
{
	const struct engine_number msg = { .type = ENGINE_SESSION, .number = session };
	struct engine *engine = engine_find(peer);
	int pair[2], ret;

	if (!engine)
		return -ENOENT;
	/* The engine's own count lags behind, and the engine is not trusted to count. */
	if (nr_sessions >= guest_limits(engine->cid, engine->port).host.sessions) {
		__atomic_add_fetch(&engine->shared->counters.refused, 1, __ATOMIC_RELAXED);
		return -EMFILE;
	}
	ret = pair_open(pair);
	if (ret)
		return ret;
	engine->reports += ENGINE_REPORTS;
	return pair_rest(pair, engine_tell(engine, &msg, sizeof(msg), pair[0]));
}

/* Add the counters of a shadow. @memory: as they are mapped */
static void counters_add(struct engine *engine, struct shadow_counters *shadow, pid_t pid,
			 const void *memory)
{
	shadow->pid = pid;
	shadow->counts = memory;
	LIST_INSERT_HEAD(&engine->shadows, shadow, node);
}

int counters_adopt(struct engine *engine, pid_t pid, int fd)
{
	struct shadow_counters *shadow = calloc(1, sizeof(*shadow));
	void *memory;
	int ret;

	if (!shadow)
		return -ENOMEM;
	ret = pages_map(fd, ENGINE_COUNTS_LEN, &memory);
	if (ret)
		free(shadow);
	else
		counters_add(engine, shadow, pid, memory);
	return ret;
}

int engine_spawn_shadow(uint32_t peer, uint64_t session, const char *comm, int shadow_fd,
			pid_t *pid, int *lanes_fd)
{
	struct engine *engine = engine_find(peer);
	struct spawn_program spawn = {
		.kind = SPAWN_ENGINE_SHADOW,
		.comm = comm,
		.files = {
			{ shadow_fd, ESHADOW_FD_ENGINE },
			{ SPAWN_FD_LINK, ESHADOW_FD_LANES },
			{ engine ? engine->shared_read_fd : -1, ESHADOW_FD_SHARED },
			{ engine ? engine->nodes_fd : -1, ESHADOW_FD_DEVICES },
			{ SPAWN_FD_PROC, ESHADOW_FD_PROC },
			{ faults_fd, ESHADOW_FD_FAULTS },
			{ -1, ESHADOW_FD_COUNTERS },
			{ engine ? engine->guest->fd : -1, ESHADOW_FD_PATIENCE },
		},
	};
	struct shadow_counters *shadow;
	int counters_fd, ret;
	void *memory;

	if (!engine)
		return -ENODEV;
	shadow = calloc(1, sizeof(*shadow));
	if (!shadow)
		return -ENOMEM;
	ret = pages_make(&counters_fd, ENGINE_COUNTS_LEN, &memory);
	if (ret)
		goto err_free;
	spawn.files[6].fd = counters_fd;
	ret = spawn_program(engine->sandbox, &spawn, pid);
	if (ret >= 0)
		lasting_hold_shadow(engine, session, counters_fd);
	close(counters_fd);
	if (ret < 0)
		goto err_unmap;
	counters_add(engine, shadow, *pid, memory);
	*lanes_fd = ret;
	return 0;

err_unmap:
	munmap(memory, ENGINE_COUNTS_LEN);
err_free:
	free(shadow);
	return ret;
}

/*
 * Add a counter to a sum that saturates: no true counter gets that far, and a false one cannot
 * make the sum wrap around to a small value.
 */
static void counter_add(uint64_t *sum, const uint64_t *counter)
{
	uint64_t value = __atomic_load_n(counter, __ATOMIC_RELAXED);

	*sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

void counters_sum(struct engine_counters *sum, const struct engine_counters *counters)
{
	const uint64_t *from = (const uint64_t *)counters;
	uint64_t *to = (uint64_t *)sum;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		counter_add(&to[i], &from[i]);
}

static void grow(__u32 *most, const __u32 *value)
{
	uint32_t now = __atomic_load_n(value, __ATOMIC_RELAXED);

	*most = now > *most ? now : *most;
}

void counters_use(const struct shadow_counters *shadow, struct vgpu_host_use *now,
		  struct vgpu_host_use *most, __u64 *delayed)
{
	const struct eshadow_use *use = &shadow->counts->use;
	uint32_t pages = __atomic_load_n(&use->pages, __ATOMIC_RELAXED);

	grow(&now->lanes, &use->lanes);
	grow(&now->pages, &use->pages);
	grow(&now->mappings, &use->mappings);
	/* A shadow may say anything: the sum must not wrap around to a small value. */
	now->all_pages = pages > UINT32_MAX - now->all_pages ? UINT32_MAX : now->all_pages + pages;
	grow(&most->lanes, &use->most_lanes);
	grow(&most->pages, &use->most_pages);
	grow(&most->mappings, &use->most_mappings);
	*delayed += __atomic_load_n(&use->delayed, __ATOMIC_RELAXED);
}

void counters_free(struct shadow_counters *shadow, struct engine *engine)
{
	struct vgpu_host_use now = { 0 };

	counters_sum(&engine->ended, &shadow->counts->counters);
	counters_use(shadow, &now, &engine->most, &engine->delayed);
	if (engine->guest) {
		patience_return_pages(engine->guest, shadow->counts->use.counted_pages);
		tallies_add(&engine->guest->totals, shadow->counts);
	}
	denials_add(&engine->denied, shadow->counts);
	LIST_REMOVE(shadow, node);
	munmap((void *)(uintptr_t)shadow->counts, ENGINE_COUNTS_LEN);
	free(shadow);
}

void engine_shadow_ended(pid_t pid)
{
	struct shadow_counters *shadow;
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		LIST_FOREACH(shadow, &engine->shadows, node)
			if (shadow->pid == pid) {
				counters_free(shadow, engine);
				return;
			}
}
