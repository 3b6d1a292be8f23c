// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests play a hostile guest, which sends a real host messages that no guest module would
 * send. The host must close the guest's connection or fail its call, and other guests must
 * notice nothing.
 *
 * The tests run where the host is, as root: they ask vgpud for an export of their own on a port
 * of their own. So they run in the loopback and user tiers only. VGPU_REAL is the mock device.
 * VGPU_FWD is the same device forwarded by the guest module; its program is the witness that
 * other guests still work.
 */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)

/* This is the host's default (vgpud(8)). */
#define HANDSHAKE_MS	5000

#define LIST_CONF	"/etc/vgpu/exports.d/hostile-list.conf"

/* Adds an export to this guest on which the ioctl OBJ_INFO is denied, or removes it if !@there. */
static bool list_export(bool there)
{
	FILE *file;

	if (!there)
		return !unlink(LIST_CONF) && !system("vgpuctl reload >/dev/null");
	if (system("mkdir -p /etc/vgpu/exports.d"))
		return false;
	file = fopen(LIST_CONF, "w");
	if (!file)
		return false;
	fprintf(file, "[hostile-list]\npath = %s\nto = %d:%d\ndeny-ioctls = %#x\n", real_path,
		LOOPBACK, PORT,
		(unsigned int)(VGPU_MOCK_IOC_TYPE << 8 | _IOC_NR(VGPU_MOCK_IOC_OBJ_INFO)));
	return !fclose(file) && !system("vgpuctl reload >/dev/null");
}

FIXTURE(hostile) {
	struct peer peer;
	uint64_t files;
};

FIXTURE_SETUP(hostile)
{
	NEEDS_HOST();

	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	self->peer.control = -1;
	ASSERT_TRUE(witness());
	self->files = files_at_rest();
}

FIXTURE_TEARDOWN(hostile)
{
	if (!real_path)
		return;
	peer_close(&self->peer);
	/* All of this guest's state is gone, and other guests work as before. */
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	unexport("hostile");
	if (!access(LIST_CONF, F_OK))
		list_export(false);
}

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

/* --- control connection --------------------------------------------------- */

static bool control_ends(struct peer *peer, const void *msg, size_t len)
{
	return peer_send(peer->control, msg, len) &&
	       peer_wait_eof(peer->control, SLACK_MS) >= 0;
}

TEST_F(hostile, control_messages_that_make_no_sense)
{
	struct {
		struct vgpu_hdr hdr;
		uint64_t body[16];
	} msg;
	static const struct {
		const char *what;
		uint32_t len;
		uint16_t type;
		uint16_t flags;
	} cases[] = {
		{ "unknown type", 24, 0x7777, 0 },
		{ "type 0", 16, 0, 0 },
		{ "HELLO again", 56, VGPU_MSG_HELLO, 0 },
		{ "the host's WELCOME", 104, VGPU_MSG_WELCOME, 0 },
		{ "the host's EXPORT_ADD", 144, VGPU_MSG_EXPORT_ADD, 0 },
		{ "a lane's CALL", 96, VGPU_MSG_CALL, 0 },
		{ "length 0", 0, VGPU_MSG_PING, 0 },
		{ "length 8", 8, VGPU_MSG_PING, 0 },
		{ "length of 4 GB", 0xfffffff0, VGPU_MSG_PING, 0 },
		{ "unknown flags", 16, VGPU_MSG_PING, 2 },
		{ "PING with the reserved flag", 16, VGPU_MSG_PING, VGPU_HDR_RESERVED },
		{ "CLOSE with the reserved flag", 24, VGPU_MSG_CLOSE, VGPU_HDR_RESERVED },
		{ "CLOSE too long", 32, VGPU_MSG_CLOSE, 0 },
		{ "UNMAP of nothing", 40, VGPU_MSG_UNMAP, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT))
			TH_LOG("before %s", cases[i].what);
		memset(&msg, 0, sizeof(msg));
		msg.hdr.len = htole32(cases[i].len);
		msg.hdr.type = htole16(cases[i].type);
		msg.hdr.flags = htole16(cases[i].flags);
		EXPECT_TRUE(control_ends(&self->peer, &msg, sizeof(msg)))
			TH_LOG("%s", cases[i].what);
		peer_close(&self->peer);
	}
}

TEST_F(hostile, control_sequence_must_rise_by_one)
{
	struct vgpu_session_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
		.hdr.seq = htole64(7),
		.session = htole64(1),
	};

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_TRUE(control_ends(&self->peer, &msg, sizeof(msg)));
}

TEST_F(hostile, closing_what_it_does_not_have)
{
	struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
	};
	uint64_t files = self->files + 1;
	int fd = open(fwd_path, O_RDWR);
	unsigned int i;

	/* The other guest may well have objects with these numbers. */
	ASSERT_GE(fd, 0);
	for (i = 1; i < 8; i++) {
		ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
		msg.hdr.seq = htole64(1);
		msg.object = htole32(i);
		ASSERT_TRUE(peer_send(self->peer.control, &msg, sizeof(msg)));
		peer_close(&self->peer);
	}
	EXPECT_TRUE(eventually(files_are, &files, SLACK_MS));
	EXPECT_LE(1, open_files());
	EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	close(fd);
}

/*
 * A CLOSE of an object that is gone does not end the connection: it may be no fault of the
 * guest, whose shadow may have died before it read the ACK.
 */
TEST_F(hostile, closing_what_is_gone_ends_nothing)
{
	struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.hdr.seq = htole64(1),
		.object = htole32(4711),
	};
	struct vgpu_hdr ping = {
		.len = htole32(sizeof(ping)),
		.type = htole16(VGPU_MSG_PING),
		.seq = htole64(77),
	};
	char answer[VGPU_CONTROL_MSG_MAX];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(peer_send(self->peer.control, &msg, sizeof(msg)));
	ASSERT_TRUE(peer_send(self->peer.control, &ping, sizeof(ping)));
	ASSERT_GT(peer_recv(self->peer.control, answer, sizeof(answer), SLACK_MS), 0);
	EXPECT_EQ(VGPU_MSG_PONG, peer_type(answer));
	ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(1, guest().counters.refused);
	close(lane);
}

/* The guest closes its connection while the agent grants it the exports, again and again. */
TEST_F_TIMEOUT(hostile, hangs_up_while_it_is_granted, 120)
{
	const unsigned int times = getenv("VGPU_TIMES") ? 20 : 200;
	struct vgpu_hello hello = peer_hello_msg();
	char answer[VGPU_CONTROL_MSG_MAX];
	unsigned int i;
	int fd;

	for (i = 0; i < times; i++) {
		fd = peer_connect(LOOPBACK, PORT, true);
		ASSERT_GE(fd, 0) TH_LOG("round %u", i);
		ASSERT_TRUE(peer_send(fd, &hello, sizeof(hello)));
		/* The connection is closed when the WELCOME has come, or up to 300 us later. */
		ASSERT_GT(peer_recv(fd, answer, sizeof(answer), SLACK_MS), 0) TH_LOG("round %u", i);
		if (i % 4)
			usleep(i % 4 * 100);
		close(fd);
	}
	EXPECT_TRUE(witness());
}

