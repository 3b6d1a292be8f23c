// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times of the host's clocks become times of this machine's. Each REPLY tells when the host
 * received the call and when it replied, which bounds the offset (clock_bounds.c).
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/timekeeping.h>

#include "call.h"
#include "clock.h"
#include "deadline.h"
#include "host.h"
#include "marshal.h"
#include "object.h"
#include "session.h"
#include "tsc.h"

/* A time before this machine's boot is told as this long after it, as 0 means never. */
#define CLOCK_EARLIEST_NS	NSEC_PER_USEC
/*
 * An offset that may be wrong by more is asked for anew before it is used, as when nobody made
 * a call for long: so often, and not again within a second, as more would do no good.
 */
#define CLOCK_WRONG_NS		(500 * NSEC_PER_USEC)
#define CLOCK_ASK_CALLS		3
#define CLOCK_ASK_TIME		HZ
/* A time that an answer tells is at most so many milliseconds away from the call. */
#define CLOCK_FAR_MS		(3600 * MSEC_PER_SEC)

void vgpu_clock_init(struct vgpu_clock *clock)
{
	seqlock_init(&clock->lock);
	clock->ask_at = jiffies;
}

static struct vgpu_clock_bounds clock_read(struct vgpu_clock *clock)
{
	struct vgpu_clock_bounds bounds;
	unsigned int seq;

	do {
		seq = read_seqbegin(&clock->lock);
		bounds = clock->bounds;
	} while (read_seqretry(&clock->lock, seq));
	return bounds;
}

/**
 * vgpu_clock_add - a call has its reply
 * @clock: of its host
 * @sample: when what happened
 *
 * Times in that reply are brought over only afterwards, so that they lie within the call
 * here, too.
 */
void vgpu_clock_add(struct vgpu_clock *clock, const struct vgpu_clock_sample *sample)
{
	struct vgpu_clock_bounds bounds = clock_read(clock);

	/* Most calls tell nothing new. */
	if (!vgpu_clock_bounds_narrower(&bounds, sample))
		return;
	write_seqlock(&clock->lock);
	vgpu_clock_bounds_merge(&clock->bounds, sample);
	write_sequnlock(&clock->lock);
}

/* ALSA's files begin so, and others have no choice. */
void vgpu_clock_file_init(struct vgpu_clock_file *times)
{
	spin_lock_init(&times->lock);
	times->clock = VGPU_CLOCK_REALTIME;
}

/* Errors are the next call's to tell. */
static void clock_ask(struct vgpu_host *host)
{
	const unsigned long deadline = vgpu_deadline_in(CLOCK_ASK_TIME);
	struct vgpu_session *session;
	struct vgpu_xcall xcall;
	int calls, ret = 0;

	session = vgpu_session_current(host, 0);
	if (IS_ERR(session))
		return;
	for (calls = 0; calls < CLOCK_ASK_CALLS && !ret; calls++) {
		vgpu_xcall_init(&xcall, VGPU_OP_CLOCK, NULL);
		xcall.flags = VGPU_XCALL_MM | VGPU_XCALL_NO_CANCEL;
		xcall.deadline = deadline;
		ret = vgpu_call_run(session, &xcall);
		vgpu_xcall_fini(&xcall);
	}
	vgpu_session_put(session);
}

/* Return: how far this machine's CLOCK_MONOTONIC is ahead, in nanoseconds. */
static s64 clock_offset(struct vgpu_host *host)
{
	struct vgpu_clock *clock = &host->clock;
	struct vgpu_clock_bounds bounds = clock_read(clock);
	unsigned long ask_at = READ_ONCE(clock->ask_at);

	if (vgpu_clock_bounds_width(&bounds, ktime_get_ns()) <= CLOCK_WRONG_NS ||
	    time_before(jiffies, ask_at) || cmpxchg(&clock->ask_at, ask_at, jiffies + HZ) != ask_at)
		return bounds.offset;
	clock_ask(host);
	return clock_read(clock).offset;
}

/*
 * The offset may become smaller when more is known of it. Of one file, what came later is
 * not said to have come earlier all the same.
 */
