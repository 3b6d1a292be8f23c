// SPDX-License-Identifier: GPL-2.0-only
/* A hostile guest closes many files by calls, which wait until their drivers have released them. */
#include "hostile_kept.h"
#include "switches.h"

#define CLOSES		24
/* The device does the work of one file after the other, and the last close of each waits. */
#define FIRST_US	4000000
#define NEXT_US		20000
/* A CLOSE call sleeps for the release, and for a lock or two, and its thread for calls. */
#define SLEEPS		10

struct closer {
	int lane;
	uint32_t object;
};

/* Opens a device on a lane of its own. */
static bool closer_open(FIXTURE_DATA(kept) *self, struct closer *closer)
{
	closer->lane = peer_lane(&self->peer, 1);
	closer->object = closer->lane < 0 ? 0 : peer_open_device(&self->peer, closer->lane, 1);
	return closer->object;
}

/* Gives the device this much work. */
static bool closer_work(const struct closer *closer, uint32_t us)
{
	const struct vgpu_mock_queue queue = { .us = us };
	char answer[512];

	return peer_ioctl_send(closer->lane, closer->object, 2, VGPU_MOCK_IOC_QUEUE, &queue,
			       ADDR - PAGE, sizeof(queue)) &&
	       !peer_reply(closer->lane, answer, sizeof(answer), SLACK_MS);
}

static bool closer_close(const struct closer *closer)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_CLOSE, closer->object, 3);
	return peer_call_send(closer->lane, &call, 0, 0);
}

/*
 * While devices keep memory of the guest, closed files are released in order. Each release wakes
 * the call that has closed the file, and no other one.
 */
TEST_F_TIMEOUT(kept, a_release_wakes_one_call, 120)
{
	static struct switches before, now;
	struct kept kept = scattered(9, 2);
	struct closer closers[CLOSES];
	char answer[512];
	pid_t shadow;
	int i;

	if (tool_user_engine())
		SKIP(return, "the host module's lanes only");
	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	for (i = 0; i < CLOSES; i++)
		ASSERT_TRUE(closer_open(self, &closers[i]));
	shadow = tool_shadow_of("hostile");
	ASSERT_NE(0, shadow);
	read_switches(shadow, &before);
	ASSERT_LT(CLOSES, before.nr);
	for (i = 0; i < CLOSES; i++)
		ASSERT_TRUE(closer_work(&closers[i], i ? NEXT_US : FIRST_US));
	for (i = 0; i < CLOSES; i++)
		ASSERT_TRUE(closer_close(&closers[i]));
	for (i = 0; i < CLOSES; i++) {
		ASSERT_TRUE(still_here(self));
		EXPECT_EQ(0, peer_reply(closers[i].lane, answer, sizeof(answer), SLACK_MS));
	}
	read_switches(shadow, &now);
	EXPECT_EQ(0, slept_often(&before, &now, SLEEPS));
	for (i = 0; i < CLOSES; i++)
		close(closers[i].lane);
}

TEST_HARNESS_MAIN
