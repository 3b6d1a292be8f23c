// SPDX-License-Identifier: MIT
/* Processes that make DRM masters: vgpud starts and kills them for engines. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/master.h"
#include "process/sandbox.h"
#include "process/spawn.h"
#include "shared/log.h"
#include "shared/proto.h"

/**
 * struct master - a process that makes DRM masters
 * @node: entry of masters until the process is reaped
 * @peer: number of the guest
 * @export: number of the export
 * @cid: context ID of the guest, for the log
 * @port: vsock port of vgpud by which the guest connects, for the log
 * @uid: user ID of the process
 * @pid: ID of the process
 * @killed: true if vgpud has killed the process
 */
struct master {
	LIST_ENTRY(master) node;
	uint32_t peer;
	uint32_t export;
	uint32_t cid;
	uint32_t port;
	unsigned int uid;
	pid_t pid;
	bool killed;
};

static LIST_HEAD(, master) masters = LIST_HEAD_INITIALIZER(masters);
/* File of the program, opened when first needed; -1: not opened. */
static int master_program = -1;

/* Start the process. Return: the engine's end of the connection, or a negative errno. */
static int master_spawn(struct master *master, struct sandbox *sandbox, int node_fd)
{
	struct spawn_file files[] = {
		{ -1, MASTER_FD_ENGINE }, { node_fd, MASTER_FD_NODE },
	};
	const struct spawn_program program = {
		.kind = SPAWN_MASTER,
		.name = "vgpu-engine-master",
		.fd = master_program,
		.at = MASTER_FD_PROGRAM,
		.files = files,
		.nr_files = sizeof(files) / sizeof(files[0]),
	};
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	files[0].fd = pair[1];
	ret = spawn_program(sandbox, &program, &master->pid);
	close(pair[1]);
	if (!ret)
		return pair[0];
	close(pair[0]);
	return ret;
}

int master_start(uint32_t peer, uint32_t export, struct sandbox *sandbox, int node_fd)
{
	struct master *master;
	int fd;

	if (master_program < 0)
		master_program = spawn_program_open("vgpu-engine-master");
	if (master_program < 0)
		return master_program;
	master = calloc(1, sizeof(*master));
	if (!master)
		return -ENOMEM;
	master->peer = peer;
	master->export = export;
	master->cid = sandbox->cid;
	master->port = sandbox->port;
	master->uid = sandbox->uid;
	fd = master_spawn(master, sandbox, node_fd);
	if (fd < 0) {
		free(master);
		return fd;
	}
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
		kill(master->pid, SIGKILL);
		master->killed = true;
	}
}

bool master_has_uid(unsigned int uid)
{
	struct master *master;

	LIST_FOREACH(master, &masters, node)
		if (master->uid == uid)
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
		log_guest(master->cid, master->port,
			  "vgpu-engine-master has ended (%s %d): the guest's programs can no longer become DRM master by CAP_SYS_ADMIN",
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	LIST_REMOVE(master, node);
	free(master);
	return true;
}
