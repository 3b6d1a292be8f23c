// SPDX-License-Identifier: MIT
/* Paces: a token bucket for each guest that has begun sessions or connections lately. */
#include <stdlib.h>
#include <sys/queue.h>

#include "config/config.h"
#include "guest/pace.h"
#include "shared/loop.h"

/* Cost of a session or connection; settings.session_rate of it is paid back each millisecond. */
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

unsigned int pace_wait_ms(void)
{
	return PACE_COST / settings.session_rate + 1;
}
