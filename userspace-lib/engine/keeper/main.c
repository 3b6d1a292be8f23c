// SPDX-License-Identifier: MIT
/*
 * vgpu-keeper, the keeper of one guest's window: a vhost-user back-end without queues. It has the
 * connection of the guest's hypervisor as long as that lasts, while engines come and go, and has
 * the hypervisor map files into the window for these engines. vgpud starts it when the hypervisor
 * has connected, and hands it this connection, and later a connection to each engine of the guest.
 * The keeper ends when the connection of the hypervisor or of vgpud ends.
 *
 * The hypervisor and the engines may send anything at any time: the keeper trusts them no more
 * than the guest. One thread, the loop, does everything and never waits: the hypervisor sends
 * requests of its own while it handles one of the keeper, and waits for the answers. The closer,
 * a second thread, closes the engines' files, as that may sleep in drivers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/closer.h"
#include "engine/base/packet.h"
#include "engine/keeper/keeper.h"
#include "engine/keeper/qemu.h"
#include "engine/keeper/ram.h"
#include "engine/keeper/region.h"
#include "shadow/sys.h"
#include "shared/loop.h"

/* --- the engine ----------------------------------------------------------------- */

static void engine_gone(void)
{
	keeper_disconnect();
	region_abandon();
}

static void engine_ready(struct source *source, uint32_t events)
{
	struct keeper_msg msg;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return;
	if (len == sizeof(msg) && msg.type == KEEPER_MAP) {
		region_map(&msg, fd);
		return;
	}
	if (fd >= 0)
		closer_close(fd, NULL, NULL);
	if (len == sizeof(msg) && msg.type == KEEPER_UNMAP)
		region_unmap(&msg);
	else
		engine_gone();
}

/* --- vgpud ----------------------------------------------------------------------- */

static void agent_ready(struct source *source, uint32_t events)
{
	struct keeper_msg msg;
	ssize_t len;
	int fd;

	(void)events;
	len = packet_recv(source->fd, &msg, sizeof(msg), &fd);
	if (len == -EAGAIN || len == -EINTR)
		return;
	if (len != sizeof(msg))
		exit(EXIT_SUCCESS);
	if (fd < 0)
		return;
	if (msg.type == KEEPER_MEMORY) {
		ram_module(fd);
		return;
	}
	/* A guest has one engine at a time, so the earlier engine, if any, is ending. */
	engine_gone();
	if (keeper_connect(fd, engine_ready))
		exit(KEEPER_EXIT_START);
	ram_tell();
	region_look();
}

static struct source agent = { .fd = KEEPER_FD_AGENT, .ready = agent_ready };

int main(void)
{
	int fd;

	/* Threads inherit the filter, so none may exist yet. */
	if (exec_forbid())
		return KEEPER_EXIT_START;
	/* exec made the process dumpable again. */
	prctl(PR_SET_DUMPABLE, 0UL);
	signal(SIGPIPE, SIG_IGN);
	/* vgpud has sent KEEPER_START before it started the keeper. */
	if (fcntl(agent.fd, F_GETFD) < 0) {
		dprintf(STDERR_FILENO,
			"only vgpud starts this program: run 'systemctl start vgpud'\n");
		return 2;
	}
	if (packet_recv(agent.fd, &window, sizeof(window), &fd) != sizeof(window) ||
	    window.type != KEEPER_START || loop_init() || closer_init() ||
	    source_add(&agent, EPOLLIN) || qemu_init() || loop_run())
		return KEEPER_EXIT_START;
	return EXIT_SUCCESS;
}
