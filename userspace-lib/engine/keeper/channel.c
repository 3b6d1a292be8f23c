// SPDX-License-Identifier: MIT
/*
 * The channel for requests that the keeper sends to the hypervisor. The hypervisor answers one
 * request before the keeper sends the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "engine/base/packet.h"
#include "engine/keeper/channel.h"
#include "engine/keeper/keeper.h"
#include "engine/keeper/vhost.h"
#include "shared/loop.h"

/*
 * Time in milliseconds that a hypervisor has for a request. A guest may be silent for 10 s, and the
 * hypervisor may be busy with the guest's processors for that long: so this time is longer.
 */
#define ANSWER_TIMEOUT_MS	20000

static void channel_ready(struct source *source, uint32_t events);

static struct source channel = { .fd = -1, .ready = channel_ready };

static void channel_silent(struct timer *timer)
{
	(void)timer;
	exit(KEEPER_EXIT_SILENT);
}

static struct timer silence = { .expired = channel_silent };

/* Part of the hypervisor's answer that was received, in_have bytes. */
static struct {
	struct vhost_hdr hdr;
	uint8_t value[sizeof(uint64_t)];
} in;
static size_t in_have;
/* Function that is called with each answer. */
static void (*answered)(uint64_t value);

/* Send a request. All earlier requests were answered, so the socket has room. */
static void request(uint32_t type, const void *payload, uint32_t size, int fd)
{
	struct vhost_hdr hdr = {
		.request = type,
		.flags = VHOST_VERSION | VHOST_NEED_REPLY,
		.size = size,
	};
	struct iovec iov[] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)(uintptr_t)payload, .iov_len = size },
	};

	/* A hypervisor that gets a part of the request does not answer, so the deadline passes. */
	if (packet_send(channel.fd, iov, 2, fd))
		exit(KEEPER_EXIT_SILENT);
	timer_set(&silence, ANSWER_TIMEOUT_MS);
}

void channel_ask_settled(void)
{
	const uint8_t uuid[16] = {};

	request(VHOST_BACKEND_SHARED_REMOVE, uuid, sizeof(uuid), -1);
}

void channel_ask(uint32_t type, const struct vhost_mmap *mmap, int fd)
{
	request(type, mmap, sizeof(*mmap), fd);
}

void channel_excuse(void)
{
	timer_cancel(&silence);
}

bool channel_is_there(void)
{
	return channel.fd >= 0;
}

static void channel_ready(struct source *source, uint32_t events)
{
	const size_t want = sizeof(in.hdr) + sizeof(in.value);
	uint64_t value;
	ssize_t len;

	(void)events;
	len = recv(source->fd, (uint8_t *)&in + in_have, want - in_have, MSG_DONTWAIT);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0)
		exit(EXIT_SUCCESS);
	in_have += len;
	if (in_have < want)
		return;
	in_have = 0;
	if (in.hdr.size != sizeof(in.value))
		exit(KEEPER_EXIT_PROTOCOL);
	memcpy(&value, in.value, sizeof(value));
	answered(value);
}

void channel_use(int fd, void (*handler)(uint64_t value))
{
	source_close(&channel);
	in_have = 0;
	answered = handler;
	channel.fd = fd;
	/* If epoll does not accept the file, it is no socket. */
	if (source_add(&channel, EPOLLIN))
		exit(KEEPER_EXIT_PROTOCOL);
}
