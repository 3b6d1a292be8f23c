// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest begins connections: control connections with a wrong HELLO or none, and lanes
 * that it may not have.
 */
#include <signal.h>

#include "hostile.h"

/* This is the host's default (vgpud(8)). */
#define HANDSHAKE_MS	5000

/* --- handshake ------------------------------------------------------------ */

TEST_F(hostile, garbage_is_refused)
{
	unsigned char garbage[256];
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(garbage); i++)
		garbage[i] = 37 * i + 11;
	fd = peer_connect(LOOPBACK, PORT, true);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EPROTO, peer_refused(fd, garbage, sizeof(garbage)));
	EXPECT_GE(peer_wait_eof(fd, SLACK_MS), 0);
	close(fd);
}

TEST_F(hostile, hello_with_a_wrong_field_is_refused)
{
	struct vgpu_hello hello, good = peer_hello_msg();
	unsigned int i;
	int fd;

	for (i = 0; i < 5; i++) {
		hello = good;
		if (i == 0)
			hello.hdr.len = htole32(0xffffffff);
		if (i == 1)
			hello.hdr.len = htole32(sizeof(hello) + 8);
		if (i == 2)
			hello.magic = 0;
		if (i == 3)
			hello.reserved = htole32(1);
		if (i == 4)
			hello.hdr.type = htole16(VGPU_MSG_CALL);
		fd = peer_connect(LOOPBACK, PORT, true);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(EPROTO, peer_refused(fd, &hello, sizeof(hello)))
			TH_LOG("case %u", i);
		EXPECT_GE(peer_wait_eof(fd, SLACK_MS), 0);
		close(fd);
	}
}

TEST_F(hostile, unknown_version_is_refused)
{
	struct vgpu_hello hello = peer_hello_msg();
	int fd = peer_connect(LOOPBACK, PORT, true);

	ASSERT_GE(fd, 0);
	hello.version_min = htole16(VGPU_WIRE_VERSION + 1);
	hello.version_max = htole16(VGPU_WIRE_VERSION + 7);
	EXPECT_EQ(EPROTONOSUPPORT, peer_refused(fd, &hello, sizeof(hello)));
	close(fd);
}

TEST_F(hostile, untrusted_port_is_refused)
{
	struct vgpu_hello hello = peer_hello_msg();
	int fd = peer_connect(LOOPBACK, PORT, false);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, peer_refused(fd, &hello, sizeof(hello)));
	close(fd);
}

TEST_F(hostile, stranger_is_refused)
{
	struct vgpu_hello hello = peer_hello_msg();
	int fd = peer_connect(LOOPBACK, PORT, true);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, export_as("other", "/dev/null", 1234567, 22600, false));
	ASSERT_EQ(0, unexport("hostile"));
	EXPECT_EQ(ENOENT, peer_refused(fd, &hello, sizeof(hello)));
	close(fd);
	EXPECT_EQ(0, unexport("other"));
}

TEST_F(hostile, silence_ends)
{
	uint64_t start = peer_now_ms();
	int fd = peer_connect(LOOPBACK, PORT, true);

	ASSERT_GE(fd, 0);
	/* The guest sends half a header and then nothing. */
	ASSERT_TRUE(peer_send(fd, "\x38\0\0\0\1", 5));
	EXPECT_GE(peer_wait_eof(fd, HANDSHAKE_MS + SLACK_MS), 0);
	EXPECT_GE(peer_now_ms() - start, HANDSHAKE_MS - 500);
	close(fd);
}

/*
 * An agent that was stopped beyond the handshake's time still answers messages that were sent
 * within that time.
 */
TEST_F(hostile, late_agent_hears)
{
	struct vgpu_hdr answer = {};
	struct vgpu_lane_hello lane;
	unsigned int i;
	int fds[8];
	pid_t pid;

	ASSERT_EQ(1, tool_processes("/vgpud", &pid));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 8; i++) {
		fds[i] = peer_connect(LOOPBACK, PORT, true);
		ASSERT_GE(fds[i], 0);
	}
	/* A lane is ready, so the agent has accepted all earlier connections. */
	ASSERT_GE(peer_lane(&self->peer, 1), 0);
	lane = peer_lane_msg(&self->peer, 1);
	ASSERT_EQ(0, kill(pid, SIGSTOP));
	for (i = 0; i < 8; i++)
		EXPECT_TRUE(peer_send(fds[i], &lane, sizeof(lane)));
	usleep((HANDSHAKE_MS + 500) * 1000);
	EXPECT_EQ(0, kill(pid, SIGCONT));
	for (i = 0; i < 8; i++) {
		EXPECT_LT(0, peer_recv(fds[i], &answer, sizeof(answer), SLACK_MS))
			TH_LOG("connection %u", i);
		EXPECT_EQ(VGPU_MSG_LANE_READY, peer_type(&answer));
		close(fds[i]);
	}
}

TEST_F(hostile, wrong_secret_is_refused)
{
	struct vgpu_lane_hello lane;
	int fd;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane_msg(&self->peer, 1);
	lane.secret[VGPU_SECRET_LEN - 1] ^= 1;
	fd = peer_connect(LOOPBACK, PORT, true);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(EACCES, peer_refused(fd, &lane, sizeof(lane)));
	close(fd);
	/* The right secret on another guest's port fails in the same way. */
	fd = peer_connect(LOOPBACK, VGPU_WIRE_PORT, true);
	ASSERT_GE(fd, 0);
	lane = peer_lane_msg(&self->peer, 1);
	EXPECT_EQ(EACCES, peer_refused(fd, &lane, sizeof(lane)));
	close(fd);
	EXPECT_EQ(0, shadows());
}

