// SPDX-License-Identifier: MIT
/* Limits of guests that are connected. */
#include <string.h>

#include "base/rights.h"
#include "config/config.h"
#include "config/guests.h"
#include "guest/limit.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "host/hostdev.h"
#include "process/cgroup.h"
#include "process/confine.h"
#include "shared/log.h"

/* Log a group that could not be changed; cgroup_open() logs it when the group is made. */
static void limit_group(struct peer *peer, const struct limits *limits)
{
	const struct group_limits group = group_limits_of(limits);
	int ret = cgroup_limit(&peer->sandbox, &group);

	if (ret)
		log_guest(peer->cid, peer->port, "the limits of its control group cannot be changed: %s",
			  strerror(-ret));
}

void peer_limit(struct peer *peer)
{
	const struct limits limits = guest_limits(peer->cid, peer->port);
	const enum spawn_kind kind = hostdev_is_engine() ? SPAWN_ENGINE_SHADOW : SPAWN_SHADOW;
	struct session *session;
	int ret;

	/* Programs of a guest that is gone may still run, and the next connection has the group. */
	limit_group(peer, &limits);
	if (peer->state != PEER_UP)
		return;
	/* The kernel's own limits are raised first: the guest may use the new ones at once. */
	LIST_FOREACH(session, &peer->sessions, node)
		if (!session->dead && (session->end.fd < 0 ||
				       process_is_of(session->end.fd, peer->sandbox.uid)))
			confine_raise(session->pid, kind, peer->cid, peer->port);
	ret = hostdev_peer_limit(peer->number, &limits);
	if (ret)
		log_guest(peer->cid, peer->port, "its limits cannot be changed: %s",
			  strerror(-ret));
}
