// SPDX-License-Identifier: MIT
/* Processes that make DRM masters: vgpud starts and kills them for engines. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/engine.h"
#include "engines/master.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shared/log.h"

/**
 * struct master - a process that makes DRM masters
 * @node: entry of masters until the process is reaped
 * @peer: number of the guest
 * @export: number of the export
 * @sandbox: sandbox of the guest's programs; the peer that owns the sandbox is not freed while
 *	master_has_uid() is true for the sandbox's user
 * @pid: ID of the process
 * @killed: true if vgpud has killed the process
 */
struct master {
	LIST_ENTRY(master) node;
	uint32_t peer;
	uint32_t export;
	const struct sandbox *sandbox;
	pid_t pid;
	bool killed;
};

static LIST_HEAD(, master) masters = LIST_HEAD_INITIALIZER(masters);

int master_start(const struct engine *engine, const struct offer *offer)
{
	struct spawn_program spawn = {
		.kind = SPAWN_MASTER,
		.files = { { SPAWN_FD_LINK, MASTER_FD_ENGINE }, { -1, MASTER_FD_NODE } },
	};
	struct master *master;
	int node, fd;

	node = node_open(engine->nodes_fd, offer->number);
	if (node < 0)
		return node;
	spawn.files[1].fd = node;
	master = calloc(1, sizeof(*master));
	fd = master ? spawn_program(engine->sandbox, &spawn, &master->pid) : -ENOMEM;
	close(node);
	if (fd < 0) {
		free(master);
		return fd;
	}
	master->peer = engine->number;
	master->export = offer->number;
	master->sandbox = engine->sandbox;
	LIST_INSERT_HEAD(&masters, master, node);
	return fd;
}

void masters_end(uint32_t peer, uint32_t export)
{
	struct master *master;

	LIST_FOREACH(master, &masters, node) {
		if (master->peer != peer || (export && master->export != export))
			continue;
		/* The process has not been reaped, so its ID is still its own. */
		sandbox_kill(master->sandbox, master->pid, -1);
		master->killed = true;
	}
}

bool master_has_uid(unsigned int uid)
{
	struct master *master;

	LIST_FOREACH(master, &masters, node)
		if (master->sandbox->uid == uid)
			return true;
	return false;
}

bool master_reaped(pid_t pid, int status)
{
	struct master *master;

	LIST_FOREACH(master, &masters, node)
		if (master->pid == pid)
			break;
	if (!master)
		return false;
	/* The process exits with status 0 when its engine ends. */
	if (!master->killed && (WIFSIGNALED(status) || WEXITSTATUS(status)))
		log_guest(master->sandbox->cid, master->sandbox->port,
			  "vgpu-engine-master has ended (%s %d): the guest's programs can no longer become DRM master by CAP_SYS_ADMIN",
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	LIST_REMOVE(master, node);
	free(master);
	return true;
}
