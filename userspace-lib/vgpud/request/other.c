// SPDX-License-Identifier: MIT
/*
 * Requests of users who may not change anything. To describe the state takes time, in which vgpud
 * serves no guest. All these users together get a part of vgpud's time for that; beyond it they get
 * the last description again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "request/json.h"
#include "request/metrics.h"
#include "request/other.h"
#include "request/status.h"
#include "shared/loop.h"

/* Part of vgpud's time that descriptions may take, and time in which they may take all of it. */
#define PART		10
#define BURST_NS	200000000ULL

/**
 * struct answer_kept - the last answer to a request
 * @text: JSON of the answer; NULL: none
 * @make: function that makes a new answer
 */
struct answer_kept {
	char *text;
	struct json_object *(*make)(void);
};

static struct json_object *status_without_programs(void)
{
	return request_status(false);
}

static struct json_object *metrics_without_programs(void)
{
	return request_metrics(false);
}

static struct answer_kept list = { .make = request_list };
static struct answer_kept status = { .make = status_without_programs };
static struct answer_kept metrics = { .make = metrics_without_programs };

static const char *answer_to(struct answer_kept *kept)
{
	/* Time at which the costs of all descriptions are paid back, of CLOCK_MONOTONIC. */
	static uint64_t paid;
	const uint64_t start = now_ns();
	struct json_object *answer;

	if (kept->text && paid > start + PART * BURST_NS)
		return kept->text;
	free(kept->text);
	answer = kept->make();
	kept->text = strdup(json_text(answer));
	json_object_put(answer);
	paid = (paid > start ? paid : start) + PART * (now_ns() - start);
	return kept->text;
}

/* Return the answer to a request that every user may make; NULL: it is another request. */
static struct answer_kept *kept_for(const char *line)
{
	if (!strcmp(line, "{\"op\":\"list\"}"))
		return &list;
	if (!strcmp(line, "{\"op\":\"status\"}"))
		return &status;
	return !strcmp(line, "{\"op\":\"metrics\"}") ? &metrics : NULL;
}

bool other_may_ask(const char *line)
{
	return kept_for(line);
}

const char *other_answer(const char *line)
{
	return answer_to(kept_for(line));
}
