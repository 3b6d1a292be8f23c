// SPDX-License-Identifier: MIT
/*
 * Handshakes: vgpud reads the first message of each connection, HELLO or LANE, and accepts or
 * refuses the connection.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "export/grant.h"
#include "handshake/handshake.h"
#include "handshake/hello.h"
#include "shared/log.h"

/* Number of handshakes that each guest may have, however many other guests have. */
#define OWN_PENDING	16
/*
 * Number of refused connections that stay open, so that guests can read the reason. If there are
 * more, the oldest is closed.
 */
#define REFUSED_MAX	64

/* Milliseconds between two checks whether a message that came in time has been read. */
#define UNHEARD_MS	10

static const struct vgpu_wire_limits no_calls;

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

/* Send a REFUSE with a positive errno. */
static void handshake_say_no(struct handshake *handshake, int error)
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

static bool header_ok(const struct vgpu_hdr *hdr)
{
	const uint16_t type = le16_to_cpu(hdr->type);

	return (type == VGPU_MSG_HELLO || type == VGPU_MSG_LANE) &&
	       !vgpu_wire_hdr_check(hdr, &no_calls);
}

static void handshake_malformed(struct handshake *handshake)
{
	log_guest(handshake->cid, handshake->port,
		  "sent a first message that is neither HELLO nor LANE, from port %u",
		  handshake->remote_port);
	handshake_refuse(handshake, EPROTO);
}

static void handshake_ready(struct source *source, uint32_t events)
{
	struct handshake *handshake = container_of(source, struct handshake, source);
	ssize_t len;

	if (handshake->refused) {
		/*
		 * The event is EPOLLRDHUP or an error: the guest has read the refusal, or does
		 * not want to.
		 */
		handshake_end(handshake);
		return;
	}
	if (handshake->waiting) {
		/*
		 * Only the end of the connection is reported, since no other event is
		 * requested.
		 */
		if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
			handshake_end(handshake);
		return;
	}

	len = recv(source->fd, handshake->msg.bytes + handshake->have,
		   handshake->want - handshake->have, MSG_DONTWAIT);
	if (len <= 0) {
		if (!len || (errno != EAGAIN && errno != EINTR))
			handshake_end(handshake);
		return;
	}
	handshake->have += len;
	if (handshake->have < handshake->want)
		return;

	if (handshake->want == sizeof(struct vgpu_hdr)) {
		if (!header_ok(&handshake->msg.hdr)) {
			handshake_malformed(handshake);
			return;
		}
		/* HELLO and LANE have a fixed length, which header_ok() has checked. */
		handshake->want = le32_to_cpu(handshake->msg.hdr.len);
		return;
	}
	if (vgpu_wire_msg_check(&handshake->msg, handshake->have, &no_calls)) {
		handshake_malformed(handshake);
		return;
	}
	if (le16_to_cpu(handshake->msg.hdr.type) == VGPU_MSG_HELLO)
		handshake_hello(handshake);
	else
		handshake_lane(handshake);
}

/* Check whether the socket has bytes that vgpud has not read. */
static bool handshake_is_unheard(const struct handshake *handshake)
{
	char byte;

	return !handshake->refused &&
	       recv(handshake->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void handshake_expired(struct timer *timer)
{
	struct handshake *handshake = container_of(timer, struct handshake, timer);

	if (handshake->waiting)
		handshake_refuse(handshake, EBUSY);
	/*
	 * vgpud was slow, not the guest: extend the deadline. Each extension needs a byte that
	 * vgpud has yet to read, and vgpud reads one message at most, so the extensions end.
	 */
	else if (handshake_is_unheard(handshake))
		timer_set(timer, UNHEARD_MS);
	else
		handshake_end(handshake);
}

/*
 * Check whether there is room for one more connection of the guest. Connections that were
 * refused at once are not counted. Connections from ports below TRUSTED_PORTS are counted apart
 * from the others, so that no user of a guest can shut out its kernel.
 */
static bool handshake_room(uint32_t cid, uint32_t port, bool trusted)
{
	unsigned int all = 0, of_guest = 0;
	struct handshake *handshake;

	TAILQ_FOREACH(handshake, &handshakes, node) {
		if (handshake->refused)
			continue;
		all++;
		of_guest += handshake->cid == cid && handshake->port == port &&
			    (handshake->remote_port < TRUSTED_PORTS) == trusted;
	}
	return of_guest < settings.pending_per_guest &&
	       (all < settings.pending || of_guest < OWN_PENDING);
}

/* End the oldest refused connection if there are too many. */
static void handshake_make_room(void)
{
	struct handshake *handshake, *oldest = NULL;
	unsigned int nr = 0;

	TAILQ_FOREACH(handshake, &handshakes, node) {
		if (!handshake->refused)
			continue;
		nr++;
		if (!oldest)
			oldest = handshake;
	}
	if (nr > REFUSED_MAX)
		handshake_end(oldest);
}

void handshake_start(int fd, uint32_t cid, uint32_t remote_port, uint32_t port)
{
	struct handshake *handshake = NULL;
	bool any_port, known = exports_for_guest(cid, port, &any_port);

	if (!known || handshake_room(cid, port, remote_port < TRUSTED_PORTS))
		handshake = calloc(1, sizeof(*handshake));
	else
		log_guest(cid, port, "has too many connections that have sent nothing yet: a new one was refused");
	if (!handshake) {
		close(fd);
		return;
	}
	handshake->source.fd = fd;
	handshake->source.ready = handshake_ready;
	handshake->timer.expired = handshake_expired;
	handshake->cid = cid;
	handshake->remote_port = remote_port;
	handshake->port = port;
	handshake->refused = !known;
	handshake->want = sizeof(struct vgpu_hdr);
	TAILQ_INSERT_TAIL(&handshakes, handshake, node);
	timer_set(&handshake->timer, settings.handshake_timeout_ms);
	/* Data of a guest that is refused is not read, however much the guest sends. */
	if (source_add(&handshake->source, known ? EPOLLIN : EPOLLRDHUP)) {
		handshake_end(handshake);
		return;
	}
	/* A guest without an export takes no room of the guests that have one. */
	if (!known) {
		log_guest(cid, port, "nothing is exported to it");
		handshake_say_no(handshake, ENOENT);
		handshake_make_room();
	}
}
