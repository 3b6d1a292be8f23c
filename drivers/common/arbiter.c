// SPDX-License-Identifier: GPL-2.0-only
/* Arbiters: for which guest a device works next; see arbiter.h. */
#ifdef __KERNEL__
#include <linux/minmax.h>
#endif

#include "arbiter.h"

/* Divisor of the difference by which a new sample changes a mean. */
#define ARBITER_MEAN	8U

/* --- queues --------------------------------------------------------------- */

static void queue_add(struct vgpu_submissions *queue, struct vgpu_submission *submission)
{
	submission->prev = queue->last;
	submission->next = NULL;
	if (queue->last)
		queue->last->next = submission;
	else
		queue->first = submission;
	queue->last = submission;
}

static void queue_remove(struct vgpu_submissions *queue, struct vgpu_submission *submission)
{
	if (submission->prev)
		submission->prev->next = submission->next;
	else
		queue->first = submission->next;
	if (submission->next)
		submission->next->prev = submission->prev;
	else
		queue->last = submission->prev;
}

/* --- flows ---------------------------------------------------------------- */

/* Compare virtual times, which may wrap around. */
static bool time_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Compute the virtual time of a flow for a time of the device. */
static u64 flow_time(const struct vgpu_flow *flow, u64 ns)
{
	return ns * VGPU_HOST_WEIGHT_DEFAULT / flow->weight;
}

static void mean_add(u64 *mean, u64 sample)
{
	if (!*mean)
		*mean = sample;
	else
		*mean = *mean - *mean / ARBITER_MEAN + sample / ARBITER_MEAN;
}

/* Check whether the flow's next submission comes before that of @other. */
static bool flow_is_before(const struct vgpu_flow *flow, const struct vgpu_flow *other)
{
	if (flow->rank != other->rank)
		return flow->rank > other->rank;
	return time_before(flow->time, other->time);
}

static bool flow_is_idle(const struct vgpu_flow *flow)
{
	return !flow->nr_running && !flow->waiting.first;
}

/* Check whether the flow uses the device, or has used it lately. */
static bool flow_is_active(const struct vgpu_flow *flow, u64 now)
{
	return flow->nr_running || (flow->waiting.first && !flow->frozen) ||
	       now - flow->ended < VGPU_ARBITER_ACTIVE_NS;
}

/* Return the time for which the device is kept free for the flow after a submission; 0: none. */
static u64 flow_keeps(const struct vgpu_flow *flow)
{
	u64 keep = min(flow->takes / VGPU_ARBITER_KEEP, VGPU_ARBITER_KEEP_NS);

	return flow->gap <= keep ? keep : 0;
}

static bool flow_is_capped(const struct vgpu_flow *flow, u64 now)
{
	return flow->cap < 100 && flow->due > now;
}

/* Note that the flow has used the device from @since on, for a time of @ns. */
static void flow_use(struct vgpu_flow *flow, u64 since, u64 ns)
{
	u64 most = since + VGPU_ARBITER_DEBT_NS * 100 / flow->cap;
	u64 burst = min(since, VGPU_ARBITER_BURST_NS);

	flow->used += ns;
	flow->due = max(flow->due, since - burst);
	flow->due = min(flow->due + ns * 100 / flow->cap, most);
}

/* Return the virtual time of the device for the flow's rank. */
static u64 flow_now(const struct vgpu_arbiter *arbiter, const struct vgpu_flow *flow)
{
	return arbiter->time[flow->rank];
}

static void flow_charge(const struct vgpu_arbiter *arbiter, struct vgpu_flow *flow, u64 ns)
{
	u64 most = flow_now(arbiter, flow) + flow_time(flow, VGPU_ARBITER_DEBT_NS);

	flow->time += flow_time(flow, ns);
	if (time_before(most, flow->time))
		flow->time = most;
}

/* Take time from a flow that it has saved up, except for its credit. */
static void flow_catch_up(const struct vgpu_arbiter *arbiter, struct vgpu_flow *flow)
{
	u64 least = flow_now(arbiter, flow) - flow_time(flow, VGPU_ARBITER_CREDIT_NS);

	if (time_before(flow->time, least))
		flow->time = least;
}

/* Let the flow count among those of a priority. It keeps what it owes, or may use. */
static void flow_rank(const struct vgpu_arbiter *arbiter, struct vgpu_flow *flow, u32 rank)
{
	flow->time -= flow_now(arbiter, flow);
	flow->rank = rank;
	flow->time += flow_now(arbiter, flow);
}

