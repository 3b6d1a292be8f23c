// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two guests share a device whose driver returns when the device has done the work. The device
 * counts the time for which it has worked for each of them.
 */
#include "hostile_share.h"

/* Time in us after which a guest that gives a device no work does not count as active. */
#define ACTIVE_US	600000

/* Gives the device work until the test is over. */
static bool program_work(int fd, struct common *common, int number)
{
	struct vgpu_mock_work work = { .us = WORK_US };

	while (!stopped(common)) {
		if (ioctl(fd, VGPU_MOCK_IOC_WORK, &work))
			return stopped(common);
		__atomic_store_n(&common->done[number], work.out_total_us, __ATOMIC_RELAXED);
	}
	return true;
}

static bool send_work(FIXTURE_DATA(share) *self, int lane, uint32_t us)
{
	struct vgpu_mock_work work = { .us = us };

	return send_call(self, lane, VGPU_MOCK_IOC_WORK, &work, sizeof(work));
}

/* The guest of one program gives the device work once. */
static bool work(FIXTURE_DATA(share) *self)
{
	if (!send_work(self, self->lane, WORK_US) || reply(self, self->lane))
		return false;
	self->done += WORK_US;
	/* The host drops a guest that is silent. */
	return peer_ping(&self->peer);
}

static const struct ways ways = { .run = program_work, .work = work };

TESTS_OF_WEIGHTS(&ways)

/* The programs of a guest that is alone do not wait for each other. */
TEST_F_TIMEOUT(share, alone, 60)
{
	long long before;

	/* The guest that played in another test before counts as active for half a second. */
	usleep(ACTIVE_US);
	before = shown("1", "queued");
	ASSERT_TRUE(programs_begin(self, program_work));
	while (programs_done(self) < 4 * PROGRAMS * WORK_US && !self->common->failed) {
		ASSERT_TRUE(peer_ping(&self->peer));
		usleep(20000);
	}
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	EXPECT_EQ(before, shown("1", "queued"));
}

/* Calls that never end do not keep the device from others. */
TEST_F_TIMEOUT(share, never_ends, 120)
{
	struct vgpu_mock_wait wait = { .target = 1 };
	int lanes[3], i;

	for (i = 0; i < 3; i++) {
		lanes[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lanes[i], 0);
		ASSERT_TRUE(send_call(self, lanes[i], VGPU_MOCK_IOC_WAIT, &wait, sizeof(wait)));
	}
	ASSERT_TRUE(programs_begin(self, program_work));
	while (programs_done(self) < 4 * PROGRAMS * WORK_US && !self->common->failed) {
		ASSERT_TRUE(peer_ping(&self->peer));
		usleep(100000);
	}
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < 3; i++)
		close(lanes[i]);
}

/* A guest with a cap gets no more, although it is alone. A slow machine can only give it less. */
TEST_F_TIMEOUT(share, cap, 60)
{
	uint64_t start, before, done, ms;

	ASSERT_TRUE(run("vgpuctl limit 1 device-cap=20"));
	ASSERT_TRUE(programs_begin(self, program_work));
	while (programs_done(self) < 4 * WORK_US && !self->common->failed) {
		ASSERT_TRUE(peer_ping(&self->peer));
		usleep(20000);
	}
	before = programs_done(self);
	start = tool_now_ms();
	while (tool_now_ms() < start + 5000)
		usleep(20000);
	done = programs_done(self) - before;
	ms = tool_now_ms() - start;
	EXPECT_TRUE(run("vgpuctl limit 1 device-cap="));
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	EXPECT_GT(done, 0);
	/* Calls of all programs may begin at once, and again when their time is over. */
	EXPECT_LE(done / 1000, ms / 5 + 2 * PROGRAMS * WORK_US / 1000);
}

/* A guest of a higher priority gets what it asks for, whatever the others do. */
TEST_F_TIMEOUT(share, priority, 120)
{
	uint64_t before, lost;
	int i;

	ASSERT_TRUE(programs_begin(self, program_work));
	while (programs_done(self) < 2 * PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(work(self));
	ASSERT_TRUE(run("vgpuctl limit 1:22600 device-priority=1"));
	before = programs_done(self);
	for (i = 0; i < WORKS / 3; i++)
		ASSERT_TRUE(work(self));
	lost = (programs_done(self) - before) / WORK_US;
	/* The others get the device again. */
	EXPECT_TRUE(run("vgpuctl limit 1:22600 device-priority="));
	before = programs_done(self);
	while (programs_done(self) < before + PROGRAMS * WORK_US && !self->common->failed)
		ASSERT_TRUE(work(self));
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	TH_LOG("%llu calls of others came between %d of its own", (unsigned long long)lost,
	       WORKS / 3);
	/* Equal guests would have as many; the test may be late with its next call. */
	EXPECT_LE(lost, WORKS / 3 / 2);
}

/* Waits until @nr calls of a guest have had to wait, beyond @before. */
static bool await_queued(const FIXTURE_DATA(share) *self, const char *guest, long long before,
			 int nr)
{
	uint64_t end = tool_now_ms() + 2 * SLACK_MS;

	while (shown(guest, "queued") < before + nr) {
		if (tool_now_ms() > end || !peer_ping(&self->peer))
			return false;
		usleep(20000);
	}
	return true;
}

/* A frozen guest waits, others do not; its programs can be killed, and go on when it is thawed. */
TEST_F_TIMEOUT(share, frozen, 120)
{
	const long long before = shown("1", "queued");
	int i, status;

	ASSERT_TRUE(weigh("0", "100"));
	ASSERT_TRUE(programs_begin(self, program_work));
	ASSERT_TRUE(await_queued(self, "1", before, PROGRAMS));
	for (i = 0; i < 10; i++)
		ASSERT_TRUE(work(self));
	EXPECT_EQ(0, programs_done(self));
	for (i = 0; i < PROGRAMS / 2; i++) {
		kill(self->pids[i], SIGKILL);
		EXPECT_EQ(self->pids[i], waitpid(self->pids[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		self->pids[i] = 0;
	}
	ASSERT_TRUE(weigh("100", "100"));
	for (i = PROGRAMS / 2; i < PROGRAMS; i++)
		while (!__atomic_load_n(&self->common->done[i], __ATOMIC_RELAXED))
			ASSERT_TRUE(work(self));
	programs_end(self);
	EXPECT_EQ(0, self->common->failed);
	for (i = 0; i < PROGRAMS / 2; i++)
		EXPECT_EQ(0, self->common->done[i]);
}

/* A call that waits is cancelled as one that runs, and a guest can go while its calls wait. */
TEST_F_TIMEOUT(share, cancelled, 60)
{
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
	};

	ASSERT_TRUE(weigh("100", "0"));
	ASSERT_TRUE(send_work(self, self->lane, WORK_US));
	ASSERT_TRUE(await_queued(self, "1:22600", 0, 1));
	cancel.seq = htole64(self->seq);
	ASSERT_TRUE(peer_send(self->lane, &cancel, sizeof(cancel)));
	/* -ERESTARTSYS, as nothing was run. */
	EXPECT_EQ(-512, reply(self, self->lane));
	ASSERT_TRUE(weigh("100", "100"));
	ASSERT_TRUE(work(self));
	ASSERT_TRUE(weigh("100", "0"));
	ASSERT_TRUE(send_work(self, self->lane, WORK_US));
	ASSERT_TRUE(await_queued(self, "1:22600", 0, 2));
	/* The call still waits when the lane ends, and when the guest goes. */
}

TEST_HARNESS_MAIN