static s64 clock_monotonic(struct vgpu_object *object, s64 time, s64 offset)
{
	s64 here = time + offset;
	struct vgpu_clock_file *times = &object->times;

	here = max_t(s64, here, CLOCK_EARLIEST_NS);
	spin_lock(&times->lock);
	if (time >= times->host) {
		here = max_t(s64, here, times->here);
		times->host = time;
		times->here = here;
	}
	spin_unlock(&times->lock);
	return here;
}

static bool clock_is_far(s64 ms)
{
	return ms > CLOCK_FAR_MS || ms < -CLOCK_FAR_MS;
}

/* The caller has seen that @value is not far, so that the quotient has room. */
static s64 clock_scale(s64 value, u32 times, u32 by)
{
	u64 size = mul_u64_u64_div_u64(abs(value), times, by);

	return value < 0 ? -(s64)size : size;
}

/*
 * The host's counter becomes a time by how far it is from its value when the host received the
 * call, and that time, brought over, a value of this machine's counter in the same way. One that
 * is far away stays as it is, as it has nothing to do with the call.
 */
static void clock_tsc(u32 khz, const struct vgpu_reply *reply, s64 offset, s64 *time)
{
	u64 tsc = le64_to_cpu(reply->out.ioctl.tsc), now;
	s64 ticks = *time - tsc, ns;

	if (!khz || !vgpu_tsc_khz() || !tsc || clock_is_far(div64_s64(ticks, khz)))
		return;
	ns = le64_to_cpu(reply->clock_in) + offset + clock_scale(ticks, NSEC_PER_MSEC, khz);
	tsc = vgpu_tsc_with_clock(&now);
	ns -= now;
	if (clock_is_far(div_s64(ns, NSEC_PER_MSEC)))
		return;
	ticks = clock_scale(ns, vgpu_tsc_khz(), NSEC_PER_MSEC);
	*time = max_t(s64, tsc + ticks, 1);
}

/**
 * vgpu_clock_convert - what the host calls a time, by this machine's clock
 * @object: of which it was told
 * @reply: in which; for other clocks than VGPU_CLOCK_MONOTONIC to a call with
 *	VGPU_CALL_CLOCKS
 * @clock: enum vgpu_schema_clock
 * @time: nanoseconds (VGPU_CLOCK_TSC: ticks), more than 0 and less than VGPU_CLOCK_MAX; changed to
 *	what it is here
 */
void vgpu_clock_convert(struct vgpu_object *object, const struct vgpu_reply *reply, u32 clock,
			s64 *time)
{
	s64 offset = clock_offset(object->host);
	s64 now;

	if (clock == VGPU_CLOCK_FILE)
		clock = READ_ONCE(object->times.clock);
	switch (clock) {
	case VGPU_CLOCK_MONOTONIC:
		*time = clock_monotonic(object, *time, offset);
		break;
	case VGPU_CLOCK_REALTIME:
		*time += offset - (s64)le64_to_cpu(reply->out.ioctl.realtime);
		*time = ktime_mono_to_real(*time);
		break;
	case VGPU_CLOCK_RAW:
		now = ktime_get_ns();
		*time += offset - (s64)le64_to_cpu(reply->out.ioctl.raw);
		*time = max_t(s64, *time + (s64)(ktime_get_raw_ns() - now), CLOCK_EARLIEST_NS);
		break;
	case VGPU_CLOCK_TSC:
		clock_tsc(object->host->tsc_khz, reply, offset, time);
		break;
	}
}

struct clock_reader {
	struct vgpu_object *object;
	const struct vgpu_reply *reply;
};

static void clock_stamp(void *data, u32 clock, s64 *time)
{
	struct clock_reader *read = data;

	vgpu_clock_convert(read->object, read->reply, clock, time);
}

/**
 * vgpu_clock_events - events that were read tell when they were
 * @object: of a device; what other files give only looks alike
 * @reply: in which they came
 * @data: copy of them, which is changed
 * @len: bytes of it
 */
void vgpu_clock_events(struct vgpu_object *object, const struct vgpu_reply *reply, u8 *data,
		       u32 len)
{
	static const struct vgpu_marshal_fds fds = { .stamp = clock_stamp };
	struct clock_reader read = { .object = object, .reply = reply };

	vgpu_marshal_events(object->schema, data, len, &fds, &read);
}
