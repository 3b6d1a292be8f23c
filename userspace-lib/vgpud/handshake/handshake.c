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
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/tsc.h"
#include "base/unixsock.h"
#include "config/config.h"
#include "export/grant.h"
#include "guest/pace.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "handshake/handshake.h"
#include "host/hostdev.h"
#include "keeper/keeper.h"
#include "process/confine.h"
#include "shadow/layout.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "wire.h"

/* Number of handshakes that each guest may have, however many other guests have. */
#define OWN_PENDING	16
/*
 * Number of refused connections that stay open, so that guests can read the reason. If there are
 * more, the oldest is closed.
 */
#define REFUSED_MAX	64

/* Milliseconds between two checks whether a message that came in time has been read. */
#define UNHEARD_MS	10

/* Only the kernel and root of a guest can connect from ports below this. */
#define TRUSTED_PORTS	1024

/**
 * struct handshake - a connection that is not a control connection or a lane yet
 * @node: entry of handshakes
 * @source: socket of the connection
 * @timer: deadline of the handshake
 * @cid: context ID of the guest
 * @remote_port: port of the guest
 * @port: local port
 * @waiting: true if the message is complete but has to wait: a HELLO until the guest's old
 *	connection is gone and its pace allows another, a LANE until the guest's pace allows a
 *	session
 * @refused: true if the guest was refused at once; nothing is read from it then
 * @have: number of bytes read
 * @want: number of bytes to read: the header, then the message; no more, because the first call
 *	of a lane may follow, which the shadow has to read
 * @msg: bytes of the message
 */
struct handshake {
	TAILQ_ENTRY(handshake) node;
	struct source source;
	struct timer timer;
	uint32_t cid;
	uint32_t remote_port;
	uint32_t port;
	bool waiting;
	bool refused;
	size_t have;
	size_t want;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_hello hello;
		struct vgpu_lane_hello lane;
		uint8_t bytes[sizeof(struct vgpu_lane_hello)];
	} msg;
};

/* List of all handshakes in the order of their arrival, the oldest first. */
static TAILQ_HEAD(, handshake) handshakes = TAILQ_HEAD_INITIALIZER(handshakes);

static const struct vgpu_wire_limits no_calls;

static void handshake_peer_gone(uint32_t cid, uint32_t port);

/* Timer that resumes a HELLO or LANE which waits for its guest's pace. */
static struct timer turn;

static bool handshake_waits(const struct handshake *handshake, uint16_t type)
{
	return handshake->waiting && le16_to_cpu(handshake->msg.hdr.type) == type;
}

static void handshake_wait(struct handshake *handshake)
{
	handshake->waiting = true;
	/* EPOLLRDHUP is all that vsock reports of an end that is closed. */
	source_set(&handshake->source, EPOLLRDHUP);
}

/* Make a handshake wait because its guest has used up its pace. */
static void handshake_wait_turn(struct handshake *handshake)
{
	log_guest(handshake->cid, handshake->port,
		  "begins more than %u programs and connections a second, which wait (session-rate)",
		  settings.session_rate);
	handshake_wait(handshake);
	if (!turn.set)
		timer_set(&turn, pace_wait_ms());
}

static void handshake_end(struct handshake *handshake)
{
	timer_cancel(&handshake->timer);
	source_close(&handshake->source);
	TAILQ_REMOVE(&handshakes, handshake, node);
	free(handshake);
}

/*
 * Send a short message, which fits into an empty send buffer. A message that does not fit is not
 * sent later. Return: true if all of the message was sent.
 */
