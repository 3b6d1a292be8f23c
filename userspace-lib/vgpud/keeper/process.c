// SPDX-License-Identifier: MIT
/* Keepers: the processes, one for each hypervisor that is connected. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/unixsock.h"
#include "engine/base/packet.h"
#include "keeper/keeper.h"
#include "keeper/process.h"
#include "process/spawn.h"
#include "shared/log.h"
#include "shared/vfio.h"

bool keepers_show;

/* Close the connection to the keeper. Return: true if it was open. */
static bool keeper_leave(struct keeper *keeper)
{
	if (keeper->agent_fd < 0)
		return false;
	close(keeper->agent_fd);
	close(keeper->state_fd);
	keeper->agent_fd = -1;
	keeper->state_fd = -1;
	return true;
}

void keeper_end(struct keeper *keeper)
{
	/* The process has not been reaped, so its ID is still its own. */
	if (keeper_leave(keeper))
		sandbox_kill(&keeper->sandbox, keeper->pid, -1);
}

/* Call vfio_of_process() with the rights of the hypervisor's user. */
static int vfio_of_hypervisor(const struct ucred *hypervisor, char name[VFIO_NAME])
{
	int ret = -EACCES;

	if (rights_take(hypervisor->uid, hypervisor->gid))
		ret = vfio_of_process(hypervisor->pid, name);
	rights_return();
	return ret;
}

bool keeper_beside_vfio(const struct keeper *keeper, const struct ucred *hypervisor)
{
	char name[VFIO_NAME];
	int ret = hypervisor->pid ? vfio_of_hypervisor(hypervisor, name) : 0;

	if (ret < 0)
		log_guest(keeper->cid, keeper->port,
			  "its hypervisor cannot have a window: vgpud may not see whether process %d has a VFIO device: run the hypervisor as a user without capabilities, or let vgpud.service have CAP_SYS_PTRACE",
			  hypervisor->pid);
	if (ret > 0)
		log_guest(keeper->cid, keeper->port,
			  "its hypervisor cannot have a window: process %d also has a VFIO device, %s: "
			  "give the guest either a VFIO device or a window ('Beside other things in one machine' in Documentation/admin/window.rst)",
			  hypervisor->pid, name);
	return ret;
}

static int keeper_tell(struct keeper *keeper, const struct keeper_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) };
	int ret = packet_send(keeper->agent_fd, &iov, 1, fd);

	if (ret) {
		log_guest(keeper->cid, keeper->port, "its keeper does not receive messages");
		keeper_end(keeper);
	}
	return ret;
}

int keeper_connect(uint32_t cid, uint32_t port)
{
	const struct keeper_msg msg = { .type = KEEPER_ENGINE };
	struct keeper *keeper = keeper_connected(cid, port);
	int pair[2];

	if (!keeper)
		return -1;
	/*
	 * QEMU connects before it makes its devices, and the guest starts after that. The
	 * hypervisor is therefore checked again here.
	 */
	if (keeper_beside_vfio(keeper, &keeper->hypervisor))
		return -1;
	if (pair_open(pair))
		return -1;
	return pair_rest(pair, keeper_tell(keeper, &msg, pair[0]));
}

void keeper_memory_give(uint32_t cid, uint32_t port, int fd)
{
	const struct keeper_msg msg = { .type = KEEPER_MEMORY };
	struct keeper *keeper = keeper_connected(cid, port);

	if (keeper)
		keeper_tell(keeper, &msg, fd);
}

int keeper_start(struct keeper *keeper, int qemu_fd)
{
	struct keeper_msg start = { .type = KEEPER_START, .len = keeper->size };
	struct spawn_program spawn = {
		.kind = SPAWN_KEEPER,
		.first = { &start, sizeof(start) },
		.files = {
			{ SPAWN_FD_LINK, KEEPER_FD_AGENT },
			{ qemu_fd, KEEPER_FD_QEMU },
			{ -1, KEEPER_FD_STATE },
		},
	};
	int state, agent;

	/* The window's ID is random, so no earlier window had it, and it is never 0. */
	if (!sandbox_take_user(&keeper->sandbox) ||
	    getrandom(&start.id, sizeof(start.id), 0) != sizeof(start.id))
		return -EAGAIN;
	start.id |= 1;
	/* The size is sealed against a keeper that a hypervisor took over. */
	state = memory_make("vgpu-keeper", 1);
	if (state < 0)
		return state;
	spawn.files[2].fd = state;
	agent = spawn_program(&keeper->sandbox, &spawn, &keeper->pid);
	if (agent < 0) {
		close(state);
		return agent;
	}
	/*
	 * From here on the keeper has the connection as well, and closes its files. A hypervisor
	 * sends none before the keeper has answered its first request.
	 */
	unixsock_accept_files(qemu_fd);
	keeper->agent_fd = agent;
	keeper->state_fd = state;
	return 0;
}

/* Return the reason of a keeper's end in words, or NULL if an administrator need not know it. */
static const char *end_reason(const struct keeper *keeper, int status)
{
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == SIGSYS)
			return "its keeper made a forbidden system call";
		if (WTERMSIG(status) != SIGKILL)
			return "its keeper has crashed";
		/* vgpud closes the connection before it kills a keeper. */
		return keeper->agent_fd < 0 ? NULL :
			"its keeper was killed, perhaps because its control group ran out of memory";
	}
	switch (WEXITSTATUS(status)) {
	case EXIT_SUCCESS:
		return NULL;
	case KEEPER_EXIT_FEATURES:
		return "QEMU 11.1 or later is needed for a window, with config_size=32 in the device's line";
	case KEEPER_EXIT_PROTOCOL:
		return "its hypervisor has violated the vhost-user protocol";
	case KEEPER_EXIT_SILENT:
		return "its hypervisor did not answer a request for the window";
	default:
		return "its keeper has failed";
	}
}

static void log_end(const struct keeper *keeper, int status)
{
	const char *reason = end_reason(keeper, status);

	if (reason)
		log_guest(keeper->cid, keeper->port,
			  "%s (%s %d): %s until its hypervisor connects again", reason,
			  WIFSIGNALED(status) ? "signal" : "status",
			  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			  keepers_show ? "it has no window" :
			  "devices cannot keep its memory");
	else
		log_limited(keeper->cid, keeper->port, "its hypervisor has disconnected from its window");
}

void keeper_free(struct keeper *keeper)
{
	sandbox_close(&keeper->sandbox);
	free(keeper);
}

void keeper_reaped(pid_t pid, int status)
{
	struct keeper *keeper;

	LIST_FOREACH(keeper, &keepers, node)
		if (keeper->pid == pid)
			break;
	if (!keeper)
		return;
	log_end(keeper, status);
	keeper_leave(keeper);
	keeper->pid = 0;
	sandbox_return_user(&keeper->sandbox);
	/* The window was destroyed. */
	if (keeper->source.fd < 0) {
		LIST_REMOVE(keeper, node);
		keeper_free(keeper);
	}
}
