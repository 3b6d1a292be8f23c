// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of guests in a device whose driver queues the work, and what a guest waits for beside a
 * greedy one. These are tests of times, which are not for machines that do other work (make
 * check-share); hostile_pending has the others.
 */
#include "hostile_queue.h"

/* Work of the modest guest, which leaves the device three quarters of the time. */
#define MODEST_US	10000
#define MODEST_WORKS	100

/* Number of calls of a measurement, and of measurements. */
#define CALLS		400
#define ROUNDS		5

static const struct ways ways = { .run = program_queue, .work = queue };

TESTS_OF_WEIGHTS(&ways)

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Measures the time in us that the modest guest's work takes, which all but 1 % take at most. */
static uint64_t modest(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self)
{
	uint64_t times[MODEST_WORKS], start;
	int i;

	for (i = 0; i < MODEST_WORKS; i++) {
		start = now_us();
		ASSERT_TRUE(queue_us(self, MODEST_US)) {
			return 0;
		}
		times[i] = now_us() - start;
		usleep(3 * MODEST_US);
	}
	qsort(times, MODEST_WORKS, sizeof(times[0]), compare_times);
	return times[MODEST_WORKS * 99 / 100 - 1];
}

/* A guest that uses a quarter of the device waits for one call of the greedy guest at most. */
TEST_F_TIMEOUT(share, modest, 180)
{
	uint64_t alone, shared, longest = 0;
	int i;

	alone = modest(_metadata, self);
	ASSERT_TRUE(programs_begin(self, program_queue));
	while (programs_done(self) < 2 * PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(queue(self));
	shared = modest(_metadata, self);
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < PROGRAMS; i++)
		if (self->common->longest[i] > longest)
			longest = self->common->longest[i];
	TH_LOG("99 %% take at most %llu us alone, %llu us beside calls of at most %llu us",
	       (unsigned long long)alone, (unsigned long long)shared,
	       (unsigned long long)longest);
	EXPECT_LE(shared, 2 * alone + longest);
}

/* Measures the time in us that a program's call takes in the middle, without the device's work. */
static uint64_t uncontended(struct __test_metadata *_metadata, FIXTURE_DATA(share) *self)
{
	struct vgpu_mock_queue queue;
	uint64_t times[CALLS], start;
	int i;

	for (i = 0; i < CALLS; i++) {
		queue = (struct vgpu_mock_queue){ .flags = VGPU_MOCK_QUEUE_FENCE };
		start = now_us();
		ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_QUEUE, &queue)) {
			return 0;
		}
		times[i] = now_us() - start;
		close(queue.out_fence);
		/* The host drops a guest that is silent. */
		if (!(i % 50) && self->peer.control >= 0) {
			ASSERT_TRUE(peer_ping(&self->peer)) {
				return 0;
			}
		}
	}
	qsort(times, CALLS, sizeof(times[0]), compare_times);
	return times[CALLS / 2];
}

/* A guest that is alone pays little for what is needed when another one comes. */
TEST_F_TIMEOUT(share, uncontended, 120)
{
	uint64_t with[ROUNDS], without[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		with[i] = uncontended(_metadata, self);
		close(self->lane);
		peer_close(&self->peer);
		self->peer.control = -1;
		ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
		without[i] = uncontended(_metadata, self);
		HOST_BEGIN(&self->peer, self->lane, self->object);
		self->seq = 1;
	}
	qsort(with, ROUNDS, sizeof(with[0]), compare_times);
	qsort(without, ROUNDS, sizeof(without[0]), compare_times);
	TH_LOG("a call takes %llu us beside a guest that does nothing, %llu us without it",
	       (unsigned long long)with[ROUNDS / 2], (unsigned long long)without[ROUNDS / 2]);
	/* The part of it is larger in emulation, where an atomic operation costs much. */
	EXPECT_LE(with[ROUNDS / 2] * 100, without[ROUNDS / 2] * 150);
}

TEST_HARNESS_MAIN