static bool say(int fd, const void *msg, size_t len)
{
	return send(fd, msg, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static void handshake_say_no(struct handshake *handshake, int error)
{
	struct vgpu_refuse refuse = {
		.hdr.len = cpu_to_le32(sizeof(refuse)),
		.hdr.type = cpu_to_le16(VGPU_MSG_REFUSE),
		.error = cpu_to_le32(error),
	};

	log_debug("guest %u:%u refused: %s", handshake->cid, handshake->port, strerror(error));
	say(handshake->source.fd, &refuse, sizeof(refuse));
}

static void handshake_refuse(struct handshake *handshake, int error)
{
	handshake_say_no(handshake, error);
	handshake_end(handshake);
}

/* --- HELLO ---------------------------------------------------------------- */

static bool send_welcome(int fd, const struct peer *peer, uint64_t features)
{
	struct vgpu_welcome welcome = {
		.hdr.len = cpu_to_le32(sizeof(welcome)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WELCOME),
		.magic = cpu_to_le32(VGPU_WIRE_MAGIC),
		.version = cpu_to_le16(VGPU_WIRE_VERSION),
		.features = cpu_to_le64(features),
		.reserved_base = cpu_to_le64(SHADOW_RESERVED_BASE),
		.reserved_size = cpu_to_le64(SHADOW_RESERVED_SIZE),
		.call_bytes_max = cpu_to_le32(settings.limits.call_bytes),
		.segs_max = cpu_to_le32(VGPU_SEGS_MAX),
		.fixups_max = cpu_to_le32(VGPU_FIXUPS_MAX),
		.lanes_max = cpu_to_le32(settings.limits.lanes),
		.ping_timeout_ms = cpu_to_le32(settings.ping_timeout_ms),
		.tsc_khz = cpu_to_le32(tsc_khz()),
	};

	memcpy(welcome.secret, peer->secret, sizeof(welcome.secret));
	return say(fd, &welcome, sizeof(welcome));
}

static void handshake_welcome(struct handshake *handshake)
{
	uint64_t features = le64_to_cpu(handshake->msg.hello.features) & VGPU_FEATURES;
	struct peer *peer;
	int ret;

	/*
	 * VGPU_FEATURE_KEEP makes the guest pin memory, which is useless if no keeper tells the
	 * module where the guest's memory is.
	 */
	if (!hostdev_is_engine() && !keeper_is_connected(handshake->cid, handshake->port))
		features &= ~VGPU_FEATURE_KEEP;
	if (hostdev_is_engine() && !keeper_has_window(handshake->cid, handshake->port))
		features &= ~(VGPU_FEATURE_WINDOW | VGPU_FEATURE_KEEP);
	/*
	 * Devices cannot keep such pages, and a program's memory may lie anywhere in the
	 * guest's.
	 */
	if ((features & VGPU_FEATURE_KEEP) &&
	    keeper_memory_is_giant(handshake->cid, handshake->port)) {
		features &= ~VGPU_FEATURE_KEEP;
		log_guest(handshake->cid, handshake->port,
			  "its memory is in hugetlbfs pages of more than 2 MiB: devices keep none of it (take smaller pages, or none of hugetlbfs)");
	}
	/* The guest would pin memory for calls that nearly all fail. */
	if (keeper_memory_is_huge(handshake->cid, handshake->port))
		features &= ~VGPU_FEATURE_KEEP;
	if (!(features & VGPU_FEATURE_KEEP) || !confine_has_keys())
		features &= ~VGPU_FEATURE_KEEP_ALONE;

	peer = peer_new(handshake->cid, handshake->port, handshake->remote_port < TRUSTED_PORTS,
			handshake_peer_gone);
	if (!peer) {
		handshake_refuse(handshake, EMFILE);
		return;
	}
	if (!send_welcome(handshake->source.fd, peer, features)) {
		peer_free(peer);
		handshake_end(handshake);
		return;
	}
	source_del(&handshake->source);
	ret = peer_start(peer, handshake->source.fd, features);
	if (ret) {
		log_guest(handshake->cid, handshake->port, "the host module refused it: %s",
			  strerror(-ret));
		peer_free(peer);
	} else {
		exports_grant_all(peer);
	}
	/* The module holds its own reference of the socket. */
	handshake_end(handshake);
}

static bool hello_version_ok(const struct vgpu_hello *hello)
{
	return le16_to_cpu(hello->version_min) <= VGPU_WIRE_VERSION &&
	       le16_to_cpu(hello->version_max) >= VGPU_WIRE_VERSION &&
	       le32_to_cpu(hello->page_size) == VGPU_PAGE_SIZE;
}

/*
 * Check a HELLO. Return: true if it is acceptable; false: it was refused, and @handshake is
 * freed.
 */
static bool hello_is_welcome(struct handshake *handshake)
{
	bool any_port;

	if (!exports_for_guest(handshake->cid, handshake->port, &any_port)) {
		log_guest(handshake->cid, handshake->port, "nothing is exported to it");
		handshake_refuse(handshake, ENOENT);
		return false;
	}
	if (!any_port && handshake->remote_port >= TRUSTED_PORTS) {
		if (unixsock_guest(handshake->cid))
			log_guest(handshake->cid, handshake->port,
				  "comes by a socket, which hides its port: export to it with any-port");
		else
			log_guest(handshake->cid, handshake->port,
				  "came from port %u, not one below %u (a bridge that hides ports? see any-port)",
				  handshake->remote_port, TRUSTED_PORTS);
		handshake_refuse(handshake, EACCES);
		return false;
	}
	if (!hello_version_ok(&handshake->msg.hello)) {
		log_guest(handshake->cid, handshake->port, "speaks versions %u to %u, not %u",
			  le16_to_cpu(handshake->msg.hello.version_min),
			  le16_to_cpu(handshake->msg.hello.version_max), VGPU_WIRE_VERSION);
		handshake_refuse(handshake, EPROTONOSUPPORT);
		return false;
	}
	return true;
}

static void handshake_hello(struct handshake *handshake)
{
	struct peer *old;

	if (!hello_is_welcome(handshake))
		return;
	old = peer_find(handshake->cid, handshake->port);
	if (old) {
		/*
		 * A new connection from the guest's kernel means that its old one is dead. An
		 * untrusted port may be that of any process: the old connection then stays
		 * until it ends or fails to answer pings.
		 */
		if (handshake->remote_port < TRUSTED_PORTS)
			peer_drop(old);
		handshake_wait(handshake);
	} else if (pace_take(handshake->cid, handshake->port)) {
		handshake_welcome(handshake);
	} else {
		handshake_wait_turn(handshake);
	}
}

/* Resume a HELLO that waits for the end of the guest's old connection. */
static void handshake_peer_gone(uint32_t cid, uint32_t port)
{
	struct handshake *handshake;

	TAILQ_FOREACH(handshake, &handshakes, node)
		if (handshake_waits(handshake, VGPU_MSG_HELLO) && handshake->cid == cid &&
		    handshake->port == port) {
			/* The guest's exports may have changed while it waited. */
			handshake->waiting = false;
			handshake_hello(handshake);
			return;
		}
}

/* --- LANE ----------------------------------------------------------------- */

static struct peer *lane_peer(const struct handshake *handshake)
{
	return peer_by_secret(handshake->cid, handshake->port, handshake->msg.lane.secret);
}

/* Count the other LANEs of the guest that wait. */
static unsigned int lanes_waiting(const struct handshake *handshake)
{
	const struct handshake *other;
	unsigned int nr = 0;

	TAILQ_FOREACH(other, &handshakes, node)
		if (other != handshake && handshake_waits(other, VGPU_MSG_LANE) &&
		    other->cid == handshake->cid && other->port == handshake->port)
			nr++;
	return nr;
}

static bool lane_is_first(const struct handshake *handshake, const struct peer *peer)
{
	return session_is_new(peer, le64_to_cpu(handshake->msg.lane.session));
}

static void lane_take(struct handshake *handshake)
{
	struct peer *peer = lane_peer(handshake);
	int ret = -ENODEV;

	source_del(&handshake->source);
	if (peer)
		ret = session_take_lane(peer, &handshake->msg.lane, handshake->source.fd);
	if (ret)
		handshake_refuse(handshake, -ret);
	else
		handshake_end(handshake);
}

static void handshake_lane(struct handshake *handshake)
{
	struct peer *peer = lane_peer(handshake);
	unsigned int waiting;

	if (!peer) {
		log_guest(handshake->cid, handshake->port, "a lane with a wrong secret, from port %u",
			  handshake->remote_port);
		handshake_refuse(handshake, EACCES);
		return;
	}
	waiting = lanes_waiting(handshake);
	if (!lane_is_first(handshake, peer) ||
	    (!waiting && pace_take(handshake->cid, handshake->port))) {
		lane_take(handshake);
		return;
	}
	/*
	 * First lanes of sessions may use half of pending_per_guest. The other half is for lanes of
	 * sessions that exist.
	 */
	if (waiting >= settings.pending_per_guest / 2)
		handshake_refuse(handshake, EBUSY);
	else
		handshake_wait_turn(handshake);
}

/* --- turns ------------------------------------------------------------------ */

/* Check whether a handshake waits for its guest's pace, not for the end of an old connection. */
static bool turn_is_awaited(const struct handshake *handshake)
{
	return handshake_waits(handshake, VGPU_MSG_LANE) ||
	       (handshake_waits(handshake, VGPU_MSG_HELLO) &&
		!peer_find(handshake->cid, handshake->port));
}

/*
 * Check for a LANE that needs no pace: its peer is gone, or another lane has begun its session.
 */
static bool turn_is_free(const struct handshake *handshake)
{
	const struct peer *peer;

	if (handshake_waits(handshake, VGPU_MSG_HELLO))
		return false;
	peer = lane_peer(handshake);
	return !peer || !lane_is_first(handshake, peer);
}

/*
 * Find the oldest waiting handshake that can go on, and charge its guest's pace unless it needs
 * none. Return: NULL: none can.
 */
static struct handshake *turn_next(void)
{
	struct handshake *handshake;

	TAILQ_FOREACH(handshake, &handshakes, node)
		if (turn_is_awaited(handshake) &&
		    (turn_is_free(handshake) || pace_take(handshake->cid, handshake->port)))
			return handshake;
	return NULL;
}

static void turn_take(struct handshake *handshake)
{
	if (handshake_waits(handshake, VGPU_MSG_LANE))
		lane_take(handshake);
	/* The guest's exports may have changed while it waited. */
	else if (hello_is_welcome(handshake))
		handshake_welcome(handshake);
}

static void turn_come(struct timer *timer)
{
	struct handshake *handshake = turn_next();

	/*
	 * Each turn starts one process, which takes time: serve other events before the next
	 * turn.
	 */
	if (handshake) {
		turn_take(handshake);
		timer_set(timer, 1);
		return;
	}
	TAILQ_FOREACH(handshake, &handshakes, node)
		if (turn_is_awaited(handshake)) {
			timer_set(timer, pace_wait_ms());
			return;
		}
}

/* --- reading -------------------------------------------------------------- */

static bool header_ok(const struct vgpu_hdr *hdr)
{
	switch (le16_to_cpu(hdr->type)) {
	case VGPU_MSG_HELLO:
	case VGPU_MSG_LANE:
		return !vgpu_wire_hdr_check(hdr, &no_calls);
	default:
		return false;
	}
}

static void handshake_malformed(struct handshake *handshake)
{
	log_guest(handshake->cid, handshake->port,
		  "said something that is neither HELLO nor LANE, from port %u",
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
		log_guest(cid, port, "too many connections that say nothing");
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

void handshakes_init(void)
{
	turn.expired = turn_come;
}
