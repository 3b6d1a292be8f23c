// SPDX-License-Identifier: MIT
/*
 * Submissions of guests take turns at the devices that guests share (arbiter.h). An engine asks for
 * a turn before a call that gives a device work, and says when the call is over. vgpud measures the
 * time between its own admission and that message, and trusts no time of an engine's.
 *
 * A guest that is alone at a device has a permit to give it work without turns. It loses the permit
 * when another guest asks for a turn, and gets one again with a turn of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engines/engine.h"
#include "engines/submission.h"

#define NS_PER_S	1000000000ULL
/* Messages of an engine that vgpud reads in one millisecond. */
#define HEARD_MAX	32

/**
 * struct device_share - what a guest gets of a device; it outlives the guest's engines
 * @node: entry of the device's list
 * @device: the device
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @nr_engines: number of engines that have the share
 * @engine: the newest of these
 * @index: number of the device for @engine
 * @permit: true if @engine has the permit
 * @flow: flow of the guest
 */
struct device_share {
	LIST_ENTRY(device_share) node;
	struct shared_device *device;
	uint32_t cid;
	uint32_t port;
	unsigned int nr_engines;
	struct engine *engine;
	uint32_t index;
	bool permit;
	struct vgpu_flow flow;
};

/**
 * struct shared_device - device that guests give work
 * @node: entry of devices
 * @number: number that the exports of the device share; 0: the device has one export
 * @rdev: device number of that export
 * @shares: list of shares
 * @arbiter: arbiter
 * @until: time at which to look at the arbiter, or VGPU_ARBITER_NEVER
 */
struct shared_device {
	LIST_ENTRY(shared_device) node;
	uint64_t number;
	dev_t rdev;
	LIST_HEAD(, device_share) shares;
	struct vgpu_arbiter arbiter;
	u64 until;
};

static LIST_HEAD(, shared_device) devices = LIST_HEAD_INITIALIZER(devices);

static void look_late(struct source *source, uint32_t events);

/* Timer of nanoseconds: a device is kept free for fractions of a millisecond. */
static struct source alarm_clock = { .fd = -1, .ready = look_late };

/* --- permits ------------------------------------------------------------------------------- */

static bool may_have_permit(const struct device_share *share, uint64_t now)
{
	return share->flow.cap >= 100 && !share->flow.frozen &&
	       !vgpu_arbiter_is_shared(&share->device->arbiter, &share->flow, now);
}

static void permit_set(struct device_share *share, bool permit)
{
	struct submitter *submitter = &share->engine->submitter;
	const uint64_t bit = 1ULL << share->index;

	share->permit = permit;
	submitter->permits = permit ? submitter->permits | bit : submitter->permits & ~bit;
	__atomic_store_n(&share->engine->shared->permits, submitter->permits, __ATOMIC_RELAXED);
}

/* Take permits from guests that are not alone any more. They count as active for a while. */
static void permits_look(struct shared_device *device, uint64_t now)
{
	struct device_share *share;

	LIST_FOREACH(share, &device->shares, node) {
		if (!share->permit || may_have_permit(share, now))
			continue;
		permit_set(share, false);
		share->flow.ended = now;
	}
}

/* --- turns --------------------------------------------------------------------------------- */

static void alarm_set(void)
{
	struct itimerspec time = { 0 };
	uint64_t until = VGPU_ARBITER_NEVER;
	struct shared_device *device;

	LIST_FOREACH(device, &devices, node)
		until = device->until < until ? device->until : until;
	if (until != VGPU_ARBITER_NEVER) {
		/* Time 0 would switch the timer off. */
		until += !until;
		time.it_value.tv_sec = until / NS_PER_S;
		time.it_value.tv_nsec = until % NS_PER_S;
	}
	timerfd_settime(alarm_clock.fd, TFD_TIMER_ABSTIME, &time, NULL);
}

/* An engine that does not receive the message is ended, so its waiting submissions are as well. */
static void tell_admitted(struct engine *engine, uint64_t number)
{
	const struct engine_number msg = { .type = ENGINE_ADMIT, .number = number };

	engine->submitter.tell(engine, &msg, sizeof(msg), -1);
}

static struct device_share *share_of(const struct submission *submission)
{
	return container_of(submission->base.flow, struct device_share, flow);
}

