// SPDX-License-Identifier: MIT
/* Turns of handshakes that wait for the pace of their guests. */
#include <stddef.h>

#include "guest/pace.h"
#include "guest/peer.h"
#include "handshake/hello.h"
#include "handshake/lane.h"
#include "handshake/list.h"
#include "handshake/turn.h"

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

void turn_come(struct timer *timer)
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