TEST_F_TIMEOUT(hostile, flood_of_pings_without_reading, 120)
{
	struct timeval timeout = { .tv_usec = 200000 };
	struct vgpu_hdr pings[50];
	unsigned int i, j;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	setsockopt(self->peer.control, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	/* The answers to all pings are more bytes than the 256 KiB that a socket holds. */
	for (i = 0; i < 400; i++) {
		for (j = 0; j < ARRAY_SIZE(pings); j++)
			pings[j] = (struct vgpu_hdr){
				.len = htole32(sizeof(pings[j])),
				.type = htole16(VGPU_MSG_PING),
				.seq = htole64(i * ARRAY_SIZE(pings) + j),
			};
		if (!peer_send(self->peer.control, pings, sizeof(pings)))
			break;
		if (i % 40 == 0)
			EXPECT_TRUE(witness());
	}
	EXPECT_TRUE(witness());
}

/* --- lanes ---------------------------------------------------------------- */

TEST_F(hostile, calls_that_make_no_sense)
{
	struct peer_call call;
	unsigned int i;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 14; i++) {
		unsigned int nr = 1, len = 64;

		lane = peer_lane(&self->peer, 1 + i % 3);
		ASSERT_GE(lane, 0);
		peer_call_init(&call, VGPU_OP_IOCTL, 1, 1);
		call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_BIG);
		call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
		call.seg[0].len = htole32(64);
		call.seg[0].flags = htole32(VGPU_SEG_IN);
		switch (i) {
		case 0:		/* wrong number of the call */
			call.msg.hdr.seq = htole64(2);
			break;
		case 1:		/* unknown operation */
			call.msg.op = htole16(99);
			break;
		case 2:		/* unknown flags */
			call.msg.flags = htole16(0x8000);
			break;
		case 3:		/* more fixups than bytes */
			call.msg.nr_fixups = htole16(0xffff);
			break;
		case 4:		/* a segment longer than the message */
			call.seg[0].len = htole32(0xfffffff8);
			break;
		case 5:		/* answers of more than any limit */
			call.seg[0].len = htole32(0x7fffffff);
			call.seg[0].flags = htole32(VGPU_SEG_OUT);
			len = 0;
			break;
		case 6:		/* unknown segment flags */
			call.seg[0].flags = htole32(0x80);
			break;
		case 7:		/* argument without a segment */
			nr = 0;
			len = 0;
			break;
		case 8:		/* unknown argument kind */
			call.msg.args.ioctl.arg_kind = htole32(5);
			break;
		case 9:		/* value with a segment's kind */
			call.msg.args.ioctl.arg = htole64(1);
			break;
		case 10:	/* wrong message type */
			call.msg.hdr.type = htole16(VGPU_MSG_REPLY);
			break;
		case 11:	/* page segment at an unaligned address */
			call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_PAGE);
			call.seg[0].addr = htole64(0x1001);
			break;
		case 12:	/* mapping whose range wraps */
			peer_mmap_init(&call, 1, 1, 0xfffffffffffff000, 0x10000, 0, PROT_READ);
			nr = 0;
			len = 0;
			break;
		case 13:	/* answer to no FETCH */
			call.msg.hdr.type = htole16(VGPU_MSG_FETCHED);
			break;
		}
		ASSERT_TRUE(peer_call_send(lane, &call, nr, len));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(lane);
	}
	EXPECT_GT(guest().counters.malformed, 0);
}

/* Another guest's objects have the same small numbers, and this guest cannot use them. */
TEST_F(hostile, calls_on_objects_it_does_not_have)
{
	char answer[512];
	uint64_t seq = 0;
	int fd = open(fwd_path, O_RDWR), lane;
	unsigned int i;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	for (i = 1; i < 64; i++) {
		ASSERT_TRUE(peer_ioctl_send(lane, i, ++seq, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
		EXPECT_EQ(-EBADF, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	}
	close(lane);
	close(fd);
}

/* Sends an ioctl with one fixup in its argument. */
static bool fixup_send(int lane, uint32_t object, uint64_t seq, uint32_t cmd,
		       const struct vgpu_fixup *fixup, const void *arg, size_t len)
{
	struct {
		struct vgpu_call call;
		struct vgpu_seg seg;
		struct vgpu_fixup fixup;
		uint64_t arg[8];
	} msg = {
		.call = {
			.hdr = { .type = htole16(VGPU_MSG_CALL), .seq = htole64(seq) },
			.op = htole16(VGPU_OP_IOCTL),
			.object = htole32(object),
			.nr_segs = htole16(1),
			.nr_fixups = htole16(1),
			.args.ioctl.cmd = htole32(cmd),
			.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
		},
		.seg = { .len = htole32(len), .flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT) },
		.fixup = *fixup,
	};
	size_t total = sizeof(msg) - sizeof(msg.arg) + (len + 7) / 8 * 8;

	msg.call.hdr.len = htole32(total);
	memcpy(msg.arg, arg, len);
	return peer_send(lane, &msg, total);
}

/* Sends an ioctl whose argument has an fd, which a fixup replaces by @target. */
static bool fd_in_send(int lane, uint32_t object, uint64_t seq, uint32_t target)
{
	const struct vgpu_mock_fd_in in = { };
	const struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_IN), .target = htole32(target),
	};

	return fixup_send(lane, object, seq, VGPU_MOCK_IOC_FD_IN, &fixup, &in, sizeof(in));
}

/*
 * A fixup can name an object of this guest, but neither another guest's object nor a closed or
 * unknown one.
 */
TEST_F(hostile, fixups_of_objects_it_does_not_have)
{
	uint32_t object, closed;
	int fd = open(fwd_path, O_RDWR), lane;
	struct peer_call call;
	char answer[512];
	uint64_t seq = 0;
	unsigned int i;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, ++seq);
	ASSERT_NE(0, object);
	closed = peer_open_device(&self->peer, lane, ++seq);
	ASSERT_NE(0, closed);
	peer_call_init(&call, VGPU_OP_CLOSE, closed, ++seq);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	ASSERT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	for (i = 1; i < 64; i++) {
		ASSERT_TRUE(fd_in_send(lane, object, ++seq, i));
		EXPECT_EQ(i == object ? 0 : -EBADF,
			  peer_reply(lane, answer, sizeof(answer), SLACK_MS))
			TH_LOG("object %u", i);
	}
	close(lane);
	close(fd);
}

/*
 * An ioctl on one export makes a file, and its call has no fixup for the file's fd. The file
 * stays open in the shadow as long as another call runs. An ioctl on another export must not take
 * the file over: the first export's list of ioctls would not apply to the file any more.
 */
