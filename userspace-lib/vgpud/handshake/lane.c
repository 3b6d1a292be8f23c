// SPDX-License-Identifier: MIT
/* LANE: a session of a guest gets a connection for its calls. */
#include <errno.h>

#include "config/config.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "handshake/handshake.h"
#include "handshake/lane.h"
#include "handshake/pace.h"
#include "shared/log.h"

struct peer *lane_peer(const struct handshake *handshake)
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

bool lane_is_first(const struct handshake *handshake, const struct peer *peer)
{
	return session_is_new(peer, le64_to_cpu(handshake->msg.lane.session));
}

void lane_take(struct handshake *handshake)
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
