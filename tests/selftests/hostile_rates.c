// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that is at its rate waits alone: other guests do not notice, and a new connection does
 * not help it. Lanes that are too many stay. The tests run where those of hostile.h do.
 */
#include "hostile_limits.h"

/* Sends a call of some hundred bytes, and does not wait for the reply. */
static bool send_call(int lane, uint32_t object, uint64_t seq)
{
	struct vgpu_mock_array arg = { .count = 0 };

	return peer_ioctl_send(lane, object, seq, VGPU_MOCK_IOC_ARRAY_IN, &arg, 0x10000000,
			       sizeof(arg));
}

/* Sends a call that opens the device, and does not wait for the reply. */
static bool send_open(const struct peer *peer, int lane, uint64_t seq)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_OPEN, 0, seq);
	call.msg.args.open.export = htole32(peer->export);
	call.msg.f_flags = htole32(O_RDWR);
	call.msg.args.open.flags = htole32(O_RDWR);
	return peer_call_send(lane, &call, 0, 0);
}

static bool reply_comes(int lane, int timeout_ms)
{
	char answer[4096];

	return peer_reply(lane, answer, sizeof(answer), timeout_ms) != INT64_MIN;
}

static bool set_limit(const char *limit)
{
	return !tool_run("vgpuctl limit %d:%d %s", LOOPBACK, PORT, limit)->status;
}

static bool delayed(void *unused)
{
	const char *out = tool_run("vgpuctl limit %d:%d --json", LOOPBACK, PORT)->out;
	const char *at = strstr(out, "\"delayed\":");

	return at && atol(at + strlen("\"delayed\":"));
}

/* While a guest waits for minutes, another one makes calls. */
TEST_F_TIMEOUT(limits, other_guests, 120)
{
	uint32_t object;
	int lane, fd, i;

	HOST_BEGIN(&self->peer, lane, object);
	/* Each call has some hundred bytes, so the second one waits for minutes. */
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 2));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	ASSERT_TRUE(send_call(lane, object, 3));
	ASSERT_TRUE(eventually(delayed, NULL, SLACK_MS));
	fd = open(fwd_path, O_RDWR);
	ASSERT_GE(fd, 0);
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	close(fd);
	EXPECT_FALSE(reply_comes(lane, 100));
	ASSERT_TRUE(set_limit("byte-rate="));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	close(lane);
}

/* A guest that connects anew owes what it owed before. */
TEST_F_TIMEOUT(limits, connects_anew, 120)
{
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 2));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	close(lane);
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	/* This OPEN has to wait. */
	ASSERT_TRUE(send_open(&self->peer, lane, 1));
	EXPECT_TRUE(eventually(delayed, NULL, SLACK_MS));
	EXPECT_FALSE(reply_comes(lane, 500));
	/* The guest goes while its lane waits. */
	close(lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_TRUE(set_limit("byte-rate="));
}

/* A call that waits for its turn is cancelled as one that waits in a driver. */
TEST_F_TIMEOUT(limits, cancelled, 60)
{
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
		.seq = htole64(3),
	};
	char answer[4096];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 2));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	ASSERT_TRUE(send_call(lane, object, 3));
	ASSERT_TRUE(eventually(delayed, NULL, SLACK_MS));
	ASSERT_TRUE(peer_send(lane, &cancel, sizeof(cancel)));
	/* -ERESTARTSYS, as nothing was run. */
	EXPECT_EQ(-512, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(set_limit("byte-rate="));
	ASSERT_TRUE(send_call(lane, object, 4));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	close(lane);
}

static bool send_fdinfo(int lane, uint32_t object, uint64_t seq)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_FDINFO, object, seq);
	call.seg[0].len = htole32(256);
	call.seg[0].flags = htole32(VGPU_SEG_OUT);
	return peer_call_send(lane, &call, 1, 0);
}

static bool send_close(int lane, uint32_t object, uint64_t seq)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_CLOSE, object, seq);
	return peer_call_send(lane, &call, 0, 0);
}

