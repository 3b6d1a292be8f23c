// SPDX-License-Identifier: MIT
/* The list of handshakes, and what they can do: wait, be refused, end. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "handshake/list.h"
#include "shared/log.h"

/* List of all handshakes in the order of their arrival, the oldest first. */
struct handshake_list handshakes = TAILQ_HEAD_INITIALIZER(handshakes);

bool handshake_waits(const struct handshake *handshake, uint16_t type)
{
	return handshake->waiting && le16_to_cpu(handshake->msg.hdr.type) == type;
}

void handshake_wait(struct handshake *handshake)
{
	handshake->waiting = true;
	/* EPOLLRDHUP is all that vsock reports of an end that is closed. */
	source_set(&handshake->source, EPOLLRDHUP);
}

void handshake_end(struct handshake *handshake)
{
	timer_cancel(&handshake->timer);
	source_close(&handshake->source);
	TAILQ_REMOVE(&handshakes, handshake, node);
	free(handshake);
}

bool handshake_send(int fd, const void *msg, size_t len)
{
	return send(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

void handshake_say_no(struct handshake *handshake, int error)
{
	struct vgpu_refuse refuse = {
		.hdr.len = cpu_to_le32(sizeof(refuse)),
		.hdr.type = cpu_to_le16(VGPU_MSG_REFUSE),
		.error = cpu_to_le32(error),
	};

	log_debug("guest %u:%u refused: %s", handshake->cid, handshake->port, strerror(error));
	handshake_send(handshake->source.fd, &refuse, sizeof(refuse));
}

void handshake_refuse(struct handshake *handshake, int error)
{
	handshake_say_no(handshake, error);
	handshake_end(handshake);
}
