// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/queue.h>

#include "config.h"
#include "loop.h"
#include "pace.h"

/* Each of them costs this much, and settings.session_rate of it comes back each millisecond. */
#define PACE_COST	1000ULL

/**
 * struct pace - a guest that has begun sessions or connections lately
 * @cid: who
 * @port: the port of ours by which it came
 * @paid: when all that it has begun is paid for, in milliseconds times settings.session_rate
 */
struct pace {
	LIST_ENTRY(pace) node;
	uint32_t cid;
	uint32_t port;
	uint64_t paid;
};

static LIST_HEAD(, pace) paces = LIST_HEAD_INITIALIZER(paces);

/* The guest's, or NULL. Those that have nothing left to pay are as if they were not there. */
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

unsigned int pace_wait_ms(void)
{
	return PACE_COST / settings.session_rate + 1;
}