/* Admit the submissions whose turn it is. */
static void device_look(struct shared_device *device, uint64_t now)
{
	struct vgpu_submission *base;
	struct submission *submission;
	struct device_share *share;
	struct engine *engine;

	permits_look(device, now);
	while ((base = vgpu_arbiter_next(&device->arbiter, now, &device->until))) {
		submission = container_of(base, struct submission, base);
		share = share_of(submission);
		engine = submission->engine;
		if (engine == share->engine && may_have_permit(share, now))
			permit_set(share, true);
		tell_admitted(engine, submission - engine->submitter.submissions);
	}
	alarm_set();
}

static void look_late(struct source *source, uint32_t events)
{
	struct shared_device *device;
	uint64_t now = now_ns(), times;

	(void)events;
	if (read(source->fd, &times, sizeof(times)) < 0 && errno != EAGAIN && errno != EINTR)
		return;
	LIST_FOREACH(device, &devices, node)
		if (device->until <= now)
			device_look(device, now);
}

static void submission_end(struct submission *submission, uint64_t now)
{
	struct shared_device *device = share_of(submission)->device;

	vgpu_arbiter_end(&device->arbiter, &submission->base, now);
	submission->engine = NULL;
}

static bool submission_asked(struct engine *engine, uint64_t number, uint32_t index)
{
	struct submitter *submitter = &engine->submitter;
	struct submission *submission;
	struct device_share *share;
	uint64_t now = now_ns();

	if (number >= ENGINE_SUBMISSIONS || submitter->submissions[number].engine ||
	    index >= submitter->nr_shares)
		return false;
	submission = &submitter->submissions[number];
	share = submitter->shares[index];
	submission->engine = engine;
	vgpu_arbiter_begin(&share->device->arbiter, &share->flow, now, &submission->base);
	device_look(share->device, now);
	if (submission->base.state == VGPU_SUBMISSION_WAITS)
		submitter->queued++;
	return true;
}

static bool submission_over(struct engine *engine, uint64_t number)
{
	struct submission *submission;
	struct shared_device *device;
	uint64_t now = now_ns();
	bool waits;

	if (number >= ENGINE_SUBMISSIONS || !engine->submitter.submissions[number].engine)
		return false;
	submission = &engine->submitter.submissions[number];
	device = share_of(submission)->device;
	waits = submission->base.state == VGPU_SUBMISSION_WAITS;
	submission_end(submission, now);
	if (waits)
		tell_admitted(engine, number);
	device_look(device, now);
	return true;
}

static void hear_again(struct timer *timer)
{
	struct submitter *submitter = container_of(timer, struct submitter, pace);
	struct engine *engine = container_of(submitter, struct engine, submitter);

	source_set(&engine->source, EPOLLIN);
}

/* Read no more of an engine for a moment that says much: it must not keep vgpud busy. */
static void hear_slowly(struct engine *engine)
{
	struct submitter *submitter = &engine->submitter;
	const uint64_t now = now_ms();

	if (now != submitter->heard_ms)
		submitter->nr_heard = 0;
	submitter->heard_ms = now;
	if (++submitter->nr_heard < HEARD_MAX)
		return;
	source_set(&engine->source, 0);
	timer_set(&submitter->pace, 1);
}

void submissions_ignore(struct engine *engine)
{
	hear_slowly(engine);
}

bool submissions_hear(struct engine *engine, const struct engine_number *msg)
{
	hear_slowly(engine);
	if (msg->type == ENGINE_SUBMIT)
		return submission_asked(engine, msg->number, msg->flags);
	return submission_over(engine, msg->number);
}

/* --- guests and devices -------------------------------------------------------------------- */

/* Forget guests that have no engine and owe nothing, and devices that no guest has. */
static void shares_expire(void)
{
	struct shared_device *device, *next_device;
	struct device_share *share, *next;
	uint64_t now = now_ns();

	LIST_FOREACH_SAFE(device, &devices, node, next_device) {
		LIST_FOREACH_SAFE(share, &device->shares, node, next) {
			if (share->nr_engines ||
			    !vgpu_arbiter_may_forget(&device->arbiter, &share->flow, now))
				continue;
			vgpu_arbiter_remove(&device->arbiter, &share->flow);
			LIST_REMOVE(share, node);
			free(share);
		}
		if (!LIST_EMPTY(&device->shares))
			continue;
		LIST_REMOVE(device, node);
		free(device);
	}
}

static struct shared_device *device_get(uint64_t number, dev_t rdev)
{
	struct shared_device *device;

	LIST_FOREACH(device, &devices, node)
		if (device->number == number && (number || device->rdev == rdev))
			return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->number = number;
	device->rdev = rdev;
	device->until = VGPU_ARBITER_NEVER;
	LIST_INIT(&device->shares);
	LIST_INSERT_HEAD(&devices, device, node);
	return device;
}

