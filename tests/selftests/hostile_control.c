// SPDX-License-Identifier: GPL-2.0-only
/* A hostile guest sends messages on its control connection that make no sense. */
#include <dirent.h>
#include <inttypes.h>
#include <sys/ptrace.h>

#include "hostile.h"
#include "switches.h"

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

#define WAITING_LANES	16
#define UNMAPS		1000

/* Maps a page of the device, so that the host waits for no UNMAP of the session. */
static bool map_something(int lane, uint32_t object)
{
	struct vgpu_mock_buf_create create = { .size = 4096, .flavour = VGPU_MOCK_BUF_PFN };
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
		char bytes[256];
	} answer;
	struct peer_call call;

	if (!peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
			     sizeof(create)) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return false;
	peer_mmap_init(&call, object, 3, 0x20000000, VGPU_PAGE_SIZE, answer.create.out_offset,
		       PROT_READ | PROT_WRITE);
	return peer_call_send(lane, &call, 0, 0) &&
		!peer_reply(lane, &answer, sizeof(answer), SLACK_MS);
}

static bool send_call_behind(int lane, uint32_t object, uint64_t seq, uint64_t control_seq)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_IOCTL, object, seq);
	call.msg.control_seq = htole64(control_seq);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_NOOP);
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_VALUE);
	return peer_call_send(lane, &call, 0, 0);
}

/*
 * Calls wait for a message that never comes. The messages that come wake none of them, but the call
 * that waits for the last one.
 */
TEST_F_TIMEOUT(hostile, calls_behind_a_message_that_never_comes, 120)
{
	static struct switches before, now;
	struct vgpu_unmap unmap = {
		.hdr.len = htole32(sizeof(unmap)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.session = htole64(1),
		.addr = htole64(0x50000000),
		.len = htole64(4096),
	};
	int lane, waiting[WAITING_LANES], i;
	char answer[512];
	uint32_t object;
	pid_t shadow;

	if (tool_user_engine())
		SKIP(return, "lanes of the host module only");
	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_TRUE(map_something(lane, object));
	for (i = 0; i < WAITING_LANES; i++) {
		waiting[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(waiting[i], 0);
		ASSERT_TRUE(send_call_behind(waiting[i], object, 1, UINT64_MAX));
	}
	ASSERT_TRUE(send_call_behind(lane, object, 4, UNMAPS));
	shadow = tool_shadow_of("hostile");
	ASSERT_NE(0, shadow);
	read_switches(shadow, &before);
	ASSERT_LT(WAITING_LANES, before.nr);
	for (i = 1; i <= UNMAPS; i++) {
		unmap.hdr.seq = htole64(i);
		ASSERT_TRUE(peer_send(self->peer.control, &unmap, sizeof(unmap)));
		/* A thread that is awake is not woken. */
		usleep(1000);
	}
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	read_switches(shadow, &now);
	/* One thread applies the UNMAPs. */
	EXPECT_GE(1, slept_often(&before, &now, UNMAPS / 4));
	for (i = 0; i < WAITING_LANES; i++) {
		EXPECT_EQ(PEER_SILENT, peer_recv(waiting[i], answer, sizeof(answer), 0));
		close(waiting[i]);
	}
	close(lane);
}

/* --- engines ---------------------------------------------------------------- */

/* Returns the user of this guest's processes, or -1. */
static long guest_uid(void)
{
	const char *at = strstr(tool_status(), "\"guests\":");
	char key[32];

	snprintf(key, sizeof(key), "\"port\":%u,", PORT);
	at = at ? strstr(at, key) : NULL;
	at = at ? strstr(at, "\"uid\":") : NULL;
	return at ? atol(at + strlen("\"uid\":")) : -1;
}

/* Return: the process exists, and is no zombie. *@uid: its user. */
static bool process_lives(const char *pid, long *uid)
{
	char path[300], line[256], state = 'Z';
	FILE *file;

	*uid = -1;
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "Uid: %ld", uid);
	}
	if (file)
		fclose(file);
	return state != 'Z' && state != 'X';
}

/* Returns the oldest process of a user that executes a program, or 0. */
static pid_t process_of(long user, const char *program)
{
	char path[300], exe[4096];
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	pid_t found = 0, pid;
	ssize_t len;
	long uid;

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof(exe) - 1);
		if (len < (ssize_t)strlen(program))
			continue;
		exe[len] = '\0';
		pid = atoi(entry->d_name);
		if (!strcmp(exe + len - strlen(program), program) && (!found || pid < found) &&
		    process_lives(entry->d_name, &uid) && uid == user)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

static bool is_dead(void *data)
{
	const pid_t *pid = data;
	char name[16];
	long uid;

	snprintf(name, sizeof(name), "%d", *pid);
	return !process_lives(name, &uid);
}

/*
 * An engine that waits for a lock which a thread of its shadow holds does not end by SIGKILL alone:
 * its shadows end as well. Here the tracer of the engine keeps it from being reaped, and the
 * shadow, which is stopped, does not end by itself.
 */
TEST_F(hostile, shadows_end_before_the_engine)
{
	struct vgpu_hello hello = peer_hello_msg();
	pid_t engine, shadow;
	int fd, status;
	long uid;

	if (!tool_user_engine())
		SKIP(return, "needs a user-space engine: user");
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_GE(peer_lane(&self->peer, 1), 0);
	uid = guest_uid();
	engine = process_of(uid, "/vgpu-engine");
	shadow = process_of(uid, "/vgpu-engine-shadow");
	ASSERT_TRUE(uid > 0 && engine > 0 && shadow > 0);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, engine, NULL, NULL));
	ASSERT_EQ(0, kill(shadow, SIGSTOP));
	/* The guest's kernel connects anew, so vgpud ends the old connection. */
	fd = peer_connect(LOOPBACK, PORT, true);
	ASSERT_GE(fd, 0);
	ASSERT_TRUE(peer_send(fd, &hello, sizeof(hello)));
	EXPECT_TRUE(eventually(is_dead, &shadow, SLACK_MS));
	EXPECT_EQ(0, kill(engine, 0));
	/* The engine is not reaped before that, whether it has ended by itself or by SIGKILL. */
	while (waitpid(engine, &status, __WALL) == engine && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, engine, NULL, NULL);
	EXPECT_TRUE(WIFSIGNALED(status) || WIFEXITED(status));
	close(fd);
	peer_close(&self->peer);
}

/* Each session entitles an engine to a few reports of its end. One that sends more is ended. */
TEST_F(hostile, engine_reports_without_end)
{
	const struct {
		uint32_t type;
		uint32_t flags;
		uint64_t number;
	} closed = { .type = 5 /* ENGINE_CLOSED */, .number = 12345 };
	char path[64];
	pid_t engine;
	int fd, nr;

	if (!tool_user_engine())
		SKIP(return, "needs a user-space engine: user");
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_GE(peer_lane(&self->peer, 1), 0);
	engine = process_of(guest_uid(), "/vgpu-engine");
	ASSERT_GT(engine, 0);
	/* This is the pipe by which the engine reports (ENGINE_FD_SESSIONS). */
	snprintf(path, sizeof(path), "/proc/%d/fd/7", engine);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	/* The reports that the one session causes may have been sent, but no others. */
	for (nr = 0; nr < 4; nr++)
		EXPECT_EQ(sizeof(closed), write(fd, &closed, sizeof(closed)));
	close(fd);
	EXPECT_GE(peer_wait_eof(self->peer.control, SLACK_MS), 0);
	peer_close(&self->peer);
}

TEST_HARNESS_MAIN
