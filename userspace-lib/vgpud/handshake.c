// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "confine.h"
#include "export.h"
#include "handshake.h"
#include "hostdev.h"
#include "keeper.h"
#include "log.h"
#include "loop.h"
#include "pace.h"
#include "peer.h"
#include "session.h"
#include "shadow/layout.h"
#include "tsc.h"
#include "unixsock.h"
#include "wire.h"

/* Connections that each guest may have here whatever others do. */
#define OWN_PENDING	16
/* Connections that were refused, and whose other end is to read why. The oldest makes room. */
#define REFUSED_MAX	64

/* Until it is looked at again whether a message that came in time was read, milliseconds. */
#define UNHEARD_MS	10

/* Ports that only a guest's kernel and its root can send from. */
#define TRUSTED_PORTS	1024

/**
 * struct handshake - a connection that is no control connection or lane yet
 * @source: its socket
 * @timer: its deadline
 * @cid: the guest
 * @remote_port: its port
 * @port: ours
 * @waiting: its message is complete, and it is not its turn: a HELLO's until the guest's old
 *	connection is gone, and until the guest may begin another, a LANE's until the guest may
 *	begin a session
 * @refused: it was told so before it was heard, and is not heard
 * @have: bytes read
 * @want: bytes to read: the header's, then the message's. Never more, for a
 *	lane's first call may follow, which is not ours
 * @msg: the message
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

/* Connections are kept in the order in which they came, so the oldest is the first. */
static TAILQ_HEAD(, handshake) handshakes = TAILQ_HEAD_INITIALIZER(handshakes);

static const struct vgpu_wire_limits no_calls;

static void turn_come(struct timer *timer);

/* A HELLO or LANE that waits for its guest's pace may have its turn. */
static struct timer turn = { .expired = turn_come };

static bool handshake_waits(const struct handshake *handshake, uint16_t type)
{
	return handshake->waiting && le16_to_cpu(handshake->msg.hdr.type) == type;
}

static void handshake_wait(struct handshake *handshake)
{
	handshake->waiting = true;
	/* vsock says no more of an end that is closed. */
	source_set(&handshake->source, EPOLLRDHUP);
}

/* Its guest has used up what it may begin for now. */
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

/* A short message fits into an empty send buffer; if not, the guest does without. */
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

	if (hostdev_is_engine())
		features &= ~VGPU_FEATURE_ARENA;
	/* The guest pins memory for it, so for nothing where the module never hears where that is. */
	else if (!keeper_is_connected(handshake->cid, handshake->port))
		features &= ~VGPU_FEATURE_KEEP;
	if (hostdev_is_engine() && !keeper_has_window(handshake->cid, handshake->port))
		features &= ~(VGPU_FEATURE_WINDOW | VGPU_FEATURE_KEEP);
	/* None of that could be used, and what a program has is anywhere. */
	if ((features & VGPU_FEATURE_KEEP) &&
	    keeper_memory_is_giant(handshake->cid, handshake->port)) {
		features &= ~VGPU_FEATURE_KEEP;
		log_guest(handshake->cid, handshake->port,
			  "its memory is in hugetlbfs pages of more than 2 MiB: devices keep none of it (take smaller pages, or none of hugetlbfs)");
	}
	/* The guest would pin memory for calls of which nearly each is refused. */
	if (keeper_memory_is_huge(handshake->cid, handshake->port))
		features &= ~VGPU_FEATURE_KEEP;
	if (!(features & VGPU_FEATURE_KEEP) || !confine_has_keys())
		features &= ~VGPU_FEATURE_KEEP_ALONE;

	peer = peer_new(handshake->cid, handshake->port, handshake->remote_port < TRUSTED_PORTS);
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
	}
	/* The module has its own reference to the socket. */
	handshake_end(handshake);
}

static bool hello_version_ok(const struct vgpu_hello *hello)
{
	return le16_to_cpu(hello->version_min) <= VGPU_WIRE_VERSION &&
	       le16_to_cpu(hello->version_max) >= VGPU_WIRE_VERSION &&
	       le32_to_cpu(hello->page_size) == VGPU_PAGE_SIZE;
}

/* Return: the guest may have a connection; or it was told why not, and this has ended. */
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
		 * The guest's kernel says that its old connection is no more, by opening
		 * another. From an untrusted port it could be anybody: the old one stays
		 * until it ends or stops answering pings.
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

void handshake_peer_gone(uint32_t cid, uint32_t port)
{
	struct handshake *handshake;

	TAILQ_FOREACH(handshake, &handshakes, node)
		if (handshake_waits(handshake, VGPU_MSG_HELLO) && handshake->cid == cid &&
		    handshake->port == port) {
			/* Its rights may have changed meanwhile. */
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

/* How many LANEs of the guest wait already. */
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
	/* The rest of the guest's places are for lanes of programs that run. */
	if (waiting >= settings.pending_per_guest / 2)
		handshake_refuse(handshake, EBUSY);
	else
		handshake_wait_turn(handshake);
}

/* --- whose turn it is ------------------------------------------------------- */

/* A HELLO that waits for the end of the guest's old connection hears of that. */
static bool turn_is_awaited(const struct handshake *handshake)
{
	return handshake_waits(handshake, VGPU_MSG_LANE) ||
	       (handshake_waits(handshake, VGPU_MSG_HELLO) &&
		!peer_find(handshake->cid, handshake->port));
}

/* A LANE need not wait any more where its guest is gone, or another has begun its session. */
static bool turn_is_free(const struct handshake *handshake)
{
	const struct peer *peer;

	if (handshake_waits(handshake, VGPU_MSG_HELLO))
		return false;
	peer = lane_peer(handshake);
	return !peer || !lane_is_first(handshake, peer);
}

/* Return: the oldest whose turn it is, which is paid for, or NULL. */
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
	/* Its guest's rights may have changed meanwhile. */
	else if (hello_is_welcome(handshake))
		handshake_welcome(handshake);
}

static void turn_come(struct timer *timer)
{
	struct handshake *handshake = turn_next();

	/* One process a turn: it takes its time, and others are heard before the next one. */
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
		/* The guest has read why, or does not want to; nothing else is waited for. */
		handshake_end(handshake);
		return;
	}
	if (handshake->waiting) {
		/* Only its end can be reported, as nothing else is waited for. */
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
		/* HELLO and LANE have one length each, which the check demands. */
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

/* The guest has said something that was not read yet. */
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
	 * The agent was held up, not the guest. A guest gets this time for each byte of one message
	 * at most.
	 */
	else if (handshake_is_unheard(handshake))
		timer_set(timer, UNHEARD_MS);
	else
		handshake_end(handshake);
}

/*
 * Guests to which nothing is exported are not among these. What comes from ports below
 * TRUSTED_PORTS has room of its own, so that no user of a guest shuts out its kernel.
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

/* One more was refused. */
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
	/* Data from a guest that is refused is not read, however much it sends. */
	if (source_add(&handshake->source, known ? EPOLLIN : EPOLLRDHUP)) {
		handshake_end(handshake);
		return;
	}
	/* A guest that has no export takes none of the room of those that have one. */
	if (!known) {
		log_guest(cid, port, "nothing is exported to it");
		handshake_say_no(handshake, ENOENT);
		handshake_make_room();
	}
}