/* Any program of a guest can cause an FDINFO, which must not make others wait for it. */
TEST_F_TIMEOUT(limits, fdinfo, 60)
{
	char answer[4096];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 2));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	ASSERT_TRUE(send_fdinfo(lane, object, 3));
	EXPECT_EQ(-EAGAIN, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(set_limit("byte-rate="));
	close(lane);
}

/* A guest cannot go round its rate by closing what it does not have. */
TEST_F_TIMEOUT(limits, closes_of_nothing, 60)
{
	char answer[4096];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_close(lane, 4711, 2));
	EXPECT_EQ(-EBADF, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(send_close(lane, 4711, 3));
	EXPECT_TRUE(eventually(delayed, NULL, SLACK_MS));
	EXPECT_FALSE(reply_comes(lane, 100));
	ASSERT_TRUE(set_limit("byte-rate="));
	EXPECT_EQ(-EBADF, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	/* A CLOSE of what it has does not wait. */
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 4));
	EXPECT_TRUE(reply_comes(lane, SLACK_MS));
	ASSERT_TRUE(send_close(lane, object, 5));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(set_limit("byte-rate="));
	close(lane);
}

/* Sends a call with @bytes of memory besides its argument, whose driver sleeps for a minute. */
static bool send_long(int lane, uint32_t object, uint64_t seq, uint32_t bytes)
{
	struct msg {
		struct vgpu_call call;
		struct vgpu_seg segs[2];
		struct vgpu_mock_sleep sleep;
		char bytes[];
	} *msg = calloc(1, sizeof(*msg) + bytes);
	bool sent;

	if (!msg)
		return false;
	msg->call = (struct vgpu_call) {
		.hdr = {
			.len = htole32(sizeof(*msg) + bytes), .type = htole16(VGPU_MSG_CALL),
			.seq = htole64(seq),
		},
		.op = htole16(VGPU_OP_IOCTL),
		.object = htole32(object),
		.nr_segs = htole16(2),
		.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_SLEEP),
		.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
	};
	msg->segs[0].len = htole32(sizeof(msg->sleep));
	msg->segs[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	msg->segs[1].len = htole32(bytes);
	msg->segs[1].flags = htole32(VGPU_SEG_IN);
	msg->sleep.ms = 60000;
	sent = peer_send(lane, msg, sizeof(*msg) + bytes);
	free(msg);
	return sent;
}

/* A session may have four messages of this length, or two with the memory for their arguments. */
#define LONG_BYTES	(15U << 20)

