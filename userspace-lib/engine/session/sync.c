// SPDX-License-Identifier: MIT
/* Lanes that wait until control messages of the guest are applied. */
#include <errno.h>
#include <stdlib.h>

#include "engine/process/shadow.h"
#include "engine/session/reference.h"
#include "engine/session/sync.h"
#include "shadow/layout.h"
#include "shared/proto.h"

/**
 * struct waiting - a lane that waits for control messages to be applied
 * @shadow: shadow of the lane
 * @lane: index of the lane
 * @seq: number of the last control message that the lane waits for
 */
struct waiting {
	LIST_ENTRY(waiting) node;
	struct shadow *shadow;
	uint32_t lane;
	uint64_t seq;
};

static LIST_HEAD(, waiting) waitings = LIST_HEAD_INITIALIZER(waitings);

static void waiting_end(struct waiting *waiting, int result)
{
	shadow_answer(waiting->shadow, waiting->lane, result, NULL, 0, -1);
	LIST_REMOVE(waiting, node);
	free(waiting);
}

void sync_look(void)
{
	struct waiting *waiting, *next;

	for (waiting = LIST_FIRST(&waitings); waiting; waiting = next) {
		next = LIST_NEXT(waiting, node);
		if (objects_applied(waiting->seq))
			waiting_end(waiting, 0);
	}
}

void sync_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct waiting *waiting;

	if (objects_applied(msg->value)) {
		shadow_answer(shadow, msg->lane, 0, NULL, 0, -1);
		return;
	}
	if (msg->lane >= SHADOW_LANES_MAX) {
		shadow_answer(shadow, msg->lane, -EINVAL, NULL, 0, -1);
		return;
	}
	/*
	 * Each lane may wait once. A second wait is an error of the shadow, which loses the first
	 * answer.
	 */
	LIST_FOREACH(waiting, &waitings, node)
		if (waiting->shadow == shadow && waiting->lane == msg->lane) {
			waiting->seq = msg->value;
			return;
		}
	waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		shadow_answer(shadow, msg->lane, -ENOMEM, NULL, 0, -1);
		return;
	}
	*waiting = (struct waiting) {
		.shadow = shadow, .lane = msg->lane, .seq = msg->value,
	};
	LIST_INSERT_HEAD(&waitings, waiting, node);
}

void sync_cancel(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct waiting *waiting;

	LIST_FOREACH(waiting, &waitings, node)
		if (waiting->shadow == shadow && waiting->lane == msg->lane) {
			waiting_end(waiting, -ENODEV);
			return;
		}
}

void sync_shadow_gone(const struct shadow *shadow)
{
	struct waiting *waiting, *next;

	for (waiting = LIST_FIRST(&waitings); waiting; waiting = next) {
		next = LIST_NEXT(waiting, node);
		if (waiting->shadow == shadow) {
			LIST_REMOVE(waiting, node);
			free(waiting);
		}
	}
}
