// SPDX-License-Identifier: GPL-2.0-only
/* Converts times of the host's clocks to this machine's clocks. */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/timekeeping.h>

#include "argument/schema.h"
#include "base/deadline.h"
#include "link/call.h"
#include "link/clock.h"
#include "link/clock_convert.h"
#include "link/host.h"
#include "link/session.h"
#include "tsc.h"

/* Result for a time before this machine's boot: not 0, which means never. */
#define CLOCK_EARLIEST_NS	NSEC_PER_USEC
/*
 * Limit of the offset's possible error, which grows while no calls are made. Above the limit
 * the host is asked anew before the offset is used: by CLOCK_ASK_CALLS calls, within
 * CLOCK_ASK_TIME, and not again within a second.
 */
#define CLOCK_WRONG_NS		(500 * NSEC_PER_USEC)
#define CLOCK_ASK_CALLS		3
#define CLOCK_ASK_TIME		HZ
/*
 * Limit of the distance of a time stamp from its call, in ms; larger distances are not
 * converted.
 */
#define CLOCK_FAR_MS		(3600 * MSEC_PER_SEC)

/* Makes calls for the bounds of the offset; the next call will report errors of the connection. */
static void clock_ask(struct vgpu_host *host)
{
	const unsigned long deadline = vgpu_deadline_in(CLOCK_ASK_TIME);
	struct vgpu_session *session;
	struct vgpu_guest_call xcall;
	int calls, ret = 0;

	session = vgpu_session_current(host, 0);
	if (IS_ERR(session))
		return;
	for (calls = 0; calls < CLOCK_ASK_CALLS && !ret; calls++) {
		vgpu_guest_call_init(&xcall, VGPU_OP_CLOCK, 0);
		xcall.flags = VGPU_GUEST_CALL_MM | VGPU_GUEST_CALL_NO_CANCEL;
		xcall.deadline = deadline;
		ret = vgpu_call_run(session, &xcall);
		vgpu_guest_call_fini(&xcall);
	}
	vgpu_session_put(session);
}

/* Return: (this machine's CLOCK_MONOTONIC - the host's), in nanoseconds. */
static s64 clock_offset(struct vgpu_host *host)
{
	struct vgpu_clock *clock = &host->clock;
	struct vgpu_clock_bounds bounds = vgpu_clock_read(clock);
	unsigned long ask_at = READ_ONCE(clock->ask_at);

	if (vgpu_clock_bounds_width(&bounds, ktime_get_ns()) <= CLOCK_WRONG_NS ||
	    time_before(jiffies, ask_at) || cmpxchg(&clock->ask_at, ask_at, jiffies + HZ) != ask_at)
		return bounds.offset;
	clock_ask(host);
	return vgpu_clock_read(clock).offset;
}

/*
 * Converts a time stamp. The offset may shrink when the bounds narrow, but the time stamps of a
 * file must keep their order.
 */
static s64 clock_monotonic(struct vgpu_clock_file *times, s64 time, s64 offset)
{
	s64 here = time + offset;

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

/* Returns @value * @times / @by; the result fits, because clock_is_far() was false for @value. */
static s64 clock_scale(s64 value, u32 times, u32 by)
{
	u64 size = mul_u64_u64_div_u64(abs(value), times, by);

	return value < 0 ? -(s64)size : size;
}

/*
 * Converts a value of the host's time-stamp counter. Its distance from the value at which the
 * host received the call gives a time. That time, converted, gives a value of this machine's
 * counter in the same way. A value far away from the call is no time stamp of the call, and
 * stays as it is.
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
 * vgpu_clock_convert - convert a time stamp to this machine's clock
 * @host: host whose driver reported the time
 * @times: earlier time stamps of the file
 * @reply: reply with the time; for other clocks than VGPU_CLOCK_MONOTONIC the reply to a call
 *	with VGPU_CALL_CLOCKS
 * @clock: clock of the time stamp, enum vgpu_schema_clock
 * @time: time stamp in nanoseconds (VGPU_CLOCK_TSC: ticks), more than 0 and less than
 *	VGPU_CLOCK_MAX; replaced by the result
 */
void vgpu_clock_convert(struct vgpu_host *host, struct vgpu_clock_file *times,
			const struct vgpu_reply *reply, u32 clock, s64 *time)
{
	s64 offset = clock_offset(host);
	s64 now;

	if (clock == VGPU_CLOCK_FILE)
		clock = READ_ONCE(times->clock);
	switch (clock) {
	case VGPU_CLOCK_MONOTONIC:
		*time = clock_monotonic(times, *time, offset);
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
		clock_tsc(host->terms.tsc_khz, reply, offset, time);
		break;
	}
}