/* A guest cannot go round its rate by calls for which its session has no memory. */
TEST_F_TIMEOUT(limits, calls_without_memory, 120)
{
	uint32_t object, before;
	char answer[4096];
	int lane[3], i;

	HOST_BEGIN(&self->peer, lane[0], object);
	for (i = 1; i < 3; i++) {
		lane[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lane[i], 0);
	}
	for (i = 0; i < 2; i++) {
		before = sleeps();
		ASSERT_TRUE(send_long(lane[i], object, 2 - i, LONG_BYTES));
		ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
		ASSERT_TRUE(peer_ping(&self->peer));
	}
	ASSERT_TRUE(set_limit("byte-rate=1"));
	/* The host ends a guest that is silent for long, and long messages may take long. */
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(send_long(lane[2], object, 1, LONG_BYTES / 2));
	EXPECT_EQ(-ENOMEM, peer_reply(lane[2], answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(send_long(lane[2], object, 2, LONG_BYTES / 2));
	ASSERT_TRUE(peer_ping(&self->peer));
	EXPECT_TRUE(eventually(delayed, NULL, SLACK_MS));
	EXPECT_FALSE(reply_comes(lane[2], 100));
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(set_limit("byte-rate="));
	EXPECT_EQ(-ENOMEM, peer_reply(lane[2], answer, sizeof(answer), SLACK_MS));
	for (i = 0; i < 3; i++)
		close(lane[i]);
}

/* Sends a call of @bytes, cancels it, and receives the reply. */
static bool cancel_long(int lane, uint32_t object, uint64_t seq, uint32_t bytes)
{
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
		.seq = htole64(seq),
	};

	return send_long(lane, object, seq, bytes) &&
	       peer_send(lane, &cancel, sizeof(cancel)) && reply_comes(lane, SLACK_MS);
}

/*
 * A program with a timer gives its calls up over and over. Others do not wait for all that it has
 * sent, as its lanes wait.
 */
TEST_F_TIMEOUT(limits, cancelled_over_and_over, 120)
{
	uint64_t seq[2] = { 2, 1 }, start;
	uint32_t object;
	int lane[3], i;

	HOST_BEGIN(&self->peer, lane[0], object);
	for (i = 1; i < 3; i++) {
		lane[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lane[i], 0);
	}
	/* All of the messages take ten seconds, those of two calls one. */
	ASSERT_TRUE(set_limit("byte-rate=16384"));
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(cancel_long(lane[i % 2], object, seq[i % 2]++, 8 << 10));
		ASSERT_TRUE(peer_ping(&self->peer));
	}
	start = peer_now_ms();
	ASSERT_TRUE(send_call(lane[2], object, 1));
	EXPECT_TRUE(reply_comes(lane[2], 3000));
	printf("# the turn comes after %" PRIu64 " ms\n", peer_now_ms() - start);
	/* Lanes that wait end with their connections. */
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(cancel_long(lane[i], object, seq[i]++, 256 << 10));
	for (i = 0; i < 3; i++)
		close(lane[i]);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(set_limit("byte-rate="));
}

/* A lane that waits for the bytes of a call that was given up runs a CLOSE nevertheless. */
TEST_F_TIMEOUT(limits, close_after_cancelled, 120)
{
	char answer[4096];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(set_limit("byte-rate=1"));
	ASSERT_TRUE(send_call(lane, object, 2));
	EXPECT_TRUE(reply_comes(lane, 10000));
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(cancel_long(lane, object, 3, 8 << 10));
	ASSERT_TRUE(peer_ping(&self->peer));
	/* An FDINFO fails at once, as its turn is far off. */
	ASSERT_TRUE(send_fdinfo(lane, object, 4));
	EXPECT_EQ(-EAGAIN, peer_reply(lane, answer, sizeof(answer), 10000));
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(send_close(lane, object, 5));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), 10000));
	/* The lane still waits. */
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(send_open(&self->peer, lane, 6));
	EXPECT_FALSE(reply_comes(lane, 500));
	ASSERT_TRUE(set_limit("byte-rate="));
	EXPECT_TRUE(reply_comes(lane, 10000));
	close(lane);
}

/* Lanes beyond a new limit stay, and a guest gets no more. */
TEST_F_TIMEOUT(limits, lanes, 60)
{
	uint32_t object;
	int lane[3];

	HOST_BEGIN(&self->peer, lane[0], object);
	lane[1] = peer_lane(&self->peer, 1);
	ASSERT_GE(lane[1], 0);
	ASSERT_TRUE(set_limit("lanes=2"));
	EXPECT_LT(peer_lane(&self->peer, 1), 0);
	ASSERT_TRUE(set_limit("lanes=3"));
	lane[2] = peer_lane(&self->peer, 1);
	ASSERT_GE(lane[2], 0);
	ASSERT_TRUE(set_limit("lanes=2"));
	EXPECT_LT(peer_lane(&self->peer, 1), 0);
	ASSERT_TRUE(send_call(lane[2], object, 1));
	EXPECT_TRUE(reply_comes(lane[2], SLACK_MS));
	ASSERT_TRUE(set_limit("lanes="));
	close(lane[0]);
	close(lane[1]);
	close(lane[2]);
}

TEST_HARNESS_MAIN
