// SPDX-License-Identifier: MIT
/* The keeper's window, and its connection to the engine, which is told about the window. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "engine/base/packet.h"
#include "engine/keeper/keeper.h"
#include "shared/loop.h"

struct keeper_msg window;

static struct source engine = { .fd = -1 };
/* True if the engine was told that there is a window, and not yet that the window is gone. */
static bool told;
/* Number of the last KEEPER_READY that was sent to any engine. */
static uint64_t last_ready;

int keeper_connect(int fd, void (*ready)(struct source *source, uint32_t events))
{
	engine.fd = fd;
	engine.ready = ready;
	return source_add(&engine, EPOLLIN);
}

void keeper_disconnect(void)
{
	source_close(&engine);
	told = false;
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

void keeper_look(bool ready, bool used)
{
	struct keeper_msg msg = { .id = window.id, .len = window.len };

	if (engine.fd < 0 || told == ready || (!told && used))
		return;
	told = ready;
	msg.type = told ? KEEPER_READY : KEEPER_GONE;
	if (told)
		msg.tag = ++last_ready;
	keeper_tell(&msg, -1);
}

bool keeper_may_map(uint64_t ready)
{
	return told && ready == last_ready;
}
