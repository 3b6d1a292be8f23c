// SPDX-License-Identifier: MIT
/* Mappings that may still be visible in a window that is gone. */
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/agent.h"
#include "engine/base/progress.h"
#include "engine/memory/leftover.h"

/**
 * struct leftover - a mapping that may still be visible in a window that is gone
 * @node: list entry of leftovers
 * @tag: tag of the mapping's binding
 * @lent: memory that is shown
 */
struct leftover {
	SLIST_ENTRY(leftover) node;
	uint64_t tag;
	struct lent lent;
};

static SLIST_HEAD(, leftover) leftovers = SLIST_HEAD_INITIALIZER(leftovers);
/* Largest tag of a binding whose memory the engine owns until the engine ends; 0: none. */
static uint64_t last_stuck;

void leftover_add(uint64_t tag, const struct lent *lent)
{
	struct leftover *leftover;

	if (!lent->owns)
		return;
	/*
	 * Memory of a card counts against the guest's limits until no process has the memory
	 * mapped. owner.c finds that out without a keeper.
	 */
	if (lent->owned.leaving) {
		lend_over(lent);
		return;
	}
	leftover = malloc(sizeof(*leftover));
	if (!leftover)
		engine_end("out of memory");
	leftover->tag = tag;
	leftover->lent = *lent;
	SLIST_INSERT_HEAD(&leftovers, leftover, node);
}

void leftovers_end(bool hidden)
{
	struct leftover *leftover;

	while ((leftover = SLIST_FIRST(&leftovers))) {
		SLIST_REMOVE_HEAD(&leftovers, node);
		if (hidden)
			lend_over(&leftover->lent);
		else if (last_stuck < leftover->tag)
			last_stuck = leftover->tag;
		free(leftover);
	}
	progress_notify();
}

bool leftovers_since(uint64_t tag)
{
	const struct leftover *leftover;

	if (last_stuck > tag)
		return true;
	SLIST_FOREACH(leftover, &leftovers, node)
		if (leftover->tag > tag)
			return true;
	return false;
}