static bool let_in(void *peer)
{
	if (!peer_open(peer, LOOPBACK, PORT))
		return true;
	peer_close(peer);
	return false;
}

TEST_F(hostile, crowd_of_silent_connections)
{
	static int fds[300];
	unsigned int i, closed = 0;
	struct pollfd pfd;
	uint64_t end;

	for (i = 0; i < 300; i++)
		fds[i] = peer_connect(LOOPBACK, PORT, false);
	/* Connections above the limit are closed at once, and the guest module works on. */
	EXPECT_TRUE(witness());
	for (end = peer_now_ms() + SLACK_MS; closed < 300 - 256 && peer_now_ms() < end;) {
		closed = 0;
		for (i = 0; i < 300; i++) {
			pfd = (struct pollfd){ .fd = fds[i], .events = POLLIN };
			closed += fds[i] < 0 || poll(&pfd, 1, 0) == 1;
		}
	}
	EXPECT_GE(closed, 300 - 256);
	for (i = 0; i < 300; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	/* A well-behaved guest is accepted again after the crowd is gone. */
	EXPECT_TRUE(eventually(let_in, &self->peer, HANDSHAKE_MS + SLACK_MS));
}

TEST_F(hostile, second_control_connection_ends_the_first)
{
	struct peer second;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_GE(peer_lane(&self->peer, 1), 0);
	ASSERT_EQ(0, peer_open(&second, LOOPBACK, PORT));
	EXPECT_GE(peer_wait_eof(self->peer.control, SLACK_MS), 0);
	/* The second connection inherits neither secret nor session of the first. */
	EXPECT_NE(0, memcmp(second.welcome.secret, self->peer.welcome.secret, VGPU_SECRET_LEN));
	EXPECT_EQ(-EACCES, peer_lane(&self->peer, 1));
	EXPECT_EQ(0, shadows());
	peer_close(&second);
}

/* A new connection cannot end a connected guest's one if the export allows any port. */
TEST_F(hostile, second_connection_from_any_port_has_to_wait)
{
	struct vgpu_hello hello = peer_hello_msg();
	union {
		struct vgpu_hdr hdr;
		struct vgpu_refuse refuse;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	int first, second;

	ASSERT_EQ(0, export_as("hostile-any", NULL, LOOPBACK, PORT + 1, true));
	first = peer_connect(LOOPBACK, PORT + 1, false);
	ASSERT_GE(first, 0);
	ASSERT_TRUE(peer_send(first, &hello, sizeof(hello)));
	ASSERT_GT(peer_recv(first, &msg, sizeof(msg), SLACK_MS), 0);
	ASSERT_EQ(VGPU_MSG_WELCOME, peer_type(&msg));
	second = peer_connect(LOOPBACK, PORT + 1, false);
	ASSERT_GE(second, 0);
	ASSERT_TRUE(peer_send(second, &hello, sizeof(hello)));
	ASSERT_GT(peer_recv(second, &msg, sizeof(msg), HANDSHAKE_MS + SLACK_MS), 0);
	ASSERT_EQ(VGPU_MSG_REFUSE, peer_type(&msg));
	EXPECT_EQ(EBUSY, (int)le32toh(msg.refuse.error));
	EXPECT_EQ(-1, peer_wait_eof(first, 100));
	close(first);
	close(second);
	EXPECT_EQ(0, unexport("hostile-any"));
}

/* --- lanes ---------------------------------------------------------------- */

TEST_F(hostile, more_lanes_than_allowed)
{
	static int lanes[200];
	int nr = 0, i;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	while (nr < 200) {
		ASSERT_TRUE(peer_ping(&self->peer));
		lanes[nr] = peer_lane(&self->peer, 1);
		if (lanes[nr] < 0)
			break;
		nr++;
	}
	EXPECT_EQ((int)le32toh(self->peer.welcome.lanes_max), nr);
	EXPECT_EQ(1, shadows());
	EXPECT_TRUE(witness());
	for (i = 0; i < nr; i++)
		close(lanes[i]);
}

/* A late lane does not begin a session again that is over. */
TEST_F(hostile, lane_of_a_session_that_is_over)
{
	struct vgpu_session_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
		.hdr.seq = htole64(1),
		.session = htole64(5),
	};
	int lane, tries;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 5);
	ASSERT_GE(lane, 0);
	ASSERT_TRUE(peer_send(self->peer.control, &msg, sizeof(msg)));
	EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0);
	close(lane);
	/*
	 * A lane is refused with another error until the agent is notified of the session's
	 * end.
	 */
	for (tries = 0; tries < 500; tries++) {
		lane = peer_lane(&self->peer, 5);
		ASSERT_LT(lane, 0);
		if (lane == -ENODEV)
			break;
		usleep(20000);
	}
	EXPECT_EQ(-ENODEV, lane);
	EXPECT_EQ(0, shadows());
}

TEST_HARNESS_MAIN