static struct device_share *share_get(struct shared_device *device, uint32_t cid, uint32_t port)
{
	struct device_share *share;

	LIST_FOREACH(share, &device->shares, node)
		if (share->cid == cid && share->port == port)
			return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->device = device;
	share->cid = cid;
	share->port = port;
	vgpu_arbiter_add(&device->arbiter, &share->flow);
	LIST_INSERT_HEAD(&device->shares, share, node);
	return share;
}

static int alarm_open(void)
{
	int ret;

	if (alarm_clock.fd >= 0)
		return 0;
	alarm_clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarm_clock.fd < 0)
		return -errno;
	ret = source_add(&alarm_clock, EPOLLIN);
	if (ret)
		source_close(&alarm_clock);
	return ret;
}

int submissions_grant(struct engine *engine, uint64_t number, dev_t rdev)
{
	struct submitter *submitter = &engine->submitter;
	struct shared_device *device;
	struct device_share *share;
	uint64_t now = now_ns();
	uint32_t i;
	int ret;

	ret = alarm_open();
	if (ret)
		return ret;
	shares_expire();
	device = device_get(number, rdev);
	share = device ? share_get(device, engine->cid, engine->port) : NULL;
	if (!share)
		return -ENOMEM;
	for (i = 0; i < submitter->nr_shares; i++)
		if (submitter->shares[i] == share)
			return i;
	if (i == ENGINE_DEVICES)
		return -ENOSPC;
	if (share->permit)
		permit_set(share, false);
	share->nr_engines++;
	share->engine = engine;
	share->index = i;
	submitter->shares[submitter->nr_shares++] = share;
	vgpu_arbiter_change(&device->arbiter, &share->flow, &submitter->terms, now);
	device_look(device, now);
	return i;
}

void submissions_init(struct engine *engine,
		      int (*tell)(struct engine *engine, const void *msg, size_t len, int fd))
{
	engine->submitter.tell = tell;
	engine->submitter.terms = (struct vgpu_terms) {
		.weight = VGPU_HOST_WEIGHT_DEFAULT, .cap = 100,
	};
	engine->submitter.pace.expired = hear_again;
}

void submissions_limit(struct engine *engine, const struct vgpu_host_peer_limit *limit)
{
	const struct vgpu_terms terms = {
		.weight = limit->flags & VGPU_HOST_LIMIT_FREEZE ? 0 :
			limit->weight ? limit->weight : VGPU_HOST_WEIGHT_DEFAULT,
		.cap = limit->cap ? limit->cap : 100,
		.priority = limit->priority,
	};
	struct device_share *share;
	uint64_t now = now_ns();
	uint32_t i;

	if (!engine)
		return;
	engine->submitter.terms = terms;
	for (i = 0; i < engine->submitter.nr_shares; i++) {
		share = engine->submitter.shares[i];
		vgpu_arbiter_change(&share->device->arbiter, &share->flow, &terms, now);
		device_look(share->device, now);
	}
}

void submissions_give_up(struct engine *engine)
{
	struct submission *submission;
	uint64_t now = now_ns();
	uint32_t i;

	for (i = 0; i < ENGINE_SUBMISSIONS; i++) {
		submission = &engine->submitter.submissions[i];
		if (submission->engine && submission->base.state == VGPU_SUBMISSION_WAITS)
			submission_end(submission, now);
	}
	/* The caller may be device_look(), so the timer sees which turns come now. */
	for (i = 0; i < engine->submitter.nr_shares; i++)
		engine->submitter.shares[i]->device->until = now;
	alarm_set();
}

void submissions_end(struct engine *engine)
{
	struct submitter *submitter = &engine->submitter;
	struct device_share *share;
	uint64_t now = now_ns();
	uint32_t i;

	timer_cancel(&submitter->pace);
	for (i = 0; i < ENGINE_SUBMISSIONS; i++)
		if (submitter->submissions[i].engine)
			submission_end(&submitter->submissions[i], now);
	for (i = 0; i < submitter->nr_shares; i++) {
		share = submitter->shares[i];
		share->nr_engines--;
		if (share->engine == engine) {
			share->permit = false;
			share->engine = NULL;
		}
		device_look(share->device, now);
	}
	submitter->nr_shares = 0;
}

uint64_t submissions_used(const struct engine *engine)
{
	uint64_t used = 0;
	uint32_t i;

	for (i = 0; i < engine->submitter.nr_shares; i++)
		used += engine->submitter.shares[i]->flow.used;
	return used;
}