TEST_F_TIMEOUT(hostile, file_of_another_list, 120)
{
	const struct vgpu_mock_sleep sleep = { .ms = 60000, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE };
	const struct vgpu_mock_obj_info info = {};
	struct vgpu_mock_fd_out out = { .cookie = 7 };
	struct vgpu_fixup fixup = { .type = htole16(VGPU_FIXUP_FD_OUT) };
	struct vgpu_hdr ack = { .len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK) };
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_fd_out out;
			struct vgpu_object_desc object;
			char bytes[256];
		};
	} answer;
	uint32_t free, listed, made, before = sleeps();
	uint64_t seq = 1;
	struct vgpu_export_add add;
	int lane, sleeper;
	struct peer peer;

	HOST_BEGIN(&self->peer, lane, free);
	ASSERT_TRUE(list_export(true));
	ASSERT_TRUE(second_export(&self->peer, &add));
	peer = self->peer;
	peer.export = le32toh(add.export);
	listed = peer_open_device(&peer, lane, ++seq);
	ASSERT_NE(0, listed);
	sleeper = peer_lane(&self->peer, 1);
	ASSERT_GE(sleeper, 0);
	ASSERT_TRUE(peer_ioctl_send(sleeper, free, 1, VGPU_MOCK_IOC_SLEEP, &sleep, 0x10000000,
				    sizeof(sleep)));
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));

	ASSERT_TRUE(peer_ioctl_send(lane, listed, ++seq, VGPU_MOCK_IOC_FD_OUT, &out, 0x10001000,
				    sizeof(out)));
	if (strcmp(getenv("VGPU_TIER"), "user")) {
		/* The module makes no file of an fd for which the call has no fixup. */
		EXPECT_EQ(-EOPNOTSUPP, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	} else {
		ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
		EXPECT_EQ(0, le16toh(answer.reply.nr_objects));
		/* The fixup claims that an ioctl which does nothing has made the fd. */
		ASSERT_TRUE(fixup_send(lane, free, ++seq, VGPU_MOCK_IOC_NOOP, &fixup,
				       &answer.out.out_fd, sizeof(answer.out.out_fd)));
		ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
		ASSERT_EQ(1, le16toh(answer.reply.nr_objects));
		made = le32toh(answer.object.object);
		ack.seq = htole64(seq);
		ASSERT_TRUE(peer_send(lane, &ack, sizeof(ack)));
		ASSERT_TRUE(peer_ioctl_send(lane, made, ++seq, VGPU_MOCK_IOC_OBJ_INFO, &info,
					    0x10001000, sizeof(info)));
		EXPECT_EQ(-EACCES, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	}
	close(sleeper);
	close(lane);
	EXPECT_TRUE(list_export(false));
}

/*
 * A guest without the feature bits is sent no FETCH, and its use of these features is
 * malformed.
 */
TEST_F(hostile, without_features)
{
	struct peer_call call;
	char answer[512];
	uint64_t seq = 0;
	uint32_t object;
	int lane, i;

	ASSERT_EQ(0, peer_open_with(&self->peer, LOOPBACK, PORT, 0));
	EXPECT_EQ(0, self->peer.welcome.features);
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, ++seq);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_IN, NULL, 0x10000000, 0));
	EXPECT_EQ(-EFAULT, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	for (i = 0; i < 2; i++) {
		if (i) {
			peer_mmap_init(&call, object, ++seq, 0x10000000, 4096, 0, PROT_READ);
		} else {
			peer_call_init(&call, VGPU_OP_IOCTL, object, ++seq);
			call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_IN);
			call.msg.args.ioctl.arg = htole64(0x10000000);
			call.seg[0].addr = htole64(0x10000000);
			call.seg[0].len = htole32(4096);
			call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_PAGE);
		}
		ASSERT_TRUE(peer_call_send(lane, &call, !i, i ? 0 : 4096));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0);
		close(lane);
		lane = peer_lane(&self->peer, 1);
		ASSERT_GE(lane, 0);
		seq = 0;
	}
	close(lane);
}

/*
 * A guest that offers the feature of long messages in a window, as older ones do, is told that
 * the host has none. Its use of the feature's operation and flag is malformed.
 */
TEST_F(hostile, reserved_feature)
{
	struct peer_call call;
	uint64_t seq = 0;
	uint32_t object;
	int lane, i;

	ASSERT_EQ(0, peer_open_with(&self->peer, LOOPBACK, PORT,
				    VGPU_FEATURES | VGPU_FEATURE_RESERVED));
	EXPECT_EQ(0, le64toh(self->peer.welcome.features) & ~VGPU_FEATURES);
	for (i = 0; i < 2; i++) {
		lane = peer_lane(&self->peer, 1);
		ASSERT_GE(lane, 0);
		seq = 0;
		object = peer_open_device(&self->peer, lane, ++seq);
		ASSERT_NE(0, object);
		if (i) {
			peer_call_init(&call, VGPU_OP_IOCTL, object, ++seq);
			call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_BIG);
			call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
			call.seg[0].len = htole32(64);
			call.seg[0].flags = htole32(VGPU_SEG_IN);
			call.msg.hdr.flags = htole16(VGPU_HDR_RESERVED);
		} else {
			peer_call_init(&call, VGPU_OP_RESERVED, 0, ++seq);
			call.msg.args.raw[0] = htole64(1);
		}
		ASSERT_TRUE(peer_call_send(lane, &call, i, i ? 64 : 0));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0) TH_LOG("case %d", i);
		close(lane);
	}
	EXPECT_EQ(2, guest().counters.malformed);
}

TEST_F(hostile, opens_what_is_not_exported_to_it)
{
	char answer[512];
	struct peer_call call;
	uint64_t seq = 0;
	unsigned int i;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	for (i = 1; i < 32; i++) {
		if (i == self->peer.export)
			continue;
		peer_call_init(&call, VGPU_OP_OPEN, 0, ++seq);
		call.msg.args.open.export = htole32(i);
		call.msg.args.open.flags = htole32(O_RDWR);
		ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
		EXPECT_GT(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	}
	close(lane);
}

TEST_F(hostile, mapping_over_the_shadow_itself)
{
	uint64_t base, seq = 1;
	uint64_t places[6];
	char answer[512];
	struct peer_call call;
	uint32_t object;
	unsigned int i;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	base = le64toh(self->peer.welcome.reserved_base);
	places[0] = base;
	places[1] = base - 4096;		/* the second page is in the reserved range */
	places[2] = base + le64toh(self->peer.welcome.reserved_size) - 4096;
	places[3] = 0;
	places[4] = 0x7fffffffe000;
	places[5] = 0xffff800000000000;
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, seq);
	ASSERT_NE(0, object);
	for (i = 0; i < 6; i++) {
		peer_mmap_init(&call, object, ++seq, places[i], 8192, 0,
			       PROT_READ | PROT_WRITE | PROT_EXEC);
		ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
		EXPECT_GT(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS))
			TH_LOG("at %" PRIx64, places[i]);
	}
	/* The shadow is alive and serves calls. */
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	close(lane);
}

/* Sends a 32-bit process's call with its segments at @low. */
static bool compat_send(int lane, uint32_t object, uint64_t seq, uint32_t cmd, const void *arg,
			size_t len, uint64_t low, uint64_t low_len)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_IOCTL, object, seq);
	call.msg.flags = htole16(VGPU_CALL_COMPAT);
	call.msg.args.ioctl.cmd = htole32(cmd);
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	call.msg.args.ioctl.low = htole64(low);
	call.msg.args.ioctl.low_len = htole64(low_len);
	call.seg[0].len = htole32(len);
	call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	memcpy(call.data, arg, len);
	return peer_call_send(lane, &call, 1, len);
}

static int64_t compat_info(int lane, uint32_t object, uint64_t seq, uint64_t low,
			   uint64_t low_len, uint32_t *compat)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_info info;
	} answer;
	struct vgpu_mock_info info = { .out_compat = 99 };
	int64_t result;

	if (!compat_send(lane, object, seq, VGPU_MOCK_IOC_INFO, &info, sizeof(info), low, low_len))
		return INT64_MIN;
	result = peer_reply(lane, &answer, sizeof(answer), SLACK_MS);
	*compat = result ? 99 : answer.info.out_compat;
	return result;
}

