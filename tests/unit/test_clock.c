// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the bounds of the difference of two clocks, computed from calls of any duration. */
#include <stdio.h>
#include <stdlib.h>

#include "link/clock_bounds.h"
#include "tap.h"

#define US	1000LL
#define MS	(1000 * US)
#define SECOND	(1000 * MS)

/* Two machines: the guest's clock as a function of the host's. */
struct world {
	s64 offset;
	s64 ppm;	/* rate of the guest's clock, relative to the host's */
	s64 now;	/* time of the host's clock */
	u32 seed;
};

static s64 here(const struct world *w)
{
	return w->now + w->offset + w->now / 1000000 * w->ppm;
}

static u32 random_below(struct world *w, u32 limit)
{
	w->seed = w->seed * 1664525 + 1013904223;
	return (w->seed >> 8) % limit;
}

/* Makes a call: it travels for @go, is with the driver for @stay, and travels back for @back. */
static struct vgpu_clock_sample call(struct world *w, s64 go, s64 stay, s64 back)
{
	struct vgpu_clock_sample s = { .sent = here(w) };

	w->now += go;
	s.in = w->now;
	w->now += stay;
	s.out = w->now;
	w->now += back;
	s.received = here(w);
	return s;
}

/* Adds a sample as the guest does: a sample with nothing new must not change the bounds. */
static void add(struct vgpu_clock_bounds *b, const struct vgpu_clock_sample *s)
{
	struct vgpu_clock_bounds before = *b;
	bool narrower = vgpu_clock_bounds_narrower(b, s);

	vgpu_clock_bounds_merge(b, s);
	tap_expect(b->known && b->low <= b->offset && b->offset <= b->high, "in its bounds");
	if (narrower)
		return;
	tap_expect(b->offset == before.offset, "nothing new changes nothing");
	*b = before;
}

/* Checks that events of the driver during a call convert to times within that call. */
static void inside(const struct vgpu_clock_bounds *b, const struct vgpu_clock_sample *s)
{
	s64 slack = (s->received - s->sent) >> 13;

	tap_expect((s64)s->in + b->offset >= (s64)s->sent - slack &&
		   (s64)s->out + b->offset <= (s64)s->received,
		   "between %llu and %llu", (unsigned long long)s->sent,
		   (unsigned long long)s->received);
}

static s64 error_of(const struct vgpu_clock_bounds *b, const struct world *w)
{
	return llabs(here(w) - w->now - b->offset);
}

static void test_one(s64 offset)
{
	struct vgpu_clock_bounds b = { 0 };
	struct world w = { .offset = offset, .now = 100 * SECOND };
	struct vgpu_clock_sample s = call(&w, 50 * US, 3 * MS, 50 * US);

	add(&b, &s);
	inside(&b, &s);
	tap_expect(error_of(&b, &w) <= US, "off by %lld", (long long)error_of(&b, &w));
	s = call(&w, 5 * MS, 0, 10 * US);
	add(&b, &s);
	tap_expect(error_of(&b, &w) <= 50 * US, "a slow way there does no harm");
	s = call(&w, 10 * US, 0, 5 * MS);
	add(&b, &s);
	tap_expect(b.high - b.low <= 30 * US && error_of(&b, &w) <= 30 * US,
		   "each way's quickest counts");
	tap_subject("one call, and more");
}

/* Few of many calls are quick while the clocks drift apart; the error stays below 1 ms. */
static void test_many(s64 ppm)
{
	struct vgpu_clock_bounds b = { 0 };
	struct world w = { .offset = -70 * SECOND, .ppm = ppm, .now = 100 * SECOND, .seed = 1 };
	char name[64];
	s64 worst = 0;
	u32 i;

	for (i = 0; i < 20000; i++) {
		u32 busy = random_below(&w, 20) ? 20 : 1;
		struct vgpu_clock_sample s;

		s = call(&w, 100 * US + random_below(&w, busy * 100 * US), random_below(&w, MS),
			 100 * US + random_below(&w, busy * 100 * US));
		add(&b, &s);
		inside(&b, &s);
		if (i > 200)
			worst = max(worst, error_of(&b, &w));
		w.now += random_below(&w, 20 * MS);
	}
	tap_expect(worst < MS, "off by %lld ns", (long long)worst);
	snprintf(name, sizeof(name), "20000 calls at %lld ppm", (long long)ppm);
	tap_subject(name);
}

static void test_stands_still(void)
{
	struct vgpu_clock_bounds b = { 0 };
	struct world w = { .offset = SECOND, .now = 100 * SECOND };
	struct vgpu_clock_sample s = call(&w, 50 * US, 0, 50 * US);

	tap_expect(vgpu_clock_bounds_width(&b, 0) == U64_MAX, "nothing is known");
	add(&b, &s);
	/* The guest was stopped: its clock stood still. */
	w.offset -= 30 * SECOND;
	w.now += 30 * SECOND;
	s = call(&w, 50 * US, 0, 50 * US);
	add(&b, &s);
	inside(&b, &s);
	tap_expect(error_of(&b, &w) <= 100 * US, "off by %lld", (long long)error_of(&b, &w));
	/* The driver sleeps for a day, and the clocks drift apart: one bound is old then. */
	for (w.ppm = -200; w.ppm <= 200; w.ppm += 100) {
		w.offset = SECOND - w.now / 1000000 * w.ppm;
		s = call(&w, 50 * US, 0, 50 * US);
		add(&b, &s);
		s = call(&w, 50 * US, 86400 * SECOND, 50 * US);
		add(&b, &s);
		if (llabs(w.ppm) <= 100) {
			inside(&b, &s);
			tap_expect(vgpu_clock_bounds_width(&b, s.received) > SECOND,
				   "which is known");
		}
		s = call(&w, 50 * US, 0, 50 * US);
		add(&b, &s);
		tap_expect(error_of(&b, &w) <= 100 * US &&
			   vgpu_clock_bounds_width(&b, s.received) <= 150 * US,
			   "off by %lld", (long long)error_of(&b, &w));
	}
	tap_subject("machines that stand still");
}

/* Time must not go back when threads add samples in another order than their calls ended. */
static void test_order(void)
{
	struct vgpu_clock_bounds b = { 0 };
	struct world w = { .offset = SECOND, .now = 100 * SECOND };
	struct vgpu_clock_sample first = call(&w, 50 * US, 0, 50 * US);
	struct vgpu_clock_sample second = call(&w, 40 * US, 0, 40 * US);

	add(&b, &second);
	add(&b, &first);
	inside(&b, &first);
	inside(&b, &second);
	tap_expect(b.at == second.received, "time does not go back");
	tap_subject("in another order");
}

/* Any times that the codec accepts from a host must keep the bounds consistent. */
static void test_any(void)
{
	static const u64 times[] = { 0, 1, SECOND, (1ULL << 62) - 1, 1ULL << 62 };
	struct vgpu_clock_bounds b = { 0 };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		for (j = i; j < ARRAY_SIZE(times); j++) {
			struct vgpu_clock_sample s = {
				.sent = SECOND + i, .in = times[i], .out = times[j],
				.received = 2 * SECOND + j,
			};

			add(&b, &s);
		}
	}
	tap_subject("anything");
}

int main(void)
{
	test_one(0);
	test_one(-1000 * SECOND);
	test_one(1000 * SECOND);
	test_many(0);
	test_many(50);
	test_many(-50);
	test_many(400);
	test_stands_still();
	test_order();
	test_any();
	return tap_done();
}
