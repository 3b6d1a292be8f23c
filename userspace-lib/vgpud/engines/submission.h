/* SPDX-License-Identifier: MIT */
/* Submissions of guests, which take turns at devices: see submission.c. */
#ifndef VGPUD_SUBMISSION_H
#define VGPUD_SUBMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arbiter.h"
#include "shared/loop.h"
#include "shared/proto.h"

struct device_share;
struct engine;

/**
 * struct submission - call of a guest that gives a device work
 * @base: submission in the arbiter of the device
 * @engine: engine that has asked for the turn; NULL: the number is free
 */
struct submission {
	struct vgpu_submission base;
	struct engine *engine;
};

/**
 * struct submitter - an engine, for the turns of its guest
 * @tell: function that sends the engine a message
 * @terms: terms on which the guest uses devices
 * @shares: the guest's shares of devices, by the numbers that the engine knows
 * @nr_shares: number of entries of @shares
 * @permits: see struct engine_shared, in which the engine could change it
 * @queued: number of submissions that had to wait for other guests
 * @submissions: submissions, by number
 * @pace: timer that lets vgpud read what the engine says again
 * @heard_ms: time of the last message about a submission
 * @nr_heard: number of messages that came in that millisecond
 */
struct submitter {
	int (*tell)(struct engine *engine, const void *msg, size_t len, int fd);
	struct vgpu_terms terms;
	struct device_share *shares[ENGINE_DEVICES];
	uint32_t nr_shares;
	uint64_t permits;
	uint64_t queued;
	struct submission submissions[ENGINE_SUBMISSIONS];
	struct timer pace;
	uint64_t heard_ms;
	unsigned int nr_heard;
};

/* Set the terms of a new engine's guest, until submissions_limit(). @tell: engine_tell() */
void submissions_init(struct engine *engine,
		      int (*tell)(struct engine *engine, const void *msg, size_t len, int fd));
/* Set the terms of the engine's guest. @engine: NULL: there is none */
void submissions_limit(struct engine *engine, const struct vgpu_host_peer_limit *limit);
/*
 * Let the guest of an engine share a device. @number: @device of struct vgpu_host_export_add; @rdev:
 * device number of the export. Return: number of the device for the engine, or a negative errno.
 */
int submissions_grant(struct engine *engine, uint64_t number, dev_t rdev);
/* Ignore a message about a submission, as it was meant for an earlier vgpud. */
void submissions_ignore(struct engine *engine);
/* Handle a message about a submission. Return: false if it breaks the protocol. */
bool submissions_hear(struct engine *engine, const struct engine_number *msg);
/*
 * Give up the submissions of an engine that is to end, as far as they wait. Those that have their
 * turn last until submissions_end(): their calls may run in the driver.
 */
void submissions_give_up(struct engine *engine);
/* End all submissions of an engine that is gone. */
void submissions_end(struct engine *engine);
/* Return the time of devices that the guest was charged for its turns, in nanoseconds. */
uint64_t submissions_used(const struct engine *engine);

#endif /* VGPUD_SUBMISSION_H */