TEST_F(hostile, segments_where_a_32_bit_process_has_no_room)
{
	static const struct {
		uint64_t low;
		uint64_t len;
	} ends[] = {
		{ 0, 0 }, { 0x20000800, 4096 }, { 0x20000000, 0x800 }, { 1ULL << 32, 4096 },
		{ 0xfffff000, 8192 }, { 0xfffffffffffff000, 8192 }, { 0x20000000, -4096ULL },
	};
	struct vgpu_mock_buf_create create = { .size = 8192 };
	struct vgpu_mock_info info = { 0 };
	const uint64_t mapped = 0x20000000;
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	struct peer_call call;
	uint64_t seq = 1;
	uint32_t object, compat;
	unsigned int i;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		lane = peer_lane(&self->peer, 1);
		ASSERT_GE(lane, 0);
		object = peer_open_device(&self->peer, lane, 1);
		ASSERT_NE(0, object);
		ASSERT_TRUE(compat_send(lane, object, 2, VGPU_MOCK_IOC_INFO, &info, sizeof(info),
					ends[i].low, ends[i].len));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(lane);
	}

	/*
	 * Segments cannot be placed over a device mapping, or at addresses where the host maps
	 * nothing.
	 */
	lane = peer_lane(&self->peer, 2);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, seq);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	peer_mmap_init(&call, object, ++seq, mapped, 8192, answer.create.out_offset,
		       PROT_READ | PROT_WRITE);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(-EINVAL, compat_info(lane, object, ++seq, mapped, 4096, &compat));
	EXPECT_EQ(-EINVAL, compat_info(lane, object, ++seq, mapped + 4096, 4096, &compat));
	EXPECT_EQ(-EINVAL, compat_info(lane, object, ++seq, 0, 4096, &compat));
	EXPECT_EQ(-EINVAL, compat_info(lane, object, ++seq, 0xf000, 4096, &compat));
	/*
	 * The segments can be placed next to the mapping, and at both ends of the address
	 * space.
	 */
	EXPECT_EQ(0, compat_info(lane, object, ++seq, mapped - 4096, 4096, &compat));
	EXPECT_EQ(1, compat);
	EXPECT_EQ(0, compat_info(lane, object, ++seq, mapped + 8192, 0xd0000000, &compat));
	EXPECT_EQ(0, compat_info(lane, object, ++seq, 0x10000, 4096, &compat));
	EXPECT_EQ(0, compat_info(lane, object, ++seq, 0xfffff000, 4096, &compat));
	EXPECT_EQ(1, compat);
	close(lane);
}

/*
 * A call of another lane, and a mapping, fail if they would use addresses that hold a call's
 * segments.
 */
TEST_F(hostile, room_that_another_call_has)
{
	struct vgpu_mock_sleep sleep = { .ms = 6000 };
	uint32_t before = sleeps();
	const uint64_t low = 0x30000000;
	struct vgpu_reply answer;
	struct peer_call call;
	uint32_t object, compat;
	int lane, other;
	char bytes[512];

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	other = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_GE(other, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	ASSERT_TRUE(compat_send(lane, object, 2, VGPU_MOCK_IOC_SLEEP, &sleep, sizeof(sleep), low,
				4096));
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	EXPECT_EQ(-EINVAL, compat_info(other, object, 1, low, 4096, &compat));
	peer_mmap_init(&call, object, 2, low, 4096, 0, PROT_READ);
	ASSERT_TRUE(peer_call_send(other, &call, 0, 0));
	EXPECT_EQ(-EINVAL, peer_reply(other, &answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(0, peer_reply(lane, bytes, sizeof(bytes), SLACK_MS));
	/* The end of the call has freed the range. */
	EXPECT_EQ(0, compat_info(other, object, 3, low, 4096, &compat));
	EXPECT_EQ(1, compat);
	close(other);
	close(lane);
}

static bool unbind(const struct peer *peer, uint64_t seq, uint64_t window, uint64_t offset,
		   uint64_t len)
{
	struct vgpu_window_part part = {
		.hdr = {
			.len = htole32(sizeof(part)), .type = htole16(VGPU_MSG_UNBIND),
			.seq = htole64(seq),
		},
		.window = htole64(window),
		.offset = htole64(offset),
		.len = htole64(len),
	};

	return peer_send(peer->control, &part, sizeof(part));
}

static bool map_bytes(int lane, uint32_t object, uint64_t seq, uint64_t control_seq,
		      uint64_t offset, uint64_t len, uint64_t window, uint64_t window_offset)
{
	struct peer_call call;

	peer_mmap_init(&call, object, seq, 0x20000000, len, offset, PROT_READ | PROT_WRITE);
	call.msg.control_seq = htole64(control_seq);
	call.msg.args.mmap.window = htole64(window);
	call.msg.args.mmap.window_offset = htole64(window_offset);
	return peer_call_send(lane, &call, 0, 0);
}

static bool map_in_window(int lane, uint32_t object, uint64_t seq, uint64_t control_seq,
			  uint64_t offset, uint64_t window, uint64_t window_offset)
{
	return map_bytes(lane, object, seq, control_seq, offset, 8192, window, window_offset);
}

/* Maps the window as a hypervisor does. */
static void *window_memory(void)
{
	int fd = open("/dev/vgpu-window-1-22600", O_RDWR | O_CLOEXEC);
	void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	return memory;
}

static bool map_to_read(int lane, uint32_t object, uint64_t seq, uint64_t addr, uint64_t offset)
{
	struct peer_call call;

	peer_mmap_init(&call, object, seq, addr, 8192, offset, PROT_READ);
	return peer_call_send(lane, &call, 0, 0);
}

static bool protect_send(int lane, uint64_t seq, uint64_t addr, uint64_t len)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_PROTECT, 0, seq);
	call.msg.args.protect.addr = htole64(addr);
	call.msg.args.protect.len = htole64(len);
	call.msg.args.protect.prot = htole32(PROT_READ | PROT_WRITE);
	return peer_call_send(lane, &call, 0, 0);
}

/* Writes eight bytes with WRITE_PAGES. */
static bool write_send(int lane, uint64_t seq, uint64_t addr)
{
	struct peer_call call;
	struct vgpu_range *range = (void *)call.data;

	peer_call_init(&call, VGPU_OP_WRITE_PAGES, 0, seq);
	call.seg[0].len = htole32(sizeof(*range));
	call.seg[0].flags = htole32(VGPU_SEG_IN);
	call.seg[1].len = htole32(8);
	call.seg[1].flags = htole32(VGPU_SEG_IN);
	range->addr = htole64(addr);
	range->len = htole32(8);
	return peer_call_send(lane, &call, 2, sizeof(*range) + 8);
}

#define EXPECT_REPLY(result, send) do {					\
	ASSERT_TRUE(send);						\
	EXPECT_EQ(result, peer_reply(lane, &answer, sizeof(answer), SLACK_MS)); \
} while (0)

/* PROTECT makes writable only what the guest has mapped of files that it opened for writing. */
TEST_F(hostile, protects_what_it_may_not)
{
	struct vgpu_mock_buf_create create = { .size = 8192 };
	const uint64_t one = 0x20000000, two = 0x20010000, none = 0x20020000;
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	uint32_t writer, reader;
	uint64_t seq = 0;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	writer = peer_open_device(&self->peer, lane, ++seq);
	reader = peer_open_as(&self->peer, lane, ++seq, O_RDONLY);
	ASSERT_NE(0, writer);
	ASSERT_NE(0, reader);
	ASSERT_TRUE(peer_ioctl_send(lane, writer, ++seq, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	create = answer.create;
	EXPECT_REPLY(0, map_to_read(lane, writer, ++seq, one, create.out_offset));
	EXPECT_REPLY(0, map_to_read(lane, reader, ++seq, two, create.out_offset));

	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, one));
	EXPECT_REPLY(-EACCES, protect_send(lane, ++seq, two, 8192));
	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, two));
	/* The range has no mapping, or reaches beyond both ends of one. */
	EXPECT_REPLY(0, protect_send(lane, ++seq, none, 8192));
	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, none));
	EXPECT_REPLY(0, protect_send(lane, ++seq, one - 0x10000, 0x18000));
	EXPECT_REPLY(8, write_send(lane, ++seq, one));
	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, one - 4096));
	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, one + 8192));
	EXPECT_REPLY(-EFAULT, write_send(lane, ++seq, two));
	close(lane);
}

