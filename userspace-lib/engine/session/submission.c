// SPDX-License-Identifier: MIT
/*
 * Submissions: lanes that wait for a turn to give a device work, and those that have one. vgpud
 * decides (vgpud/engines/submission.c). It knows a submission by a number of a fixed range: lanes
 * that find no free number wait for one first.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/agent.h"
#include "engine/guest/grant.h"
#include "engine/process/shadow.h"
#include "engine/session/submission.h"
#include "shadow/layout.h"
#include "shared/proto.h"

/**
 * enum submission_state - state of a number
 * @SUBMISSION_FREE: no lane has it
 * @SUBMISSION_ASKS: the lane waits for its turn
 * @SUBMISSION_LEFT: the lane waits no more, and vgpud still has to answer
 * @SUBMISSION_RUNS: the lane has its turn
 * @SUBMISSION_AGAIN: the lane has its turn of an earlier vgpud, and this one still has to answer
 */
enum submission_state {
	SUBMISSION_FREE,
	SUBMISSION_ASKS,
	SUBMISSION_LEFT,
	SUBMISSION_RUNS,
	SUBMISSION_AGAIN,
};

/**
 * struct submission - a number by which vgpud knows a submission
 * @shadow: shadow of the lane; NULL: no lane has the number
 * @lane: index of the lane
 * @device: device to which the lane gives work
 * @state: state
 */
struct submission {
	struct shadow *shadow;
	uint32_t lane;
	uint32_t device;
	enum submission_state state;
};

/**
 * struct numberless - a lane that waits for a number
 * @shadow: shadow of the lane
 * @lane: index of the lane
 * @device: device to which the lane gives work
 */
struct numberless {
	TAILQ_ENTRY(numberless) node;
	struct shadow *shadow;
	uint32_t lane;
	uint32_t device;
};

static struct submission submissions[ENGINE_SUBMISSIONS];
static TAILQ_HEAD(, numberless) numberless = TAILQ_HEAD_INITIALIZER(numberless);

static struct submission *submission_of(const struct shadow *shadow, uint32_t lane)
{
	unsigned int i;

	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		if (submissions[i].shadow == shadow && submissions[i].lane == lane)
			return &submissions[i];
	return NULL;
}

static struct numberless *numberless_of(const struct shadow *shadow, uint32_t lane)
{
	struct numberless *waiting;

	TAILQ_FOREACH(waiting, &numberless, node)
		if (waiting->shadow == shadow && waiting->lane == lane)
			return waiting;
	return NULL;
}

static void numberless_end(struct numberless *waiting)
{
	TAILQ_REMOVE(&numberless, waiting, node);
	free(waiting);
}

/* Return: false if no number is free. */
static bool submission_begin(struct shadow *shadow, uint32_t lane, uint32_t device)
{
	unsigned int i;

	for (i = 0; i < ENGINE_SUBMISSIONS; i++) {
		if (submissions[i].state != SUBMISSION_FREE)
			continue;
		submissions[i] = (struct submission) {
			.shadow = shadow, .lane = lane, .device = device, .state = SUBMISSION_ASKS,
		};
		agent_ask(ENGINE_SUBMIT, device, i);
		return true;
	}
	return false;
}

/* Free a number, which a lane may wait for. */
static void submission_free(struct submission *submission)
{
	struct numberless *first = TAILQ_FIRST(&numberless);

	*submission = (struct submission) { .state = SUBMISSION_FREE };
	if (!first)
		return;
	submission_begin(first->shadow, first->lane, first->device);
	numberless_end(first);
}

/* Tell vgpud that a submission is over, or is given up. */
static void submission_leave(struct submission *submission)
{
	agent_ask(ENGINE_SUBMITTED, 0, submission - submissions);
	if (submission->state == SUBMISSION_RUNS) {
		submission_free(submission);
		return;
	}
	submission->shadow = NULL;
	submission->state = SUBMISSION_LEFT;
}

void submission_ask(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct numberless *waiting;

	/* A lane has one call at a time. */
	if (submission_of(shadow, msg->lane) || numberless_of(shadow, msg->lane)) {
		shadow_malformed(shadow);
		return;
	}
	if (msg->lane >= SHADOW_LANES_MAX || msg->object >= ENGINE_DEVICES ||
	    !(grants_devices() >> msg->object & 1)) {
		shadow_answer(shadow, msg->lane, -EINVAL, NULL, 0, -1);
		return;
	}
	if (TAILQ_EMPTY(&numberless) && submission_begin(shadow, msg->lane, msg->object))
		return;
	waiting = malloc(sizeof(*waiting));
	if (!waiting) {
		shadow_answer(shadow, msg->lane, -ENOMEM, NULL, 0, -1);
		return;
	}
	*waiting = (struct numberless) {
		.shadow = shadow, .lane = msg->lane, .device = msg->object,
	};
	TAILQ_INSERT_TAIL(&numberless, waiting, node);
}

void submission_admitted(uint64_t number)
{
	struct submission *submission;

	if (number >= ENGINE_SUBMISSIONS)
		return;
	submission = &submissions[number];
	if (submission->state == SUBMISSION_LEFT) {
		submission_free(submission);
	} else if (submission->state == SUBMISSION_ASKS) {
		submission->state = SUBMISSION_RUNS;
		shadow_answer(submission->shadow, submission->lane, 0, NULL, 0, -1);
	} else if (submission->state == SUBMISSION_AGAIN) {
		submission->state = SUBMISSION_RUNS;
	}
}

void submissions_ask_again(void)
{
	unsigned int i;

	for (i = 0; i < ENGINE_SUBMISSIONS; i++) {
		if (submissions[i].state == SUBMISSION_RUNS)
			submissions[i].state = SUBMISSION_AGAIN;
		if (submissions[i].state == SUBMISSION_ASKS ||
		    submissions[i].state == SUBMISSION_AGAIN)
			agent_ask(ENGINE_SUBMIT, submissions[i].device, i);
	}
	/* vgpud will not answer these. A lane that waits for a number asks at once. */
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		if (submissions[i].state == SUBMISSION_LEFT)
			submission_free(&submissions[i]);
}

void submission_cancel(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct submission *submission = submission_of(shadow, msg->lane);
	struct numberless *waiting = numberless_of(shadow, msg->lane);

	if (waiting)
		numberless_end(waiting);
	else if (submission && submission->state == SUBMISSION_ASKS)
		submission_leave(submission);
	else
		return;
	shadow_answer(shadow, msg->lane, -EINTR, NULL, 0, -1);
}

void submission_over(struct shadow *shadow, const struct eshadow_msg *msg)
{
	struct submission *submission = submission_of(shadow, msg->lane);

	if (submission && (submission->state == SUBMISSION_RUNS ||
			   submission->state == SUBMISSION_AGAIN))
		submission_leave(submission);
	else
		shadow_malformed(shadow);
}

void submission_shadow_ends(struct shadow *shadow)
{
	struct numberless *waiting, *next;
	unsigned int i;

	for (waiting = TAILQ_FIRST(&numberless); waiting; waiting = next) {
		next = TAILQ_NEXT(waiting, node);
		if (waiting->shadow == shadow)
			numberless_end(waiting);
	}
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		if (submissions[i].shadow == shadow && submissions[i].state == SUBMISSION_ASKS)
			submission_leave(&submissions[i]);
}

void submission_shadow_gone(struct shadow *shadow)
{
	unsigned int i;

	submission_shadow_ends(shadow);
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		if (submissions[i].shadow == shadow)
			submission_leave(&submissions[i]);
}
