/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arbiters: for which guest a device works next.
 *
 * A guest has a flow at each device that it uses. A submission is a call that gives the device
 * work; it begins when the call comes, and ends when the call returns, or when the device has done
 * the work. The submissions of a guest that uses the device alone are admitted at once. While
 * several guests use it, the arbiter admits one submission at a time, of the flow with the lowest
 * virtual time: the time of the device that the flow was charged, divided by the flow's weight. So
 * flows that always have work get the device's time in proportion to their weights, whatever number
 * of programs they have. This is start-time fair queueing, except that a submission is charged the
 * time that it has taken, as no one knows that time beforehand.
 *
 * - Time is charged while it passes, in equal parts to all submissions that run.
 * - A flow that was idle begins at the virtual time of the device, less a small credit. It cannot
 *   save up time of a device that it has not used.
 * - A flow with one program has no submission waiting when its last one ends, although its next one
 *   comes soon. The arbiter keeps the device free for such a flow if its virtual time is lower than
 *   that of the flows that wait, and if its submissions have come within a part of the time that
 *   they take. Otherwise a flow of one program could never get more than every other submission.
 *   The flow is charged the time for which the device was kept free.
 * - A flow may have a cap, which is the largest part of the device's time that it gets, even if it
 *   is alone. One of its submissions is admitted at a time then, too.
 * - A flow with a priority comes before those of a lower one, whatever their virtual times are. So
 *   these get what it leaves of the device. It has the lowest one while a submission of its own
 *   does not end.
 * - A flow of weight 0 is frozen: its submissions wait until it gets another weight.
 * - A submission that does not end holds the device for a limited time; then another one is
 *   admitted. Its flow is charged until it ends, but cannot get into debt beyond a limit.
 *
 * Times are nanoseconds of a monotonic clock. The callers serialize these functions, and own the
 * memory of all structs. vgpu_arbiter_next() is to be called until it returns NULL after
 * each call of vgpu_arbiter_begin(), _end() and _change(), and at the time that it asks for.
 */
#ifndef VGPU_ARBITER_H
#define VGPU_ARBITER_H

#include "wire.h"

#ifdef __KERNEL__
#include "uapi/linux/vgpu_host.h"
#else
#include <linux/vgpu_host.h>
#endif

/* Time after which a submission that has not ended does not keep others from the device. */
#define VGPU_ARBITER_HOLD_NS	1000000000ULL
/* Time of the device that a flow may have used beyond its share, and still owes. */
#define VGPU_ARBITER_DEBT_NS	(10 * VGPU_ARBITER_HOLD_NS)
/* Time of the device that a flow may use beyond its share when it was idle. */
#define VGPU_ARBITER_CREDIT_NS	20000000ULL
/* Time for which a flow may use a device beyond its cap when it was idle. */
#define VGPU_ARBITER_BURST_NS	50000000ULL
/* Time for which a flow counts as one that uses the device after its last submission. */
#define VGPU_ARBITER_ACTIVE_NS	500000000ULL
/* Divisor of the time that submissions of a flow take: the device is kept free for the result. */
#define VGPU_ARBITER_KEEP	2U
/* Longest time for which the device is kept free for a flow's next submission. */
#define VGPU_ARBITER_KEEP_NS	20000000ULL
/* Time after which a debt is forgotten if the flow has not used the device. */
#define VGPU_ARBITER_FORGET_NS	(6 * VGPU_ARBITER_DEBT_NS)
/* Result of vgpu_arbiter_next(): nothing changes with the time alone. */
#define VGPU_ARBITER_NEVER	U64_MAX

struct vgpu_flow;

/**
 * enum vgpu_submission_state - state of a submission
 * @VGPU_SUBMISSION_NONE: it has not begun, or has ended
 * @VGPU_SUBMISSION_WAITS: it waits to be admitted
 * @VGPU_SUBMISSION_HOLDS: it is admitted
 * @VGPU_SUBMISSION_LATE: it is admitted, and others may be admitted, as it takes too long
 */
enum vgpu_submission_state {
	VGPU_SUBMISSION_NONE,
	VGPU_SUBMISSION_WAITS,
	VGPU_SUBMISSION_HOLDS,
	VGPU_SUBMISSION_LATE,
};

/**
 * struct vgpu_submission - call that gives a device work
 * @prev: entry before this one in flow->waiting, or in arbiter->holders
 * @next: entry after this one in the same queue
 * @flow: flow of the guest
 * @since: time at which it was admitted
 * @state: state, which vgpu_arbiter_next() changes while it waits
 */
struct vgpu_submission {
	struct vgpu_submission *prev;
	struct vgpu_submission *next;
	struct vgpu_flow *flow;
	u64 since;
	enum vgpu_submission_state state;
};

/**
 * struct vgpu_submissions - queue of submissions
 * @first: the oldest one, or NULL
 * @last: the newest one, or NULL
 */