static bool in_window(const struct vgpu_reply *reply)
{
	return le32toh(reply->out.mmap.flags) & VGPU_MAP_WINDOW;
}

static bool bind_send(int lane, uint64_t seq, uint64_t control_seq, uint64_t addr, uint64_t len,
		      uint64_t window, uint64_t window_offset)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_BIND, 0, seq);
	call.msg.control_seq = htole64(control_seq);
	call.msg.args.bind.addr = htole64(addr);
	call.msg.args.bind.len = htole64(len);
	call.msg.args.bind.window = htole64(window);
	call.msg.args.bind.window_offset = htole64(window_offset);
	return peer_call_send(lane, &call, 0, 0);
}

#define EXPECT_BIND(result, addr, len, window, window_offset) do {	\
	ASSERT_TRUE(bind_send(lane, ++seq, control_seq, addr, len, window, window_offset)); \
	EXPECT_EQ(result, peer_reply(lane, &answer, sizeof(answer), SLACK_MS)); \
} while (0)

static bool nothing_bound(void *unused)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	bool nothing = false;
	size_t i;

	if (vgpu_agent_open(NULL, &agent))
		return false;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_windows; i++)
			nothing |= info->windows[i].port == PORT && !info->windows[i].bindings &&
				   !info->windows[i].bound_bytes;
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return nothing;
}

/*
 * Connects a guest with a window of 1 MiB and one lane, and opens the device by the lane's
 * first call. Return: the number of the window, or 0.
 */
static uint64_t open_with_window(struct peer *peer, int *lane, uint32_t *object)
{
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;

	if (peer_open(peer, LOOPBACK, PORT) || window_command("create", "--size 1M") ||
	    !control_next(peer->control, VGPU_MSG_WINDOW, &msg, sizeof(msg)) ||
	    le64toh(msg.info.size) != 1 << 20)
		return 0;
	*lane = peer_lane(peer, 1);
	*object = *lane < 0 ? 0 : peer_open_device(peer, *lane, 1);
	return *object ? le64toh(msg.info.window) : 0;
}

/*
 * Sleeps in round @i of @nr between two messages: longer from round to round, up to 2 ms, and
 * 500 ms in the last two.
 */
static void race(unsigned int i, unsigned int nr)
{
	usleep(i + 2 < nr ? i % 100 * 20 : 500000);
}

/*
 * The guest binds ranges of a window that it may not name, and unbinds ranges while they are
 * bound.
 */
TEST_F(hostile, window)
{
	const uint64_t far = 1ULL << 40;
	struct vgpu_mock_buf_create create = { .size = 8192 };
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	union {
		struct vgpu_window_info info;
		struct vgpu_window_part part;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	const unsigned int rounds = getenv("VGPU_TIMES") ? 100 : 300;
	uint64_t window, offset, seq = 1, control_seq = 0;
	unsigned int i, bound = 0;
	uint32_t object;
	int lane;

	NEEDS_WINDOWS();
	window = open_with_window(&self->peer, &lane, &object);
	ASSERT_NE(0, window);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	offset = answer.create.out_offset;

	/* A wrong window, and a range beyond the end of the right one, give a mapping by copy. */
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window + 1, 4096));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_FALSE(in_window(&answer.reply));
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, (1 << 20) - 4096));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_FALSE(in_window(&answer.reply));
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, far));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_FALSE(in_window(&answer.reply));

	/* UNBIND of a range where nothing is bound is answered and changes nothing. */
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, 8192));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_TRUE(in_window(&answer.reply));
	ASSERT_TRUE(unbind(&self->peer, ++control_seq, window + 1, 8192, 8192));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, far, far));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	EXPECT_FALSE(nothing_bound(NULL));
	/* A bound mapping cannot be bound a second time, at another place of the window. */
	EXPECT_BIND(-EBUSY, 0x20000000, 8192, window, 32768);
	ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 12288, 4096));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	EXPECT_EQ(12288, le64toh(msg.part.offset));
	EXPECT_TRUE(nothing_bound(NULL));

	/* BIND takes exactly the range of one mapping, and only a place in the right window. */
	EXPECT_BIND(-EINVAL, 0x30000000, 8192, window, 8192);
	EXPECT_BIND(-EINVAL, 0x20000000, 4096, window, 8192);
	EXPECT_BIND(-EINVAL, 0x20001000, 4096, window, 8192);
	EXPECT_BIND(-EINVAL, 0x20000000, 12288, window, 8192);
	EXPECT_BIND(-ENODEV, 0x20000000, 8192, window + 1, 8192);
	EXPECT_BIND(-ENODEV, 0x20000000, 8192, window, far);
	EXPECT_TRUE(nothing_bound(NULL));
	ASSERT_EQ(0, window_command("drain", ""));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)));
	EXPECT_EQ(window, le64toh(msg.info.window));
	EXPECT_EQ(VGPU_WINDOW_DRAIN, le32toh(msg.info.flags));
	EXPECT_BIND(-ENODEV, 0x20000000, 8192, window, 8192);
	ASSERT_EQ(0, window_command("fill", ""));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)));
	EXPECT_EQ(0, msg.info.flags);
	EXPECT_BIND(0, 0x20000000, 8192, window, 8192);
	EXPECT_BIND(-EBUSY, 0x20000000, 8192, window, 8192);
	ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 4096));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));

	/*
	 * A BIND or MMAP that is older than the UNBIND of its place, or of a part of it, binds
	 * nothing there. It can bind the place beside it.
	 */
	ASSERT_TRUE(bind_send(lane, ++seq, control_seq - 1, 0x20000000, 8192, window, 8192));
	EXPECT_EQ(-EBUSY, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(bind_send(lane, ++seq, control_seq - 1, 0x20000000, 8192, window, 4096));
	EXPECT_EQ(-EBUSY, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq - 1, offset, window, 8192));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_FALSE(in_window(&answer.reply));
	EXPECT_TRUE(nothing_bound(NULL));
	ASSERT_TRUE(bind_send(lane, ++seq, control_seq - 1, 0x20000000, 8192, window, 12288));
	EXPECT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 12288, 4096));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));

	/*
	 * BIND or MMAP, and UNBIND of the same place, are sent at the same time on two
	 * connections.
	 */
	for (i = 0; i < rounds; i++) {
		ASSERT_TRUE(bind_send(lane, ++seq, control_seq, 0x20000000, 8192, window,
				      8192));
		race(i, rounds);
		ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 8192));
		bound += !peer_reply(lane, &answer, sizeof(answer), SLACK_MS);
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
		ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 8192));
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
		ASSERT_TRUE(nothing_bound(NULL));
	}
	EXPECT_LT(0, bound);
	bound = 0;
	for (i = 0; i < rounds; i++) {
		ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, 8192));
		race(i, rounds);
		ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 8192));
		ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
		bound += in_window(&answer.reply);
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	}
	EXPECT_LT(0, bound);
	/* The end of the connection ends all that is bound. */
	ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, 16384));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	EXPECT_TRUE(in_window(&answer.reply));
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(nothing_bound, NULL, SLACK_MS));
	close(lane);
	EXPECT_EQ(0, window_command("destroy", ""));
}

/*
 * MMAP and BIND report the cache mode of the driver's pages, or that the window cannot show
 * them.
 */
