// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest gives wrong or late answers when a driver of the host reads its memory, and hangs
 * up in the middle of calls.
 */
#include "hostile.h"

#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* --- upcalls -------------------------------------------------------------- */

/* Starts an undescribed call whose driver reads the guest's memory, and receives the FETCH. */
static bool start_fetch(struct __test_metadata *_metadata, struct peer *peer, int lane,
			uint32_t object, uint64_t seq, uint32_t hold_ms,
			struct vgpu_fetch *fetch)
{
	struct vgpu_mock_locked arg = {
		.in_ptr = 0x10000000,
		.out_ptr = 0x20000000,
		.length = 64,
		.hold_ms = hold_ms,
	};

	(void)peer;
	return peer_ioctl_send(lane, object, seq, TWIN(VGPU_MOCK_IOC_LOCKED), &arg, 0x30000000,
			       sizeof(arg)) &&
	       peer_recv(lane, fetch, sizeof(*fetch), SLACK_MS) == sizeof(*fetch) &&
	       peer_type(fetch) == VGPU_MSG_FETCH && le64toh(fetch->addr) == 0x10000000;
}

/*
 * A guest withholds a page for which the mock waits with a mutex of all its users held. Another
 * process's call gets the mutex within the deadline of the fetch.
 */
TEST_F(hostile, withheld_page_under_a_device_wide_mutex)
{
	struct vgpu_mock_locked arg = { 0 };
	struct vgpu_fetch fetch;
	union {
		struct vgpu_reply reply;
		char bytes[512];
	} answer;
	uint64_t start;
	uint32_t object;
	int lane, fd, ms;

	fd = open(real_path, O_RDWR);
	ASSERT_GE(fd, 0);
	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(start_fetch(_metadata, &self->peer, lane, object, 2, 0, &fetch));

	start = peer_now_ms();
	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_LOCKED, &arg));
	ms = peer_now_ms() - start;
	EXPECT_LT(ms, FETCH_MS + SLACK_MS);
	/* The call has waited for the mutex. */
	EXPECT_GT(ms, FETCH_MS / 10);
	/*
	 * The guest's call fails, its lane serves no other call, and the host counts the
	 * timeout.
	 */
	EXPECT_EQ(-EFAULT, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(VGPU_REPLY_LAST, le32toh(answer.reply.flags));
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(INT64_MIN, peer_reply(lane, &answer, sizeof(answer), 500));
	EXPECT_EQ(1, guest().counters.fetch_timeouts);
	close(lane);
	/* Other lanes of the session serve calls. */
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_TRUE(peer_ioctl_send(lane, object, 1, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	close(lane);
	close(fd);
}

TEST_F(hostile, wrong_answers_to_a_fetch)
{
	struct {
		struct vgpu_fetched msg;
		char page[VGPU_PAGE_SIZE];
	} answer;
	struct vgpu_fetch fetch;
	uint32_t object;
	unsigned int i;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 6; i++) {
		size_t len = sizeof(answer);

		lane = peer_lane(&self->peer, 10 + i);
		ASSERT_GE(lane, 0);
		object = peer_open_device(&self->peer, lane, 1);
		ASSERT_NE(0, object);
		ASSERT_TRUE(start_fetch(_metadata, &self->peer, lane, object, 2, 0, &fetch));
		memset(&answer, 0, sizeof(answer));
		answer.msg.hdr.len = htole32(sizeof(answer));
		answer.msg.hdr.type = htole16(VGPU_MSG_FETCHED);
		answer.msg.hdr.seq = fetch.hdr.seq;
		answer.msg.len = htole32(VGPU_PAGE_SIZE);
		switch (i) {
		case 0:		/* fewer bytes than asked for */
			answer.msg.len = htole32(VGPU_PAGE_SIZE / 2);
			break;
		case 1:		/* more bytes than asked for */
			answer.msg.len = htole32(VGPU_PAGE_SIZE * 2);
			break;
		case 2:		/* number of another call */
			answer.msg.hdr.seq = htole64(77);
			break;
		case 3:		/* an error with bytes */
			answer.msg.error = htole32(EFAULT);
			break;
		case 4:		/* another message type */
			answer.msg.hdr.type = htole16(VGPU_MSG_WRITTEN);
			break;
		case 5:		/* error above the largest errno */
			answer.msg.error = htole32(0xffffffff);
			answer.msg.len = 0;
			answer.msg.hdr.len = htole32(sizeof(answer.msg));
			len = sizeof(answer.msg);
			break;
		}
		ASSERT_TRUE(peer_send(lane, &answer, len));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(lane);
	}
}

TEST_F(hostile, page_that_does_not_exist)
{
	struct vgpu_fetched none = {
		.hdr.len = htole32(sizeof(none)),
		.hdr.type = htole16(VGPU_MSG_FETCHED),
		.error = htole32(EFAULT),
	};
	struct vgpu_fetch fetch;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_reply reply;
		char bytes[512];
	} answer;
	uint32_t object;
	int lane, tries;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(start_fetch(_metadata, &self->peer, lane, object, 2, 0, &fetch));
	none.hdr.seq = fetch.hdr.seq;
	/*
	 * The host's copy function may read the faulting byte once more, so a second FETCH may
	 * come.
	 */
	for (tries = 0; tries < 3; tries++) {
		ASSERT_TRUE(peer_send(lane, &none, sizeof(none)));
		ASSERT_GT(peer_recv(lane, &answer, sizeof(answer), SLACK_MS), 0);
		if (peer_type(&answer) != VGPU_MSG_FETCH)
			break;
	}
	EXPECT_EQ(VGPU_MSG_REPLY, peer_type(&answer));
	EXPECT_EQ(-EFAULT, (int64_t)le64toh(answer.reply.result));
	/* The lane serves the next call. */
	ASSERT_TRUE(peer_ioctl_send(lane, object, 3, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	close(lane);
}

/* --- connections that end in the middle ----------------------------------- */

TEST_F_TIMEOUT(hostile, killed_in_the_middle_of_calls, 120)
{
	struct vgpu_mock_sleep sleep = {
		.ms = 60000,
		.mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE,
	};
	struct vgpu_fetch fetch;
	struct peer_call call;
	uint32_t object;
	unsigned int i;
	int lane;

	/* 90 connections end mid-call in one of four ways, or 12 where time is short. */
	for (i = 0; i < (getenv("VGPU_TIMES") ? 12 : 90); i++) {
		ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT)) TH_LOG("round %u", i);
		lane = peer_lane(&self->peer, 1);
		ASSERT_GE(lane, 0) TH_LOG("round %u", i);
		object = peer_open_device(&self->peer, lane, 1);
		ASSERT_NE(0, object) TH_LOG("round %u", i);
		switch (i % 4) {
		case 0:		/* in a driver's sleep */
		case 1:
			ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_SLEEP, &sleep,
						    0x1000000, sizeof(sleep)));
			break;
		case 2:		/* in a fetch */
			ASSERT_TRUE(start_fetch(_metadata, &self->peer, lane, object, 2, 0,
						&fetch));
			break;
		case 3:		/* in a message */
			peer_call_init(&call, VGPU_OP_IOCTL, object, 2);
			call.msg.hdr.len = htole32(4096);
			ASSERT_TRUE(peer_send(lane, &call.msg, sizeof(call.msg)));
			break;
		}
		/*
		 * The lane is closed first in odd rounds, and the control connection in even
		 * ones.
		 */
		if (i & 1)
			close(lane);
		peer_close(&self->peer);
		if (!(i & 1))
			close(lane);
	}
	/* The fixture's teardown checks that no file and no shadow is left. */
}

/*
 * A guest does not answer, and goes on sending when its lane has had the last reply. The host takes
 * no more than what may be a late answer.
 */
TEST_F_TIMEOUT(hostile, sends_on_after_the_last_reply, 60)
{
	static char bytes[1 << 16];
	struct vgpu_fetch fetch;
	union {
		struct vgpu_reply reply;
		char bytes[512];
	} answer;
	uint32_t object;
	int lane, i;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(start_fetch(_metadata, &self->peer, lane, object, 2, 0, &fetch));
	ASSERT_EQ(-EFAULT, peer_reply(lane, &answer, sizeof(answer), FETCH_MS + SLACK_MS));
	ASSERT_TRUE(le32toh(answer.reply.flags) & VGPU_REPLY_LAST);
	for (i = 0; i < 64; i++)
		if (!peer_send(lane, bytes, sizeof(bytes)))
			break;
	EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0);
	EXPECT_EQ(1, guest().counters.malformed);
	close(lane);
}

TEST_HARNESS_MAIN
