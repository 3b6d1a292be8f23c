// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the paces of guests (userspace-lib/vgpud/handshake/pace.c): the handshakes that wait go
 * on in turns, and a turn finds the limits of each guest once, however many handshakes wait.
 */
#include <stdarg.h>
#include <string.h>

#include "shared/log.h"
#include "shared/loop.h"
#include "tap.h"
#include "vgpud/config/guests.h"
#include "vgpud/guest/peer.h"
#include "vgpud/handshake/handshake.h"
#include "vgpud/handshake/hello.h"
#include "vgpud/handshake/pace.h"

#define GUESTS		3
#define HANDSHAKES	40
/* Limits session-rate of the guests, and the sessions that one may begin at once at that rate. */
#define RATE(cid)	(10 * (cid))
#define BURST(cid)	(4 * RATE(cid))
#define MS		1000000ULL

struct handshake_list handshakes = TAILQ_HEAD_INITIALIZER(handshakes);
/* Handshakes by guest; those of guest 1 are the oldest. */
static struct handshake all[GUESTS][HANDSHAKES];
static unsigned int nr_limits[GUESTS + 1], nr_taken[GUESTS + 1], wait_ms;
static uint64_t now = 1000 * MS;
static struct timer *turn;

/* --- functions that pace.c calls ---------------------------------------------------------- */

struct limits guest_limits(uint32_t cid, uint32_t port)
{
	nr_limits[cid]++;
	return (struct limits) { .session_rate = RATE(cid) };
}

struct peer *peer_find(uint32_t cid, uint32_t port)
{
	return NULL;
}

bool handshake_waits(const struct handshake *handshake, uint16_t type)
{
	return handshake->waiting && type == VGPU_MSG_LANE;
}

void handshake_wait(struct handshake *handshake)
{
	handshake->waiting = true;
}

bool lane_is_free(const struct handshake *handshake)
{
	return false;
}

void handshake_take(struct handshake *handshake)
{
	nr_taken[handshake->cid]++;
	TAILQ_REMOVE(&handshakes, handshake, node);
}

void timer_set(struct timer *timer, unsigned int ms)
{
	turn = timer;
	timer->set = true;
	wait_ms = ms;
}

uint64_t now_ns(void)
{
	return now;
}

void log_within(struct log_limit *limit, uint32_t cid, uint32_t port, int priority, const char *fmt,
		...)
{
}

/* --- tests -------------------------------------------------------------------------------- */

/* Lets a turn come, after the time that the last one has asked for. */
static void take_turn(void)
{
	now += wait_ms * MS;
	memset(nr_limits, 0, sizeof(nr_limits));
	turn->set = false;
	turn->expired(turn);
}

static void begin(void)
{
	unsigned int cid, i;

	for (cid = 1; cid <= GUESTS; cid++) {
		for (i = 0; i < BURST(cid); i++)
			tap_expect(pace_take(cid, 1), "guest %u: session %u waits", cid, i);
		tap_expect(!pace_take(cid, 1), "guest %u: one session too many", cid);
		for (i = 0; i < HANDSHAKES; i++) {
			all[cid - 1][i].cid = cid;
			all[cid - 1][i].port = 1;
			TAILQ_INSERT_TAIL(&handshakes, &all[cid - 1][i], node);
			handshake_wait_turn(&all[cid - 1][i]);
		}
	}
	tap_expect(turn && turn->set && wait_ms <= 1000 / RATE(1) + 1, "no turn");
	tap_subject("handshakes beyond the pace wait");
}

static void test_limits(void)
{
	unsigned int cid;

	/* No time has passed, so no guest may go on. */
	wait_ms = 0;
	take_turn();
	for (cid = 1; cid <= GUESTS; cid++)
		tap_expect(nr_limits[cid] == 1, "guest %u: limits found %u times", cid,
			   nr_limits[cid]);
	tap_expect(turn->set && wait_ms == 1000 / RATE(GUESTS) + 1, "next turn in %u ms", wait_ms);
	tap_subject("the limits of a guest are found once in a turn");
}

/* A guest whose handshakes are older does not hold up another one with a higher rate. */
static void test_turns(void)
{
	unsigned int nr, cid;
	uint64_t end = now + 500 * MS;

	for (nr = 0; now < end && nr < 100000; nr++) {
		take_turn();
		for (cid = 1; cid <= GUESTS; cid++)
			tap_expect(nr_limits[cid] <= 1, "guest %u: limits found %u times", cid,
				   nr_limits[cid]);
	}
	for (cid = 1; cid <= GUESTS; cid++)
		tap_expect(nr_taken[cid] + 1 >= RATE(cid) / 2 && nr_taken[cid] <= RATE(cid) / 2 + 1,
			   "guest %u: %u sessions in half a second", cid, nr_taken[cid]);
	while (!TAILQ_EMPTY(&handshakes) && nr++ < 100000)
		take_turn();
	for (cid = 1; cid <= GUESTS; cid++)
		tap_expect(nr_taken[cid] == HANDSHAKES, "guest %u: %u sessions", cid,
			   nr_taken[cid]);
	/* The timer of the last session has been set before it was known to be the last. */
	take_turn();
	tap_expect(!turn->set, "a turn for nobody");
	tap_subject("each guest goes on at its own pace");
}

int main(void)
{
	begin();
	test_limits();
	test_turns();
	return tap_done();
}
