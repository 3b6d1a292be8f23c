// SPDX-License-Identifier: MIT
/*
 * vgpu-keeper, the keeper of a guest's window (keeper.h). vgpud starts it when the guest's
 * hypervisor has connected, and hands it this connection, and later a connection to each engine
 * of the guest. The keeper ends when the connection of the hypervisor or of vgpud ends.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/closer.h"
#include "engine/packet.h"
#include "keeper.h"
#include "shadow/exec.h"
#include "vgpud/loop.h"

struct keeper_msg window;

static void engine_ready(struct source *source, uint32_t events);
static void agent_ready(struct source *source, uint32_t events);

static struct source agent = { .fd = KEEPER_FD_AGENT, .ready = agent_ready };
static struct source engine = { .fd = -1, .ready = engine_ready };
/* True if the engine was told that there is a window, and not yet that the window is gone. */
static bool told;
/* Number of the last KEEPER_READY that was sent to any engine. */
static uint64_t last_ready;

void keeper_end(int status)
{
	exit(status);
}

/* --- the engine ----------------------------------------------------------------- */

static void engine_gone(void)
{
	source_close(&engine);
	told = false;
	region_abandon();
}

void keeper_tell(const struct keeper_msg *msg, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg) };

	/*
	 * An engine that does not read is given up: the loop will find the end of its connection.
	 */
	if (engine.fd >= 0 && packet_send(engine.fd, &iov, 1, fd))
		shutdown(engine.fd, SHUT_RDWR);
}

void keeper_look(void)
{
	struct keeper_msg msg = { .id = window.id, .len = window.len };

	if (engine.fd < 0 || told == region_is_ready() || (!told && region_is_used()))
		return;
	told = region_is_ready();
	msg.type = told ? KEEPER_READY : KEEPER_GONE;
	if (told)
		msg.tag = ++last_ready;
	keeper_tell(&msg, -1);
}

bool keeper_may_map(uint64_t ready)
{
	return told && ready == last_ready;
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
		keeper_end(EXIT_SUCCESS);
	if (fd < 0)
		return;
	if (msg.type == KEEPER_MEMORY) {
		ram_module(fd);
		return;
	}
	/* A guest has one engine at a time, so the earlier engine is ending. */
	if (engine.fd >= 0)
		engine_gone();
	engine.fd = fd;
	if (source_add(&engine, EPOLLIN))
		keeper_end(KEEPER_EXIT_START);
	ram_tell();
	keeper_look();
}

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
	if (packet_recv(agent.fd, &window, sizeof(window), &fd) != sizeof(window) ||
	    window.type != KEEPER_START || loop_init() || closer_init() ||
	    source_add(&agent, EPOLLIN) || qemu_init() || loop_run())
		return KEEPER_EXIT_START;
	return EXIT_SUCCESS;
}