struct vgpu_submissions {
	struct vgpu_submission *first;
	struct vgpu_submission *last;
};

/**
 * struct vgpu_terms - terms on which a guest uses devices
 * @weight: weight, at most VGPU_HOST_WEIGHT_MAX; 0: the guest is frozen
 * @cap: largest part of the time of a device, in percent; 100: no cap; not 0
 * @priority: priority, at most VGPU_HOST_PRIORITY_MAX: flows of a lower one get what it leaves of a
 *	device
 */
struct vgpu_terms {
	u32 weight;
	u32 cap;
	u32 priority;
};

/**
 * struct vgpu_flow - use of a device by a guest
 * @next: flow after this one in the arbiter's list
 * @waiting: queue of submissions that wait, in the order in which they came
 * @weight: weight, not 0
 * @frozen: true if no submission of the flow is admitted
 * @cap: largest part of the device's time, in percent
 * @priority: priority that its terms give it
 * @rank: priority that it has: 0 while a submission is late; flows with a higher one come first
 * @nr_running: number of submissions that run, late ones included
 * @nr_late: number of submissions that are late
 * @time: virtual time: nanoseconds for which a flow of the default weight would have used the
 *	device instead
 * @due: time from which on submissions are admitted, as the flow has used what its cap allows
 * @ended: time at which the last submission ended
 * @takes: mean time that a submission takes; 0: none has ended
 * @gap: mean time from the end of the last submission until the next one comes
 * @used: time of the device that the flow was charged, except for time of keeping it free
 */
struct vgpu_flow {
	struct vgpu_flow *next;
	struct vgpu_submissions waiting;
	u32 weight;
	bool frozen;
	u32 cap;
	u32 priority;
	u32 rank;
	u32 nr_running;
	u32 nr_late;
	u64 time;
	u64 due;
	u64 ended;
	u64 takes;
	u64 gap;
	u64 used;
};

/**
 * struct vgpu_arbiter - arbiter of a device
 * @flows: list of the flows
 * @holders: queue of submissions that hold the device, in the order of their admission
 * @kept_for: flow for which the device is kept free, or NULL
 * @nr_running: number of submissions that run, late ones included
 * @time: virtual time of each rank: the greatest one at which a flow had a submission admitted
 * @seen: time up to which the flows are charged
 */
struct vgpu_arbiter {
	struct vgpu_flow *flows;
	struct vgpu_submissions holders;
	struct vgpu_flow *kept_for;
	u32 nr_running;
	u64 time[VGPU_HOST_PRIORITY_MAX + 1];
	u64 seen;
};

/* Add a flow. The caller has set it to zero. */
void vgpu_arbiter_add(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow);
/* Remove a flow that has no submissions. */
void vgpu_arbiter_remove(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow);
/* Return true if a flow owes the device nothing, so that a new one may take its place. */
bool vgpu_arbiter_may_forget(const struct vgpu_arbiter *arbiter, const struct vgpu_flow *flow,
			     u64 now);

/* Change the terms of a flow. */
void vgpu_arbiter_change(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow,
			 const struct vgpu_terms *terms, u64 now);

/**
 * vgpu_arbiter_begin - begin a submission
 * @arbiter: arbiter of the device
 * @flow: flow of the guest
 * @now: current time
 * @submission: submission, which waits until vgpu_arbiter_next() returns it
 */
void vgpu_arbiter_begin(struct vgpu_arbiter *arbiter, struct vgpu_flow *flow, u64 now,
			struct vgpu_submission *submission);

/**
 * vgpu_arbiter_end - end a submission, or give it up while it waits
 * @arbiter: arbiter of the device
 * @submission: submission
 * @now: current time
 */
void vgpu_arbiter_end(struct vgpu_arbiter *arbiter, struct vgpu_submission *submission, u64 now);

/* Return true if other flows than @with use the device, or have used it lately. */
bool vgpu_arbiter_is_shared(const struct vgpu_arbiter *arbiter, const struct vgpu_flow *with,
			    u64 now);

/**
 * vgpu_arbiter_move - let another struct take the place of a submission
 * @arbiter: arbiter of the device
 * @from: submission that runs; it is in no queue afterwards
 * @to: its new place
 */
void vgpu_arbiter_move(struct vgpu_arbiter *arbiter, struct vgpu_submission *from,
		       struct vgpu_submission *to);

/**
 * vgpu_arbiter_next - admit a submission, if one may be admitted
 * @arbiter: arbiter of the device
 * @now: current time
 * @until: out: time at which to call the function again, even if nothing begins or ends; or
 *	VGPU_ARBITER_NEVER
 *
 * Return: the submission, which holds the device now; or NULL.
 */
struct vgpu_submission *vgpu_arbiter_next(struct vgpu_arbiter *arbiter, u64 now, u64 *until);

#endif /* VGPU_ARBITER_H */