TEST_F(hostile, window_probe)
{
	static const struct {
		uint32_t flavour;
		unsigned int cache;
		bool kvm;		/* true if KVM maps these pages */
		bool local;		/* true if other users of the window do */
	} kinds[] = {
		{ VGPU_MOCK_BUF_PFN, VGPU_CACHE_WB, true, true },
		{ VGPU_MOCK_BUF_PAGE, VGPU_CACHE_WB, true, true },
		{ VGPU_MOCK_BUF_WC, VGPU_CACHE_WC, true, true },
		{ VGPU_MOCK_BUF_WC | VGPU_MOCK_BUF_LATER, VGPU_CACHE_WB, true, true },
		{ VGPU_MOCK_BUF_UNCOUNTED, VGPU_CACHE_WB, false, true },
		{ VGPU_MOCK_BUF_RAW, VGPU_CACHE_WB, false, false },
	};
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	uint64_t window, seq = 1, control_seq = 0;
	unsigned int i, mapped, tries;
	int lane;
	uint32_t object;
	void *memory;

	NEEDS_WINDOWS();
	window = open_with_window(&self->peer, &lane, &object);
	ASSERT_NE(0, window);
	for (mapped = 0; mapped < 2; mapped++) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			struct vgpu_mock_buf_create create = {
				.size = 32 * 4096, .flavour = kinds[i].flavour,
			};
			bool shown = mapped && tool_kvm_counts() ? kinds[i].kvm : kinds[i].local;
			bool right = false;
			uint64_t offset;

			ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_CREATE,
						    &create, 0, sizeof(create)));
			ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
			offset = answer.create.out_offset;
			/* The driver may answer later than the host waits on a busy machine. */
			for (tries = 0; tries < 5 && !right; tries++) {
				if (tries)
					usleep(500000);
				ASSERT_TRUE(map_bytes(lane, object, ++seq, control_seq, offset,
						      32 * 4096, window, 8192));
				ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
				/*
				 * A failed bind leaves nothing in the window, and BIND gives
				 * the same result as MMAP.
				 */
				right = in_window(&answer.reply) == shown &&
					nothing_bound(NULL) == !shown &&
					(!shown || le32toh(answer.reply.out.mmap.cache) == kinds[i].cache);
				ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 32 * 4096));
				ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg,
							 sizeof(msg)));
				ASSERT_TRUE(bind_send(lane, ++seq, control_seq, 0x20000000, 32 * 4096,
						      window, 8192));
				right &= peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ==
						(shown ? 0 : -EOPNOTSUPP) &&
					 le32toh(answer.reply.out.bind.cache) ==
						(shown ? kinds[i].cache : 0) &&
					 nothing_bound(NULL) == !shown;
				ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 32 * 4096));
				ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg,
							 sizeof(msg)));
			}
			EXPECT_TRUE(right) TH_LOG("%u.%u", mapped, i);
		}
		if (mapped)
			break;
		/* Memory of the window is mapped from here on, as by a hypervisor. */
		memory = window_memory();
		ASSERT_NE(MAP_FAILED, memory);
	}
	munmap(memory, 1 << 20);
	peer_close(&self->peer);
	close(lane);
	EXPECT_EQ(0, window_command("destroy", "--force"));
}

static bool something_bound(void *unused)
{
	return !nothing_bound(NULL);
}

/*
 * The guest unbinds a range while the host's probe waits for the driver, before the MMAP's
 * REPLY.
 */
TEST_F_TIMEOUT(hostile, window_probe_too_late, 120)
{
	struct vgpu_mock_buf_create create = { .size = 8192, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range range = {
		.delay_ms = 4000, .seed = VGPU_MOCK_SLOW_UNLOCKED,
	};
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_buf_create create;
			struct vgpu_mock_buf_range range;
		};
	} answer;
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	uint64_t window, offset, seq = 1, control_seq = 0, start;
	uint32_t object;
	int lane, i;

	NEEDS_WINDOWS();
	window = open_with_window(&self->peer, &lane, &object);
	ASSERT_NE(0, window);
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
	range.id = answer.create.out_id;
	offset = answer.create.out_offset;
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_BUF_SLOW, &range, 0,
				    sizeof(range)));
	ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));

	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(map_in_window(lane, object, ++seq, control_seq, offset, window, 8192));
		EXPECT_TRUE(eventually(something_bound, NULL, SLACK_MS));
		ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 8192));
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
		ASSERT_EQ(0, peer_reply(lane, &answer, sizeof(answer), SLACK_MS));
		EXPECT_TRUE(nothing_bound(NULL));
		if (!in_window(&answer.reply))
			break;
		/*
		 * The UNBIND came too late in this round. The host does not ask the driver again
		 * as long as the fault runs, so the next round waits for its end.
		 */
		usleep((range.delay_ms + 500) * 1000);
	}
	EXPECT_LT(i, 4);
	/*
	 * A BIND that asks the driver takes longer than 200 ms. One of these tries must be
	 * shorter, because the host does not ask a driver that is in a fault.
	 */
	for (i = 0; i < 5; i++) {
		start = peer_now_ms();
		EXPECT_BIND(0, 0x20000000, 8192, window, 8192);
		if (peer_now_ms() - start < 200)
			break;
		ASSERT_TRUE(unbind(&self->peer, ++control_seq, window, 8192, 8192));
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_UNBOUND, &msg, sizeof(msg)));
	}
	EXPECT_LT(i, 5);
	EXPECT_FALSE(nothing_bound(NULL));
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(nothing_bound, NULL, SLACK_MS));
	close(lane);
	EXPECT_EQ(0, window_command("destroy", ""));
	/* The driver's fault holds the shadow, and so the guest, until the fault returns. */
	EXPECT_TRUE(eventually(no_guest, NULL, range.delay_ms + SLACK_MS));
}

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

/*
 * A CLOSE call is not lost if its thread is killed while the call waits for a control message,
 * even if the guest sends no other CLOSE.
 */
TEST_F(hostile, close_killed_while_it_waits)
{
	struct peer_call call;
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(self->files + 1, open_files());
	peer_call_init(&call, VGPU_OP_CLOSE, object, 2);
	call.msg.control_seq = htole64(3);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	usleep(200000);
	EXPECT_EQ(self->files + 1, open_files());
	close(lane);
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	/* The guest is still connected: the file was not closed by the guest's end. */
	EXPECT_GE(peer_lane(&self->peer, 1), 0);
}

/*
 * Makes the driver of @object keep the file of @in, or give back the file that it has if @in is
 * 0.
 */
static bool hold_send(int lane, uint32_t object, uint64_t seq, uint32_t in)
{
	const struct vgpu_mock_fd_swap swap = {
		.flags = in ? VGPU_MOCK_FD_HAS_IN : VGPU_MOCK_FD_WANT_OUT,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(in ? VGPU_FIXUP_FD_IN : VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_fd_swap, fd)),
		.target = htole32(in),
	};

	return fixup_send(lane, object, seq, VGPU_MOCK_IOC_FD_HOLD, &fixup, &swap, sizeof(swap));
}

/* Gets one more reference of @object, through @device. Return: the reference's number, or -1. */
static int64_t refer_once_more(int lane, uint32_t device, uint32_t object, uint64_t *seq)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
		char bytes[64];
	} answer;
	struct vgpu_hdr ack = { .len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK) };

	if (!hold_send(lane, device, ++*seq, object) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ||
	    !hold_send(lane, device, ++*seq, 0) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS) ||
	    le16toh(answer.reply.nr_objects) != 1 || le32toh(answer.object.object) != object)
		return -1;
	ack.seq = htole64(*seq);
	return peer_send(lane, &ack, sizeof(ack)) ? le32toh(answer.object.reference) : -1;
}

