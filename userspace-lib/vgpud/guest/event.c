// SPDX-License-Identifier: MIT
/* Events of guests: the end of their sessions, connections and processes. */
#include <stddef.h>
#include <sys/wait.h>

#include "engines/master.h"
#include "engines/share.h"
#include "guest/event.h"
#include "guest/peer.h"
#include "guest/session.h"
#include "host/hostdev.h"
#include "keeper/process.h"

static void on_session_gone(uint32_t number, uint64_t session)
{
	struct peer *peer = peer_by_number(number);

	if (peer)
		session_gone(peer, session);
}

static void on_session_may_be_reaped(uint32_t number, uint64_t session)
{
	struct peer *peer = peer_by_number(number);

	if (peer)
		session_may_be_reaped(peer, session);
}

static void on_peer_ends(uint32_t number)
{
	struct peer *peer = peer_by_number(number);

	if (peer)
		sessions_end(peer);
}

static void on_peer_gone(uint32_t number)
{
	struct peer *peer = peer_by_number(number);

	share_look();
	if (peer)
		peer_gone(peer);
}

static void on_keeper_came(uint32_t cid, uint32_t port)
{
	const struct peer *peer = peer_find(cid, port);

	if (peer && peer->state == PEER_UP)
		hostdev_memory_offer(cid, port, peer->number);
}

const struct host_events guest_events = {
	.session_gone = on_session_gone,
	.session_may_be_reaped = on_session_may_be_reaped,
	.peer_ends = on_peer_ends,
	.peer_gone = on_peer_gone,
	.keeper_came = on_keeper_came,
};

/* Free the peers whose end has waited for a process that was reaped. */
static void peers_reaped(void)
{
	struct peer *peer, *next;

	for (peer = LIST_FIRST(&peers); peer; peer = next) {
		next = LIST_NEXT(peer, node);
		peer_reaped(peer);
	}
}

void children_reap(void)
{
	struct peer *peer, *next;
	struct session *session;
	int status;
	pid_t pid;

	for (peer = LIST_FIRST(&peers); peer; peer = next) {
		bool any = false;

		next = LIST_NEXT(peer, node);
		LIST_FOREACH(session, &peer->sessions, node)
			any |= session_died(session);
		if (!any)
			continue;
		sessions_reap(peer);
		peer_reaped(peer);
	}
	/* All children except shadows are in vgpud's process group. */
	while ((pid = waitpid(0, &status, WNOHANG | __WALL)) > 0) {
		engine_reaped(pid, status);
		keeper_reaped(pid, status);
		if (master_reaped(pid, status))
			peers_reaped();
	}
}