/*
 * Note that a submission comes. One that is late shows no use of the device, so a flow of such
 * ones alone saves up nothing either.
 */
static void flow_come(const struct vgpu_arbiter *arbiter, struct vgpu_flow *flow, u64 now)
{
	if (flow->waiting.first || flow->nr_running > flow->nr_late)
		return;
	if (flow->takes && !flow->nr_running)
		mean_add(&flow->gap, min(now - flow->ended, VGPU_ARBITER_ACTIVE_NS));
	flow_catch_up(arbiter, flow);
}

/* --- arbiter -------------------------------------------------------------- */

/* Charge the flows for the time that has passed. */
static void arbiter_pass(struct vgpu_arbiter *arbiter, u64 now)
{
	const u64 since = arbiter->seen;
	struct vgpu_flow *flow;
	u64 gone, part;

	if (now <= since)
		return;
	/* No flow can owe more, and the product below stays in 64 bits. */
	gone = min(now - since, VGPU_ARBITER_DEBT_NS);
	arbiter->seen = now;
	if (!arbiter->nr_running) {
		if (arbiter->kept_for)
			flow_charge(arbiter, arbiter->kept_for, gone);
		return;
	}
	for (flow = arbiter->flows; flow; flow = flow->next) {
		if (!flow->nr_running)
			continue;
		part = gone * flow->nr_running / arbiter->nr_running;
		flow_use(flow, since, part);
		flow_charge(arbiter, flow, part);
	}
}

/* Take the device from submissions that hold it for too long. */
static void arbiter_expire(struct vgpu_arbiter *arbiter, u64 now)
{
	struct vgpu_submission *submission;
	struct vgpu_flow *flow;

	while ((submission = arbiter->holders.first) &&
	       now - submission->since >= VGPU_ARBITER_HOLD_NS) {
		queue_remove(&arbiter->holders, submission);
		submission->state = VGPU_SUBMISSION_LATE;
		flow = submission->flow;
		flow->nr_late++;
		/* A flow could hold the device all the time otherwise, by work that never ends. */
		flow_rank(arbiter, flow, 0);
	}
}

/*
 * Find the flow of the highest priority, and of these the one with the lowest virtual time, among
 * those that wait, and that may have the device.
 * @until: out: time from which on another flow may have it; or VGPU_ARBITER_NEVER.
 */
static struct vgpu_flow *arbiter_lowest(const struct vgpu_arbiter *arbiter, u64 now, u64 *until)
{
	struct vgpu_flow *flow, *lowest = NULL;

	*until = VGPU_ARBITER_NEVER;
	for (flow = arbiter->flows; flow; flow = flow->next) {
		if (!flow->waiting.first || flow->frozen)
			continue;
		if (!flow_is_capped(flow, now)) {
			if (!lowest || flow_is_before(flow, lowest))
				lowest = flow;
			continue;
		}
		/* The flow does not save up time that its cap keeps from it. */
		flow_catch_up(arbiter, flow);
		*until = min(*until, flow->due);
	}
	return lowest;
}

/*
 * Find a flow whose next submission should come before those of @lowest, and is expected soon.
 * @until: the earlier one of its value and the time until which the submission is expected.
 */
static struct vgpu_flow *arbiter_expects(const struct vgpu_arbiter *arbiter,
					 const struct vgpu_flow *lowest, u64 now, u64 *until)
{
	struct vgpu_flow *flow;
	u64 keep;

	for (flow = arbiter->flows; flow; flow = flow->next) {
		if (!flow_is_idle(flow) || flow->frozen || flow_is_capped(flow, now) ||
		    !flow_is_before(flow, lowest))
			continue;
		keep = flow_keeps(flow);
		if (now - flow->ended >= keep)
			continue;
		*until = min(*until, flow->ended + keep);
		return flow;
	}
	return NULL;
}

void vgpu_arbiter_add(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow)
{
	flow->weight = VGPU_HOST_WEIGHT_DEFAULT;
	flow->cap = 100;
	flow->time = flow_now(arbiter, flow);
	flow->next = arbiter->flows;
	arbiter->flows = flow;
}

