// SPDX-License-Identifier: MIT
/* Limits of guests that are connected. */
#include <string.h>

#include "config/guests.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "host/hostdev.h"
#include "process/confine.h"
#include "shared/log.h"

void peer_limit(struct peer *peer)
{
	const struct limits limits = guest_limits(peer->cid, peer->port);
	const enum spawn_kind kind = hostdev_is_engine() ? SPAWN_ENGINE_SHADOW : SPAWN_SHADOW;
	struct session *session;
	int ret;

	if (peer->state != PEER_UP)
		return;
	/* The kernel's own limits are raised first: the guest may use the new ones at once. */
	LIST_FOREACH(session, &peer->sessions, node)
		if (!session->dead)
			confine_raise(session->pid, kind, peer->cid, peer->port);
	ret = hostdev_peer_limit(peer->number, &limits);
	if (ret)
		log_guest(peer->cid, peer->port, "its limits cannot be changed: %s",
			  strerror(-ret));
}