static int64_t close_by_call(int lane, uint64_t seq, uint32_t object, uint32_t reference)
{
	struct peer_call call;
	char answer[512];

	peer_call_init(&call, VGPU_OP_CLOSE, object, seq);
	call.msg.args.close.reference = htole32(reference);
	return peer_call_send(lane, &call, 0, 0) ?
		peer_reply(lane, answer, sizeof(answer), SLACK_MS) : -1;
}

/* Sends a CLOSE on the control connection. Return: true if the host has read it and lives. */
static bool say_close(const struct peer *peer, uint64_t seq, uint32_t object, uint32_t reference)
{
	const struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.hdr.seq = htole64(seq),
		.object = htole32(object),
		.reference = htole32(reference),
	};
	char answer[VGPU_CONTROL_MSG_MAX];

	return peer_send(peer->control, &msg, sizeof(msg)) && peer_ping(peer) &&
		control_next(peer->control, VGPU_MSG_PONG, answer, sizeof(answer));
}

/*
 * A guest that does not know whether its CLOSE call was executed sends a CLOSE message as well.
 * The first of the two drops the reference, and the second drops none.
 */
TEST_F(hostile, a_reference_goes_back_once)
{
	uint32_t device, object;
	char answer[512];
	uint64_t files, seq = 1;
	int lane;

	HOST_BEGIN(&self->peer, lane, device);
	object = peer_open_device(&self->peer, lane, ++seq);
	ASSERT_NE(0, object);
	ASSERT_EQ(self->files + 2, open_files());
	ASSERT_EQ(1, refer_once_more(lane, device, object, &seq));
	ASSERT_EQ(2, refer_once_more(lane, device, object, &seq));

	/* The call comes first for reference 1, and the message for reference 0. */
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 1));
	EXPECT_TRUE(say_close(&self->peer, 1, object, 1));
	EXPECT_TRUE(say_close(&self->peer, 2, object, 0));
	EXPECT_EQ(-EBADF, close_by_call(lane, ++seq, object, 0));
	/* The guest never had a reference 3. */
	EXPECT_TRUE(say_close(&self->peer, 3, object, 3));
	EXPECT_EQ(self->files + 2, open_files());
	ASSERT_TRUE(peer_ioctl_send(lane, object, ++seq, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));

	/* A reference's number is not used again while the object has any reference. */
	EXPECT_EQ(3, refer_once_more(lane, device, object, &seq));
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 3));
	files = self->files + 1;
	EXPECT_EQ(0, close_by_call(lane, ++seq, object, 2));
	EXPECT_TRUE(eventually(files_are, &files, SLACK_MS));
	EXPECT_TRUE(say_close(&self->peer, 4, object, 2));
	EXPECT_EQ(files, open_files());
	close(lane);
}

/* The program's shadow has a name of its own, so that it is not taken for the witness's. */
#define KILLED		"killed"

/*
 * Pings the host as well, which would otherwise end the connection. Return: true if the host
 * knows that the session is gone.
 */
static bool session_is_gone(void *peer)
{
	struct vgpu_guest_info now = guest();

	return peer_ping(peer) && now.port == PORT && !now.counters.sessions;
}

/*
 * A shadow is killed before the guest has sent the ACK of its last call. The host drops that
 * call's reference, which no one else would drop. A reference with an ACK stays.
 */
TEST_F_TIMEOUT(hostile, shadow_killed_before_the_ack, 120)
{
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK), .seq = htole64(1),
	};
	char answer[512];
	uint32_t object;
	uint64_t end;
	int lane, i;
	pid_t pid;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 2; i++) {
		lane = peer_lane_of(&self->peer, 1 + i, KILLED);
		ASSERT_GE(lane, 0);
		object = peer_open_unacked(&self->peer, lane, 1, O_RDWR);
		ASSERT_NE(0, object) TH_LOG("round %d", i);
		EXPECT_EQ(self->files + 1, open_files());
		if (i) {
			ASSERT_TRUE(peer_send(lane, &ack, sizeof(ack)));
			/* The host reads the ACK before the next call. */
			ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_NOOP, NULL, 0,
						    0));
			ASSERT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
		}
		pid = tool_shadow_of(KILLED);
		ASSERT_NE(0, pid);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		/* The host drops such references when it ends the session. */
		ASSERT_TRUE(eventually(session_is_gone, &self->peer, SLACK_MS));
		close(lane);
		for (end = peer_now_ms() + SLACK_MS; peer_now_ms() < end; usleep(100000)) {
			ASSERT_TRUE(peer_ping(&self->peer));
			if (i || open_files() == self->files)
				break;
		}
		EXPECT_EQ(self->files + i, open_files());
	}
	/* Another process of the guest has the file too, for example by SCM_RIGHTS. */
	lane = peer_lane(&self->peer, 3);
	ASSERT_GE(lane, 0);
	ASSERT_TRUE(peer_ioctl_send(lane, object, 1, VGPU_MOCK_IOC_NOOP, NULL, 0, 0));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(0, close_by_call(lane, 2, object, 0));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	close(lane);
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

/* --- files whose drivers wait ---------------------------------------------- */

#define FLUSH_FILES	4
#define MANY_FLUSH_FILES	20
/* The mock's wait in ->flush ends after this time if nothing else ends it. */
#define FLUSH_MS	60000

static bool no_objects(void *unused)
{
	(void)unused;
	return !guest().counters.objects;
}

/* Opens @nr files whose ->flush waits as @flush says. Return: @nr, or 0 if it failed. */
static uint32_t open_flushing(const struct peer *peer, int lane, unsigned int nr, uint32_t flush,
			      uint32_t *objects)
{
	char answer[512];
	struct peer_call call;
	uint64_t seq = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		objects[i] = peer_open_device(peer, lane, ++seq);
		if (!objects[i])
			return 0;
		peer_call_init(&call, VGPU_OP_IOCTL, objects[i], ++seq);
		call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_FLUSH);
		call.msg.args.ioctl.arg = htole64(flush);
		if (!peer_call_send(lane, &call, 0, 0) ||
		    peer_reply(lane, answer, sizeof(answer), SLACK_MS))
			return 0;
	}
	return nr;
}

/*
 * Closes files by messages, as for a process that has ended, so no thread waits. Return: true
 * if the host has read the messages.
 */
static bool close_by_message(const struct peer *peer, unsigned int nr, const uint32_t *objects)
{
	char answer[VGPU_CONTROL_MSG_MAX];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct vgpu_close msg = {
			.hdr.len = htole32(sizeof(msg)),
			.hdr.type = htole16(VGPU_MSG_CLOSE),
			.hdr.seq = htole64(i + 1),
			.object = htole32(objects[i]),
		};

		if (!peer_send(peer->control, &msg, sizeof(msg)))
			return false;
	}
	return peer_ping(peer) &&
	       control_next(peer->control, VGPU_MSG_PONG, answer, sizeof(answer));
}

/* Files that a driver has yet to release count against the limit of open files. */
TEST_F(hostile, closed_files_count_until_they_are_released)
{
	uint32_t objects[FLUSH_FILES];
	uint64_t counted, open;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(FLUSH_FILES, open_flushing(&self->peer, lane, FLUSH_FILES, FLUSH_MS, objects));
	EXPECT_EQ(FLUSH_FILES, guest().counters.objects);
	ASSERT_TRUE(close_by_message(&self->peer, FLUSH_FILES, objects));
	counted = guest().counters.objects;
	open = open_files() - self->files;
	EXPECT_GE(counted, open);
	/* The driver has only begun to flush the first file. */
	EXPECT_GT(open, 0);
	/*
	 * The module does not wait for ->flush without limit: the guest's other processes go
	 * on. With a user-space engine the process that had the file closes it, and only that
	 * process waits.
	 */
	if (!tool_user_engine()) {
		EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
		EXPECT_TRUE(eventually(no_objects, NULL, SLACK_MS));
	}
	close(lane);
}

