// SPDX-License-Identifier: MIT
/*
 * Paces: a token bucket for each guest that has begun sessions or connections lately. Also the
 * turns of handshakes whose guest has used up its pace.
 */
#include <stdlib.h>

#include "config/config.h"
#include "guest/peer.h"
#include "handshake/handshake.h"
#include "handshake/hello.h"
#include "handshake/pace.h"
#include "shared/log.h"

/*
 * Cost of a session or connection, in units of which settings.session_rate are paid back each
 * millisecond.
 */
#define PACE_COST	1000ULL

/**
 * struct pace - a guest that has begun sessions or connections lately
 * @node: entry of paces
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @paid: time at which all costs are paid back, in milliseconds times settings.session_rate
 */
struct pace {
	LIST_ENTRY(pace) node;
	uint32_t cid;
	uint32_t port;
	uint64_t paid;
};

static LIST_HEAD(, pace) paces = LIST_HEAD_INITIALIZER(paces);

/*
 * Find the guest's pace, or NULL. The paces of other guests that have paid back everything are
 * freed.
 */
static struct pace *pace_find(uint32_t cid, uint32_t port, uint64_t now)
{
	struct pace *pace = LIST_FIRST(&paces), *next, *found = NULL;

	for (; pace; pace = next) {
		next = LIST_NEXT(pace, node);
		if (pace->cid == cid && pace->port == port) {
			found = pace;
		} else if (pace->paid <= now) {
			LIST_REMOVE(pace, node);
			free(pace);
		}
	}
	return found;
}

bool pace_take(uint32_t cid, uint32_t port)
{
	uint64_t now = now_ms() * settings.session_rate;
	uint64_t burst = PACE_BURST_S * PACE_COST * settings.session_rate;
	struct pace *pace = pace_find(cid, port, now);

	if (!pace) {
		pace = calloc(1, sizeof(*pace));
		if (!pace)
			return false;
		pace->cid = cid;
		pace->port = port;
		LIST_INSERT_HEAD(&paces, pace, node);
	}
	if (pace->paid < now)
		pace->paid = now;
	if (pace->paid + PACE_COST > now + burst)
		return false;
	pace->paid += PACE_COST;
	return true;
}

/* Return the milliseconds after which any guest may begin one more session or connection. */
static unsigned int pace_wait_ms(void)
{
	return PACE_COST / settings.session_rate + 1;
}

/* --- turns -------------------------------------------------------------------- */

/* Check whether a handshake waits for its guest's pace, not for the end of an old connection. */
static bool turn_is_awaited(const struct handshake *handshake)
{
	return handshake_waits(handshake, VGPU_MSG_LANE) ||
	       (handshake_waits(handshake, VGPU_MSG_HELLO) &&
		!peer_find(handshake->cid, handshake->port));
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
		    (lane_is_free(handshake) || pace_take(handshake->cid, handshake->port)))
			return handshake;
	return NULL;
}

/* Let the oldest handshake that can go on do so. */
static void turn_come(struct timer *timer)
{
	struct handshake *handshake = turn_next();

	/*
	 * Each turn starts one process, which takes time: serve other events before the next
	 * turn.
	 */
	if (handshake) {
		handshake_take(handshake);
		timer_set(timer, 1);
		return;
	}
	TAILQ_FOREACH(handshake, &handshakes, node)
		if (turn_is_awaited(handshake)) {
			timer_set(timer, pace_wait_ms());
			return;
		}
}

/* Timer that resumes a HELLO or LANE which waits for its guest's pace. */
static struct timer turn = { .expired = turn_come };

void handshake_wait_turn(struct handshake *handshake)
{
	log_guest(handshake->cid, handshake->port,
		  "starts more than %u programs and connections a second: the others wait (session-rate in [limits])",
		  settings.session_rate);
	handshake_wait(handshake);
	if (!turn.set)
		timer_set(&turn, pace_wait_ms());
}
