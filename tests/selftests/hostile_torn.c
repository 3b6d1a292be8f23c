// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest leaves a lane in the middle of a message, as a program that is killed might: the host's
 * thread waits for the rest for a limited time. If the lane is still open then, the message counts
 * as malformed.
 */
#include "hostile.h"

/* The host's time for a part of a message. */
#define PART_MS		10000
/* Bytes that the host receives at once of a message that it drops. */
#define PIECE		16384
/* Sessions have memory for four of the largest messages. */
#define HOLDERS		4

static bool is_counted(void *unused)
{
	return guest().counters.malformed == 1;
}

/*
 * Waits until the host closes the lane, and keeps the control connection alive. Return: the time
 * in ms, or -1.
 */
static int await_end(const struct peer *peer, int lane)
{
	uint64_t start = peer_now_ms();

	while (peer_now_ms() - start < PART_MS + SLACK_MS) {
		peer_ping(peer);
		if (peer_wait_eof(lane, 1000) >= 0)
			return peer_now_ms() - start;
	}
	return -1;
}

TEST_F_TIMEOUT(hostile, half_a_header, 120)
{
	int lane, ms;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_TRUE(peer_send(lane, "\x60\0\0\0", 4));
	ms = await_end(&self->peer, lane);
	EXPECT_GE(ms, PART_MS - 500);
	EXPECT_TRUE(eventually(is_counted, NULL, SLACK_MS));
	close(lane);
}

TEST_F_TIMEOUT(hostile, half_a_call, 120)
{
	struct peer_call call;
	int lane, ms;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	peer_call_init(&call, VGPU_OP_CLOCK, 0, 1);
	ASSERT_TRUE(peer_send(lane, &call.msg, sizeof(call.msg) / 2));
	ms = await_end(&self->peer, lane);
	EXPECT_GE(ms, PART_MS - 500);
	EXPECT_TRUE(eventually(is_counted, NULL, SLACK_MS));
	close(lane);
}

/* A lane that ends in the middle of a message, as the guest's module does it, is no fault. */
TEST_F_TIMEOUT(hostile, end_in_half_a_call, 120)
{
	struct peer_call call;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	peer_call_init(&call, VGPU_OP_CLOCK, 0, 1);
	ASSERT_TRUE(peer_send(lane, &call.msg, sizeof(call.msg) / 2));
	close(lane);
	/* Another lane of the same session shows that the shadow goes on. */
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	EXPECT_NE(0, peer_open_device(&self->peer, lane, 1));
	EXPECT_EQ(0, guest().counters.malformed);
	close(lane);
}

/* A message for which the session has no memory is dropped. It does not come for ever. */
TEST_F_TIMEOUT(hostile, trickle_that_is_dropped, 180)
{
	static char piece[PIECE];
	int lanes[HOLDERS + 1];
	struct peer_call call;
	unsigned int i;
	uint64_t start;
	int ms = -1;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	peer_call_init(&call, VGPU_OP_WRITE, 1, 1);
	call.msg.hdr.len = self->peer.welcome.call_bytes_max;
	for (i = 0; i <= HOLDERS; i++) {
		lanes[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lanes[i], 0);
	}
	/* The host has memory for the messages of all lanes but the last one. */
	for (i = 0; i < HOLDERS; i++)
		ASSERT_TRUE(peer_send(lanes[i], &call.msg, sizeof(call.msg)));
	usleep(500000);
	start = peer_now_ms();
	ASSERT_TRUE(peer_send(lanes[HOLDERS], &call.msg, sizeof(call.msg)));
	/* A piece comes within each of the host's times for a part. */
	for (i = 0; ms < 0 && peer_now_ms() - start < 3 * PART_MS; i++) {
		peer_ping(&self->peer);
		if (!peer_send(lanes[HOLDERS], piece, i ? PIECE : PIECE - sizeof(call.msg)) ||
		    peer_wait_eof(lanes[HOLDERS], PART_MS / 4) >= 0)
			ms = peer_now_ms() - start;
	}
	EXPECT_GE(ms, 0);
	for (i = 0; i <= HOLDERS; i++)
		close(lanes[i]);
}

TEST_HARNESS_MAIN