/*
 * A later call waits for all earlier closes together, and not for each file: less than half a
 * second a file with the module, and 30 seconds in all with a user-space engine, which then
 * kills the process that had the files.
 */
TEST_F_TIMEOUT(hostile, many_closed_files_are_waited_for_once, 240)
{
	const unsigned int each_ms = tool_user_engine() ? 30000 / 4 : 500;
	uint32_t objects[MANY_FLUSH_FILES];
	uint64_t start;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(MANY_FLUSH_FILES,
		  open_flushing(&self->peer, lane, MANY_FLUSH_FILES, FLUSH_MS, objects));
	start = peer_now_ms();
	ASSERT_TRUE(close_by_message(&self->peer, MANY_FLUSH_FILES, objects));
	EXPECT_TRUE(eventually(no_objects, NULL, MANY_FLUSH_FILES * each_ms));
	EXPECT_LT(peer_now_ms() - start, MANY_FLUSH_FILES * each_ms);
	close(lane);
	/* A killed process still closes its files one after the other. */
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL,
			       SLACK_MS + MANY_FLUSH_FILES * VGPU_MOCK_FLUSH_ENDING_MS));
}

/* The host does not wait for work that a dead guest has submitted on its files. */
TEST_F_TIMEOUT(hostile, files_of_a_dead_guest_are_not_waited_for, 120)
{
	uint32_t objects[FLUSH_FILES];
	uint64_t start, before = unflushed();
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(FLUSH_FILES, open_flushing(&self->peer, lane, FLUSH_FILES, FLUSH_MS, objects));
	/* Half of the files are being closed, and the others are open still. */
	ASSERT_TRUE(close_by_message(&self->peer, FLUSH_FILES / 2, objects));
	start = peer_now_ms();
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(files_are, &self->files, FLUSH_MS / 2));
	EXPECT_TRUE(eventually(no_guest, NULL, FLUSH_MS / 2));
	EXPECT_LT(peer_now_ms() - start, FLUSH_MS / 2);
	/*
	 * The driver's ->flush is called all the same: some rely on it when they release a
	 * file.
	 */
	EXPECT_EQ(before, unflushed());
	close(lane);
}

/* These threads work for all guests and live longer than any guest; they are not shadows. */
#define HOST_THREADS	"vgpu-peer/[0-9]+|kworker/[^)]*vgpu_host[^)]*|vgpud"
/*
 * An engine ends with its guest. Its last thread closes what the engine has open and waits for
 * the drivers. While the guest lives, the engine's main thread waits for no driver.
 */
#define GUEST_THREADS	HOST_THREADS "|vgpu-engine"

/* Return: true if one of these threads is in one of these states. */
static bool host_is_in(const char *threads, const char *states)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -qsE '^[0-9]+ \\((%s)\\) %s ' /proc/[0-9]*/stat",
		 threads, states);
	return !system(command);
}

/*
 * Looks every 100 ms at these threads, as long as @open files are open. Return: the most looks
 * in a row that found one in state D.
 */
static uint32_t host_waited_deaf(const char *threads, uint64_t open)
{
	uint32_t times = 0, most = 0;

	while (open_files() == open) {
		times = host_is_in(threads, "D") ? times + 1 : 0;
		if (times > most)
			most = times;
		usleep(100000);
	}
	return most;
}

/* Closes a file whose driver ignores signals for @ms. Return: the lane, or -1. */
static int close_deaf_file(FIXTURE_DATA(hostile) *self, uint32_t ms, const char *engine)
{
	int lane = peer_open(&self->peer, LOOPBACK, PORT) ? -1 : peer_lane(&self->peer, 1);
	uint32_t object;

	/* The processes that host_waited_deaf() looks for exist. */
	if (lane < 0 ||
	    !open_flushing(&self->peer, lane, 1, VGPU_MOCK_FLUSH_DEAF | ms, &object) ||
	    !host_is_in(tool_user_engine() ? engine : "vgpu-peer/[0-9]+", "[A-Z]") ||
	    !close_by_message(&self->peer, 1, &object) || open_files() != self->files + 1)
		return -1;
	return lane;
}

/* Only the threads that are in a driver wait in state D while the driver ignores signals. */
TEST_F_TIMEOUT(hostile, close_waits_idly, 120)
{
	int lane = close_deaf_file(self, 4000, "vgpu-engine");

	ASSERT_GE(lane, 0);
	/* A lock is waited for in state D as well, but only for a short time. */
	EXPECT_LT(host_waited_deaf(GUEST_THREADS, self->files + 1), 10);
	close(lane);
}

/* The end of a guest does not wait in state D for a driver that ignores signals. */
TEST_F_TIMEOUT(hostile, end_of_a_guest_waits_idly, 120)
{
	int lane = close_deaf_file(self, 8000, "vgpud");

	ASSERT_GE(lane, 0);
	peer_close(&self->peer);
	close(lane);
	EXPECT_LT(host_waited_deaf(HOST_THREADS, self->files + 1), 10);
}

/* The driver ignores signals for this time, in which a shadow can end even on a slow machine. */
#define DEAF_MS		15000

/* Return: true if all threads of the process have ended. The process may be a zombie. */
static bool process_is_gone(void *pid)
{
	char command[96];

	snprintf(command, sizeof(command), "! grep -qsvE '\\) Z ' /proc/%d/task/*/stat",
		 *(pid_t *)pid);
	return !system(command);
}

/* Return: true if a thread of the process is in state D. */
static bool waits_in_kernel(void *pid)
{
	char command[96];

	snprintf(command, sizeof(command), "grep -qsE '\\) D ' /proc/%d/task/*/stat", *(pid_t *)pid);
	return !system(command);
}

/* A lane can be killed while it waits for an earlier close, whose driver ignores signals. */
TEST_F_TIMEOUT(hostile, lane_behind_a_deaf_close_is_killed, 120)
{
	uint64_t open = self->files + 2;
	uint32_t object, device;
	struct peer_call call;
	pid_t pid;
	int lane;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane = peer_lane_of(&self->peer, 1, KILLED);
	ASSERT_GE(lane, 0);
	ASSERT_EQ(1, open_flushing(&self->peer, lane, 1, VGPU_MOCK_FLUSH_DEAF | DEAF_MS, &object));
	device = peer_open_device(&self->peer, lane, 3);
	ASSERT_NE(0, device);
	pid = tool_shadow_of(KILLED);
	ASSERT_NE(0, pid);
	ASSERT_TRUE(close_by_message(&self->peer, 1, &object));
	peer_call_init(&call, VGPU_OP_IOCTL, device, 4);
	call.msg.control_seq = htole64(1);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_NOOP);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	/* Lanes of a user-space engine wait outside the kernel. */
	if (!tool_user_engine())
		EXPECT_TRUE(eventually(waits_in_kernel, &pid, SLACK_MS));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_TRUE(eventually(process_is_gone, &pid, SLACK_MS));
	/* The shadow has not waited for the driver. */
	EXPECT_EQ(open, open_files());
	close(lane);
}

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

TEST_HARNESS_MAIN
