// SPDX-License-Identifier: MIT
/* Shadows of engines. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "engines/counters.h"
#include "engines/engine.h"
#include "engines/page.h"
#include "engines/patience.h"
#include "engines/shadow.h"
#include "process/pair.h"
#include "process/spawn.h"
#include "shared/proto.h"

static int shadow_program = -1, faults_fd = -1;

int engine_shadows_init(int faults)
{
	faults_fd = faults;
	shadow_program = spawn_program_open("vgpu-engine-shadow");
	return shadow_program < 0 ? shadow_program : 0;
}

int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions)
{
	const struct engine_number msg = { .type = ENGINE_SESSION, .number = session };
	struct engine *engine = engine_find(peer);
	int pair[2], ret;

	if (!engine)
		return -ENOENT;
	/* The engine's own count lags behind, and the engine is not trusted to count. */
	if (nr_sessions >= settings.limits.sessions) {
		__atomic_add_fetch(&engine->shared->counters.refused, 1, __ATOMIC_RELAXED);
		return -EMFILE;
	}
	ret = pair_open(pair);
	if (ret)
		return ret;
	ret = engine_tell(engine, &msg, sizeof(msg), pair[0]);
	close(pair[0]);
	if (ret) {
		close(pair[1]);
		return ret;
	}
	return pair[1];
}

int engine_spawn_shadow(uint32_t peer, const char *comm, int shadow_fd, pid_t *pid,
			int *lanes_fd)
{
	struct engine *engine = engine_find(peer);
	struct spawn_file files[] = {
		{ shadow_fd, ESHADOW_FD_ENGINE },
		{ -1, ESHADOW_FD_LANES },
		{ engine ? engine->shared_read_fd : -1, ESHADOW_FD_SHARED },
		{ engine ? engine->nodes_fd : -1, ESHADOW_FD_DEVICES },
		{ SPAWN_FD_PROC, ESHADOW_FD_PROC },
		{ faults_fd, ESHADOW_FD_FAULTS },
		{ -1, ESHADOW_FD_COUNTERS },
		{ engine ? engine->guest->fd : -1, ESHADOW_FD_PATIENCE },
	};
	const struct spawn_program program = {
		.kind = SPAWN_ENGINE_SHADOW,
		.name = "vgpu-engine-shadow",
		.comm = comm,
		.fd = shadow_program,
		.at = ESHADOW_FD_PROGRAM,
		.files = files,
		.nr_files = sizeof(files) / sizeof(files[0]),
	};
	struct shadow_counters *shadow;
	int pair[2], ret;
	void *memory;

	if (!engine)
		return -ENODEV;
	shadow = calloc(1, sizeof(*shadow));
	if (!shadow)
		return -ENOMEM;
	ret = page_make(&files[6].fd, &memory);
	if (ret)
		goto err_free;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		goto err_unmap;
	}
	ret = pair_mute(pair);
	if (ret)
		goto err_unmap;
	files[1].fd = pair[1];
	ret = spawn_program(engine->sandbox, &program, pid);
	close(pair[1]);
	if (ret)
		goto err_close;
	close(files[6].fd);
	shadow->pid = *pid;
	shadow->counters = memory;
	LIST_INSERT_HEAD(&engine->shadows, shadow, node);
	*lanes_fd = pair[0];
	return 0;

err_close:
	close(pair[0]);
err_unmap:
	munmap(memory, PAGE);
	close(files[6].fd);
err_free:
	free(shadow);
	return ret;
}

void engine_shadow_ended(pid_t pid)
{
	struct shadow_counters *shadow;
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		LIST_FOREACH(shadow, &engine->shadows, node)
			if (shadow->pid == pid) {
				counters_free(shadow, &engine->ended);
				return;
			}
}
