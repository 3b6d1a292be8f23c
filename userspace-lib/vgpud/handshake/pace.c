// SPDX-License-Identifier: MIT
/*
 * Paces: a token bucket for each guest that has begun sessions or connections lately. Also the
 * turns of handshakes whose guest has used up its pace.
 */
#include <stdlib.h>

#include "config/config.h"
#include "config/guests.h"
#include "guest/peer.h"
#include "handshake/handshake.h"
#include "handshake/hello.h"
#include "handshake/pace.h"
#include "shared/log.h"

/* Cost of all sessions and connections that a guest may begin in a second, in nanoseconds. */
#define PACE_SECOND	1000000000ULL
/* Longest time in milliseconds until waiting handshakes are looked at again. */
#define TURN_MS		100

/**
 * struct pace - a guest that has begun sessions or connections lately
 * @node: entry of paces
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @paid: time at which all costs are paid back, in nanoseconds of CLOCK_MONOTONIC
 * @rate: limit session-rate of the guest when it was charged last
 * @refused: number of the last turn in which the guest could not be charged; 0: none
 */
struct pace {
	LIST_ENTRY(pace) node;
	uint32_t cid;
	uint32_t port;
	uint64_t paid;
	unsigned int rate;
	uint64_t refused;
};

static LIST_HEAD(, pace) paces = LIST_HEAD_INITIALIZER(paces);
/* Number of the last turn. */
static uint64_t last_turn;

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

/* Charge the guest, whose pace is @pace, or NULL if it has none yet. Return: as pace_take(). */
static bool pace_charge(struct pace *pace, uint32_t cid, uint32_t port, uint64_t now)
{
	uint64_t cost;

	if (!pace) {
		pace = calloc(1, sizeof(*pace));
		if (!pace)
			return false;
		pace->cid = cid;
		pace->port = port;
		LIST_INSERT_HEAD(&paces, pace, node);
	}
	pace->rate = guest_limits(cid, port).session_rate;
	cost = PACE_SECOND / pace->rate;
	if (pace->paid < now)
		pace->paid = now;
	if (pace->paid + cost > now + PACE_BURST_S * PACE_SECOND) {
		pace->refused = last_turn;
		return false;
	}
	pace->paid += cost;
	return true;
}

bool pace_take(uint32_t cid, uint32_t port)
{
	const uint64_t now = now_ns();

	return pace_charge(pace_find(cid, port, now), cid, port, now);
}

/* Return the milliseconds after which a guest may begin one more session or connection. */
static unsigned int pace_wait_ms(unsigned int rate)
{
	unsigned int ms = 1000 / rate + 1;

	/* Another guest, with a higher rate, may come meanwhile. */
	return ms < TURN_MS ? ms : TURN_MS;
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
 * Charge the pace of the handshake's guest, but try that once in each turn: a guest may have many
 * handshakes, and its limits take time to find. *@wait becomes at most the milliseconds until the
 * guest may be charged. Return: true if the guest was charged.
 */
static bool turn_take(const struct handshake *handshake, unsigned int *wait)
{
	const uint64_t now = now_ns();
	struct pace *pace = pace_find(handshake->cid, handshake->port, now);
	unsigned int ms;

	if (pace && pace->refused == last_turn)
		return false;
	if (pace_charge(pace, handshake->cid, handshake->port, now))
		return true;
	/* Without memory for a pace, the guest waits for the longest time. */
	ms = pace ? pace_wait_ms(pace->rate) : TURN_MS;
	*wait = *wait && *wait < ms ? *wait : ms;
	return false;
}

/*
 * Find the oldest waiting handshake that can go on, and charge its guest's pace unless it needs
 * none. Return: NULL: none can; *@wait is set to the milliseconds until one may then, or to 0 if
 * none waits.
 */
static struct handshake *turn_next(unsigned int *wait)
{
	struct handshake *handshake;

	last_turn++;
	*wait = 0;
	TAILQ_FOREACH(handshake, &handshakes, node)
		if (turn_is_awaited(handshake) &&
		    (lane_is_free(handshake) || turn_take(handshake, wait)))
			return handshake;
	return NULL;
}

/* Let the oldest handshake that can go on do so. */
static void turn_come(struct timer *timer)
{
	unsigned int wait;
	struct handshake *handshake = turn_next(&wait);

	/*
	 * Each turn starts one process, which takes time: serve other events before the next
	 * turn.
	 */
	if (handshake) {
		handshake_take(handshake);
		timer_set(timer, 1);
	} else if (wait) {
		timer_set(timer, wait);
	}
}

/* Timer that resumes a HELLO or LANE which waits for its guest's pace. */
static struct timer turn = { .expired = turn_come };

void handshake_wait_turn(struct handshake *handshake)
{
	unsigned int rate = guest_limits(handshake->cid, handshake->port).session_rate;

	log_guest(handshake->cid, handshake->port,
		  "starts more than %u programs and connections a second: the others wait (session-rate in [limits], or for this guest)",
		  rate);
	handshake_wait(handshake);
	if (!turn.set)
		timer_set(&turn, pace_wait_ms(rate));
}