void vgpu_arbiter_remove(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow)
{
	struct vgpu_flow **at = &arbiter->flows;

	while (*at != flow)
		at = &(*at)->next;
	*at = flow->next;
	if (arbiter->kept_for == flow)
		arbiter->kept_for = NULL;
}

bool vgpu_arbiter_may_forget(const struct vgpu_arbiter *arbiter, const struct vgpu_flow *flow,
			     u64 now)
{
	return flow_is_idle(flow) && (!time_before(flow_now(arbiter, flow), flow->time) ||
				      now - flow->ended >= VGPU_ARBITER_FORGET_NS);
}

void vgpu_arbiter_change(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow,
			 const struct vgpu_terms *terms, u64 now)
{
	arbiter_pass(arbiter, now);
	if (terms->weight)
		flow->weight = terms->weight;
	if (flow->frozen)
		flow_catch_up(arbiter, flow);
	flow->frozen = !terms->weight;
	/* A new cap does not count time that was used before. */
	if (flow->cap != terms->cap)
		flow->due = now;
	flow->cap = terms->cap;
	flow->priority = terms->priority;
	flow_rank(arbiter, flow, flow->nr_late ? 0 : flow->priority);
}

void vgpu_arbiter_begin(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow, u64 now,
			struct vgpu_submission *submission)
{
	arbiter_pass(arbiter, now);
	flow_come(arbiter, flow, now);
	submission->flow = flow;
	submission->state = VGPU_SUBMISSION_WAITS;
	queue_add(&flow->waiting, submission);
}

void vgpu_arbiter_end(struct vgpu_arbiter *arbiter, struct vgpu_submission *submission, u64 now)
{
	struct vgpu_flow *flow = submission->flow;

	arbiter_pass(arbiter, now);
	if (submission->state == VGPU_SUBMISSION_WAITS) {
		queue_remove(&flow->waiting, submission);
	} else {
		if (submission->state == VGPU_SUBMISSION_HOLDS)
			queue_remove(&arbiter->holders, submission);
		else if (!--flow->nr_late)
			flow_rank(arbiter, flow, flow->priority);
		arbiter->nr_running--;
		flow->nr_running--;
		flow->ended = now;
		mean_add(&flow->takes, now - submission->since);
	}
	submission->state = VGPU_SUBMISSION_NONE;
}

bool vgpu_arbiter_is_shared(const struct vgpu_arbiter *arbiter, const struct vgpu_flow *with,
			    u64 now)
{
	const struct vgpu_flow *flow;

	for (flow = arbiter->flows; flow; flow = flow->next)
		if (flow != with && flow_is_active(flow, now))
			return true;
	return false;
}

void vgpu_arbiter_move(struct vgpu_arbiter *arbiter, struct vgpu_submission *from,
		       struct vgpu_submission *to)
{
	*to = *from;
	from->state = VGPU_SUBMISSION_NONE;
	if (to->state != VGPU_SUBMISSION_HOLDS)
		return;
	if (to->prev)
		to->prev->next = to;
	else
		arbiter->holders.first = to;
	if (to->next)
		to->next->prev = to;
	else
		arbiter->holders.last = to;
}

struct vgpu_submission *vgpu_arbiter_next(struct vgpu_arbiter *arbiter, u64 now, u64 *until)
{
	struct vgpu_submission *submission;
	struct vgpu_flow *flow;

	arbiter_pass(arbiter, now);
	arbiter_expire(arbiter, now);
	arbiter->kept_for = NULL;
	flow = arbiter_lowest(arbiter, now, until);
	if (!flow)
		return NULL;
	/* A cap is for naught if many submissions are admitted before their time is charged. */
	if (flow->cap < 100 || vgpu_arbiter_is_shared(arbiter, flow, now)) {
		if (arbiter->holders.first) {
			*until = min(*until,
				     arbiter->holders.first->since + VGPU_ARBITER_HOLD_NS);
			return NULL;
		}
		arbiter->kept_for = arbiter_expects(arbiter, flow, now, until);
		if (arbiter->kept_for)
			return NULL;
	}
	submission = flow->waiting.first;
	queue_remove(&flow->waiting, submission);
	queue_add(&arbiter->holders, submission);
	submission->since = now;
	submission->state = VGPU_SUBMISSION_HOLDS;
	flow->nr_running++;
	arbiter->nr_running++;
	if (time_before(flow_now(arbiter, flow), flow->time))
		arbiter->time[flow->rank] = flow->time;
	return submission;
}
