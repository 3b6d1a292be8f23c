// SPDX-License-Identifier: MIT
/* HELLO, by which a guest connects, and LANE, by which one of its sessions gets a connection. */
#include <errno.h>
#include <string.h>

#include "base/tsc.h"
#include "base/unixsock.h"
#include "config/config.h"
#include "config/guests.h"
#include "export/grant.h"
#include "guest/adopt.h"
#include "guest/buffer.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "handshake/handshake.h"
#include "handshake/hello.h"
#include "handshake/pace.h"
#include "host/hostdev.h"
#include "keeper/keeper.h"
#include "process/confine.h"
#include "shadow/layout.h"
#include "shared/log.h"

/* --- HELLO ------------------------------------------------------------------- */

static void handshake_peer_gone(uint32_t cid, uint32_t port);

static bool send_welcome(int fd, const struct peer *peer, uint64_t features)
{
	const struct limits limits = guest_limits(peer->cid, peer->port);
	struct vgpu_welcome welcome = {
		.hdr.len = cpu_to_le32(sizeof(welcome)),
		.hdr.type = cpu_to_le16(VGPU_MSG_WELCOME),
		.magic = cpu_to_le32(VGPU_WIRE_MAGIC),
		.version = cpu_to_le16(VGPU_WIRE_VERSION),
		.features = cpu_to_le64(features),
		.reserved_base = cpu_to_le64(SHADOW_RESERVED_BASE),
		.reserved_size = cpu_to_le64(SHADOW_RESERVED_SIZE),
		.call_bytes_max = cpu_to_le32(limits.host.call_bytes),
		.segs_max = cpu_to_le32(VGPU_SEGS_MAX),
		.fixups_max = cpu_to_le32(VGPU_FIXUPS_MAX),
		.lanes_max = cpu_to_le32(limits.host.lanes),
		.ping_timeout_ms = cpu_to_le32(settings.ping_timeout_ms),
		.tsc_khz = cpu_to_le32(tsc_khz()),
	};

	memcpy(welcome.secret, peer->secret, sizeof(welcome.secret));
	return handshake_send(fd, &welcome, sizeof(welcome));
}

/* Send WELCOME, and hand the connection over. @handshake is freed. */
static void handshake_welcome(struct handshake *handshake)
{
	uint64_t features = le64_to_cpu(handshake->msg.hello.features) & VGPU_FEATURES;
	struct peer *peer;
	int ret;

	/*
	 * VGPU_FEATURE_KEEP makes the guest pin memory, which is useless if no keeper tells the
	 * module where the guest's memory is.
	 */
	if (!hostdev_is_engine() && !keeper_connected(handshake->cid, handshake->port))
		features &= ~VGPU_FEATURE_KEEP;
	if (hostdev_is_engine() && !keeper_find(handshake->cid, handshake->port))
		features &= ~(VGPU_FEATURE_WINDOW | VGPU_FEATURE_KEEP);
	/*
	 * Devices cannot keep such pages, and a program's memory may lie anywhere in the
	 * guest's.
	 */
	if ((features & VGPU_FEATURE_KEEP) &&
	    keeper_memory_has(handshake->cid, handshake->port, KEEPER_STATE_GIANT)) {
		features &= ~VGPU_FEATURE_KEEP;
		log_guest(handshake->cid, handshake->port,
			  "its memory is in hugetlbfs pages of more than 2 MiB, so devices cannot keep any of it (use pages of 2 MiB, or no hugetlbfs)");
	}
	/* The guest would pin memory for calls that nearly all fail. */
	if (keeper_memory_has(handshake->cid, handshake->port, KEEPER_STATE_HUGE))
		features &= ~VGPU_FEATURE_KEEP;
	if (!(features & VGPU_FEATURE_KEEP) || !confine_has_keys())
		features &= ~VGPU_FEATURE_KEEP_ALONE;
	if (!(features & VGPU_FEATURE_DEMAND))
		features &= ~VGPU_FEATURE_WRITE_NAMED;

	ret = peer_new(handshake->cid, handshake->port, handshake->remote_port < TRUSTED_PORTS,
		       handshake_peer_gone, &peer);
	if (ret) {
		handshake_refuse(handshake, ret == -EMFILE ? EMFILE : ENOMEM);
		return;
	}
	if (!send_welcome(handshake->source.fd, peer, features)) {
		peer_free(peer);
		handshake_end(handshake);
		return;
	}
	source_del(&handshake->source);
	buffer_enlarge(handshake->source.fd);
	ret = peer_start(peer, handshake->source.fd, features);
	if (ret) {
		log_guest(handshake->cid, handshake->port, "the host module refused this guest: %s",
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
				  "connects by a socket, which hides its port: export to this guest with any-port");
		else
			log_guest(handshake->cid, handshake->port,
				  "connects from port %u instead of one below %u (does a bridge hide its ports? see any-port in vgpud(8))",
				  handshake->remote_port, TRUSTED_PORTS);
		handshake_refuse(handshake, EACCES);
		return false;
	}
	if (!hello_version_ok(&handshake->msg.hello)) {
		log_guest(handshake->cid, handshake->port, "speaks versions %u to %u of the protocol, but this host speaks version %u: install the same vgpu on both",
			  le16_to_cpu(handshake->msg.hello.version_min),
			  le16_to_cpu(handshake->msg.hello.version_max), VGPU_WIRE_VERSION);
		handshake_refuse(handshake, EPROTONOSUPPORT);
		return false;
	}
	return true;
}

void handshake_hello(struct handshake *handshake)
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

void hello_adopt(void)
{
	peers_adopt(handshake_peer_gone);
}

/* --- LANE --------------------------------------------------------------------- */

/* Return the peer whose secret the LANE repeats, or NULL. */
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

/* Check whether the LANE would begin a session. */
static bool lane_is_first(const struct handshake *handshake, const struct peer *peer)
{
	return session_is_new(peer, le64_to_cpu(handshake->msg.lane.session));
}

bool lane_is_free(const struct handshake *handshake)
{
	const struct peer *peer;

	if (!handshake_waits(handshake, VGPU_MSG_LANE))
		return false;
	peer = lane_peer(handshake);
	return !peer || !lane_is_first(handshake, peer);
}

/* Give the connection to its session. @handshake is freed. */
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

void handshake_lane(struct handshake *handshake)
{
	struct peer *peer = lane_peer(handshake);
	unsigned int waiting;

	if (!peer) {
		log_guest(handshake->cid, handshake->port, "opened a lane (connection) with a wrong secret, from port %u",
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

void handshake_take(struct handshake *handshake)
{
	if (handshake_waits(handshake, VGPU_MSG_LANE))
		lane_take(handshake);
	/* The guest's exports may have changed while it waited. */
	else if (hello_is_welcome(handshake))
		handshake_welcome(handshake);
}
