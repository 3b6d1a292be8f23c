// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest floods the host, and makes calls that wait in drivers. The host's work for it
 * has limits, and other calls do not wait for that work.
 */
#include <ctype.h>
#include <sys/mman.h>

#include "hostile_limits.h"

/* The host is watched for this time for something that must not happen. */
#define WATCH_MS	1000

/* --- a poll that waits in the driver -------------------------------------------- */

static bool poll_send(int lane, uint32_t object, uint64_t seq)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_POLL, object, seq);
	call.msg.args.poll.events = htole32(POLLIN);
	call.msg.args.poll.number = htole32(1);
	return peer_call_send(lane, &call, 0, 0);
}

static bool poll_arm(int lane, uint32_t object, uint64_t seq, uint32_t events, uint32_t flags)
{
	struct vgpu_mock_poll arg = { .events = events, .flags = flags };
	char answer[512];

	return peer_ioctl_send(lane, object, seq, VGPU_MOCK_IOC_POLL_ARM, &arg, 0x10000000,
			       sizeof(arg)) &&
	       !peer_reply(lane, answer, sizeof(answer), SLACK_MS);
}

/* Returns the mock device's counters, all 0 if they cannot be read. */
static const struct vgpu_mock_counters *counters(void)
{
	static struct vgpu_mock_counters now;
	int fd = open(real_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now))
		memset(&now, 0, sizeof(now));
	close(fd);
	return &now;
}

/* Connects three lanes of one session. Return: the device, opened on the first lane, or 0. */
static uint32_t open_by_three(struct peer *peer, int lane[3])
{
	int i;

	if (peer_open(peer, LOOPBACK, PORT))
		return 0;
	for (i = 0; i < 3; i++) {
		lane[i] = peer_lane(peer, 1);
		if (lane[i] < 0)
			return 0;
	}
	return peer_open_device(peer, lane[0], 1);
}

static uint64_t polls(void)
{
	return counters()->out_polls;
}

static bool more_polls(void *before)
{
	return polls() > *(uint64_t *)before;
}

/* Return: true if a worker of the module waits in state D. */
static bool worker_waits(void)
{
	char path[300], line[512];
	struct dirent *entry;
	bool waits = false;
	DIR *proc = opendir("/proc");
	const char *state;

	while (proc && !waits && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		tool_read_line(path, line, sizeof(line));
		state = strrchr(line, ')');
		/* The kernel adds the name of the workqueue to the name of a busy worker. */
		waits = state && strstr(line, "(kworker/") && strstr(line, "+vgpu_host)") &&
			state[1] && state[2] == 'D';
	}
	if (proc)
		closedir(proc);
	return waits;
}

/* A second poll of the same file can be cancelled while the first is in the driver. */
TEST_F(limits, poll_behind_another)
{
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
		.seq = htole64(1),
	};
	char answer[512];
	uint64_t before;
	uint32_t object;
	int lane[3], i;

	if (tool_user_engine())
		SKIP(return, "a user-space engine polls for all its programs in one place");
	object = open_by_three(&self->peer, lane);
	ASSERT_NE(0, object);
	ASSERT_TRUE(poll_arm(lane[0], object, 2, 0, VGPU_MOCK_POLL_HOLD));
	before = polls();
	ASSERT_TRUE(poll_send(lane[0], object, 3));
	ASSERT_TRUE(eventually(more_polls, &before, SLACK_MS));
	ASSERT_TRUE(poll_send(lane[1], object, 1));
	ASSERT_TRUE(peer_send(lane[1], &cancel, sizeof(cancel)));
	EXPECT_EQ(-EINTR, peer_reply(lane[1], answer, sizeof(answer), SLACK_MS));
	/* The first poll is not affected by the cancellation. */
	ASSERT_TRUE(poll_arm(lane[2], object, 1, POLLIN, 0));
	EXPECT_EQ(0, peer_reply(lane[0], answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(POLLIN, le32toh(((struct vgpu_reply *)answer)->out.poll.revents));
	for (i = 0; i < 3; i++)
		close(lane[i]);
}

/* --- an mmap that waits in the driver -------------------------------------------- */

static uint64_t mmaps(void)
{
	return counters()->out_mmaps;
}

static bool more_mmaps(void *before)
{
	return mmaps() > *(uint64_t *)before;
}

static bool mmap_send(int lane, uint32_t object, uint64_t seq, uint64_t addr, uint64_t offset)
{
	return mmap_send_for(lane, object, seq, addr, offset, 0, 0);
}

/*
 * Calls on mappings wait for an mmap of the same process, for as long as the mmap's driver
 * takes. A call that reads pages can be cancelled meanwhile, and the process can be killed with
 * all of them.
 */
TEST_F_TIMEOUT(limits, pages_behind_an_mmap, 120)
{
	const unsigned int slow_ms = 60000;
	struct vgpu_mock_buf_create create = { .size = 4096, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range range = { .delay_ms = slow_ms, .seed = VGPU_MOCK_SLOW_MMAP };
	struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)),
		.type = htole16(VGPU_MSG_CANCEL),
		.seq = htole64(1),
	};
	struct vgpu_session_close end = {
		.hdr.len = htole32(sizeof(end)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
		.hdr.seq = htole64(1),
		.session = htole64(1),
	};
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_buf_create create;
			char bytes[8192];
		};
	} answer;
	struct peer_call call;
	uint32_t object;
	uint64_t offset, start, before;
	int lane[3], i;

	if (tool_user_engine())
		SKIP(return, "shadows of a user-space engine wait for each other in user space");
	object = open_by_three(&self->peer, lane);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane[0], object, 2, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
				    sizeof(create)));
	ASSERT_EQ(0, peer_reply(lane[0], &answer, sizeof(answer), SLACK_MS));
	range.id = answer.create.out_id;
	offset = answer.create.out_offset;
	ASSERT_TRUE(mmap_send(lane[0], object, 3, 0x20000000, offset));
	ASSERT_EQ(0, peer_reply(lane[0], &answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(peer_ioctl_send(lane[0], object, 4, VGPU_MOCK_IOC_BUF_SLOW, &range, 0,
				    sizeof(range)));
	ASSERT_EQ(0, peer_reply(lane[0], &answer, sizeof(answer), SLACK_MS));
	start = peer_now_ms();
	before = mmaps();
	ASSERT_TRUE(mmap_send(lane[0], object, 5, 0x30000000, offset));
	ASSERT_TRUE(eventually(more_mmaps, &before, SLACK_MS));

	peer_call_init(&call, VGPU_OP_READ_PAGES, 0, 1);
	call.msg.args.pages.addr = htole64(0x20000000);
	call.msg.args.pages.len = htole64(VGPU_PAGE_SIZE);
	call.seg[0].addr = htole64(0x20000000);
	call.seg[0].len = htole32(VGPU_PAGE_SIZE);
	call.seg[0].flags = htole32(VGPU_SEG_OUT);
	ASSERT_TRUE(peer_call_send(lane[1], &call, 1, 0));
	EXPECT_EQ(PEER_SILENT, peer_recv(lane[1], &answer, sizeof(answer), 500));
	ASSERT_TRUE(peer_send(lane[1], &cancel, sizeof(cancel)));
	EXPECT_EQ(-EINTR, peer_reply(lane[1], &answer, sizeof(answer), SLACK_MS));
	/*
	 * An mmap behind the first is not ended by the cancellation, but by the end of the
	 * process.
	 */
	ASSERT_TRUE(mmap_send(lane[2], object, 1, 0x40000000, offset));
	EXPECT_EQ(PEER_SILENT, peer_recv(lane[2], &answer, sizeof(answer), 500));
	ASSERT_TRUE(peer_send(self->peer.control, &end, sizeof(end)));
	EXPECT_LE(0, peer_wait_eof(lane[2], SLACK_MS));
	EXPECT_LE(0, peer_wait_eof(lane[0], SLACK_MS));
	EXPECT_GT(slow_ms, peer_now_ms() - start);
	for (i = 0; i < 3; i++)
		close(lane[i]);
}

/*
 * A wakeup during a poll in the driver keeps no worker waiting, as all guests share these
 * workers. The guest is notified of the wakeup when the poll is over.
 */
TEST_F(limits, wakeup_during_a_poll)
{
	struct vgpu_poll_event event;
	char answer[512];
	unsigned int waits = 0, most = 0;
	uint64_t end, before;
	uint32_t object;
	int lane[2];

	if (tool_user_engine())
		SKIP(return, "needs the host module");
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	lane[0] = peer_lane(&self->peer, 1);
	lane[1] = peer_lane(&self->peer, 1);
	ASSERT_TRUE(lane[0] >= 0 && lane[1] >= 0);
	object = peer_open_device(&self->peer, lane[0], 1);
	ASSERT_NE(0, object);
	/* The first poll returns at once, and arms the object. */
	ASSERT_TRUE(poll_arm(lane[0], object, 2, 0, 0));
	ASSERT_TRUE(poll_send(lane[0], object, 3));
	ASSERT_EQ(0, peer_reply(lane[0], answer, sizeof(answer), SLACK_MS));
	ASSERT_TRUE(poll_arm(lane[0], object, 4, 0, VGPU_MOCK_POLL_HOLD));
	before = polls();
	ASSERT_TRUE(poll_send(lane[0], object, 5));
	ASSERT_TRUE(eventually(more_polls, &before, SLACK_MS));

	ASSERT_TRUE(poll_arm(lane[1], object, 1, POLLIN, VGPU_MOCK_POLL_HOLD));
	/* A lock is waited for in state D as well, but only for a short time. */
	for (end = peer_now_ms() + WATCH_MS; peer_now_ms() < end; usleep(10000)) {
		waits = worker_waits() ? waits + 1 : 0;
		most = waits > most ? waits : most;
	}
	EXPECT_LT(most, 10);
	/* This change ends the poll in the driver, and wakes no one who waits for events. */
	ASSERT_TRUE(poll_arm(lane[1], object, 2, POLLIN, 0));
	EXPECT_EQ(0, peer_reply(lane[0], answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(POLLIN, le32toh(((struct vgpu_reply *)answer)->out.poll.revents));
	EXPECT_TRUE(control_next(self->peer.control, VGPU_MSG_POLL_EVENT, &event, sizeof(event)));
	EXPECT_EQ(object, le32toh(event.object));
	close(lane[0]);
	close(lane[1]);
}

/* --- fdinfo ---------------------------------------------------------------------- */

/*
 * The module does not ask drivers whose needs for fdinfo are unknown. A user-space engine reads
 * procfs, as any program does, and sends only the driver's own lines to the guest.
 */
TEST_F(limits, fdinfo_of_any_driver)
{
	const char *text = tool_user_engine() ? "mock-asked-by:\tprocfs\n" : "";
	struct peer_call call;
	char answer[512] = {};
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	peer_call_init(&call, VGPU_OP_FDINFO, object, 2);
	call.seg[0].len = htole32(256);
	call.seg[0].flags = htole32(VGPU_SEG_OUT);
	ASSERT_TRUE(peer_call_send(lane, &call, 1, 0));
	EXPECT_EQ(strlen(text), peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	EXPECT_EQ(0, strncmp(text, answer + sizeof(struct vgpu_reply), strlen(text)))
		TH_LOG("%.100s", answer + sizeof(struct vgpu_reply));
	close(lane);
}

/* --- memory and time of the host's ------------------------------------------------ */

/*
 * Calls that wait have memory of the shadow for what they will read, and the sum of that memory
 * is limited.
 */
TEST_F(limits, reads_of_much)
{
	struct vgpu_mock_io mode = { .mode = VGPU_MOCK_IO_QUEUE };
	static struct vgpu_reply answer;
	struct peer_call call;
	int lane[8], i, refused = 0;
	struct pollfd pfd;
	uint32_t object;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < 8; i++) {
		lane[i] = peer_lane(&self->peer, 1);
		ASSERT_GE(lane[i], 0);
	}
	object = peer_open_device(&self->peer, lane[0], 1);
	ASSERT_NE(0, object);
	ASSERT_TRUE(peer_ioctl_send(lane[0], object, 2, VGPU_MOCK_IOC_IO_MODE, &mode, 0x10000000,
				    sizeof(mode)));
	ASSERT_EQ(0, peer_reply(lane[0], call.data, sizeof(call.data), SLACK_MS));
	/* The calls wait for data that never comes, or fail for lack of memory. */
	for (i = 1; i < 8; i++) {
		peer_call_init(&call, VGPU_OP_READ, object, 1);
		call.msg.f_flags = htole32(O_RDWR);
		call.seg[0].len = htole32(15 << 20);
		call.seg[0].flags = htole32(VGPU_SEG_OUT);
		ASSERT_TRUE(peer_call_send(lane[i], &call, 1, 0));
	}
	for (i = 1; i < 8; i++) {
		pfd = (struct pollfd) { .fd = lane[i], .events = POLLIN };
		if (poll(&pfd, 1, WATCH_MS) != 1)
			continue;
		EXPECT_EQ(-ENOMEM, peer_reply(lane[i], &answer, sizeof(answer), SLACK_MS));
		refused++;
	}
	EXPECT_EQ(3, refused);
	for (i = 0; i < 8; i++)
		close(lane[i]);
}

/*
 * The module answers the first hundred PINGs at once, and then a limited number a second. A
 * user-space engine answers as fast as it can, because its processor time counts as its
 * guest's.
 */
#define PINGS		400
#define PINGS_MS	(tool_user_engine() ? 0 : 2000)

/*
 * Messages about sessions, objects and ranges that do not exist are limited to the rate of
 * PINGs.
 */
TEST_F(limits, flood_of_ends)
{
	struct vgpu_session_close close = {
		.hdr.len = htole32(sizeof(close)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
		.session = htole64(77),
	};
	struct vgpu_unmap unmap = {
		.hdr.len = htole32(sizeof(unmap)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.session = htole64(77),
		.addr = htole64(0x10000000),
		.len = htole64(4096),
	};
	struct vgpu_window_part unbind = {
		.hdr.len = htole32(sizeof(unbind)),
		.hdr.type = htole16(VGPU_MSG_UNBIND),
		.window = htole64(1),
		.offset = htole64(4096),
		.len = htole64(4096),
	};
	struct vgpu_close gone = {
		.hdr.len = htole32(sizeof(gone)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.object = htole32(77),
	};
	struct vgpu_hdr *const ends[] = { &close.hdr, &gone.hdr, &unmap.hdr, &unbind.hdr };
	char answer[VGPU_CONTROL_MSG_MAX];
	/* A user-space engine's guest has no window here, so UNBIND would be malformed. */
	const unsigned int nr = tool_user_engine() ? 3 : 4;
	unsigned int i, j;
	uint64_t start;

	for (i = 0; i < nr; i++) {
		ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
		start = peer_now_ms();
		for (j = 0; j < PINGS; j++) {
			ends[i]->seq = htole64(1 + j);
			ASSERT_TRUE(peer_send(self->peer.control, ends[i], le32toh(ends[i]->len)));
		}
		ASSERT_TRUE(peer_ping(&self->peer));
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_PONG, answer, sizeof(answer)));
		EXPECT_LE(PINGS_MS, peer_now_ms() - start) TH_LOG("message %u", i);
		peer_close(&self->peer);
	}
}

/* Messages are limited to the same rate when the guest does not receive any more. */
TEST_F(limits, flood_of_the_deaf)
{
	struct vgpu_hdr pong = {
		.len = htole32(sizeof(pong)), .type = htole16(VGPU_MSG_PONG),
	};
	struct vgpu_hdr malformed = {
		.len = htole32(sizeof(malformed)), .type = htole16(VGPU_MSG_CALL),
	};
	uint64_t start;
	unsigned int i;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	start = peer_now_ms();
	for (i = 0; i < PINGS; i++)
		ASSERT_TRUE(peer_send(self->peer.control, &pong, sizeof(pong)));
	ASSERT_EQ(0, shutdown(self->peer.control, SHUT_RD));
	/* This message ends the connection, after all earlier ones were handled. */
	ASSERT_TRUE(peer_send(self->peer.control, &malformed, sizeof(malformed)));
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_LE(PINGS_MS, peer_now_ms() - start);
}

TEST_F(limits, flood_of_pings)
{
	struct vgpu_hdr pong;
	uint64_t start;
	unsigned int i;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	start = peer_now_ms();
	for (i = 0; i < PINGS; i++)
		ASSERT_TRUE(peer_ping(&self->peer));
	for (i = 0; i < PINGS; i++)
		ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_PONG, &pong, sizeof(pong)));
	EXPECT_LE(PINGS_MS, peer_now_ms() - start);
}

/* --- an export that is taken back ------------------------------------------------- */

/* Open files stay open, and further opens fail, even if the guest still asks for them. */
TEST_F(limits, unexport_leaves_what_is_open)
{
	union {
		struct vgpu_export_del del;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	struct vgpu_mock_inout io = { .value = 1 };
	struct peer_call call;
	char answer[512];
	uint32_t object;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(0, unexport("limits"));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_EXPORT_DEL, &msg, sizeof(msg)));
	EXPECT_EQ(self->peer.export, le32toh(msg.del.export));
	ASSERT_TRUE(peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_INOUT, &io, 0x10000000,
				    sizeof(io)));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	peer_call_init(&call, VGPU_OP_OPEN, 0, 3);
	call.msg.args.open.export = htole32(self->peer.export);
	call.msg.f_flags = htole32(O_RDWR);
	call.msg.args.open.flags = htole32(O_RDWR);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	EXPECT_EQ(-ENODEV, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	/* The failed open has not affected the open file. */
	ASSERT_TRUE(peer_ioctl_send(lane, object, 4, VGPU_MOCK_IOC_INOUT, &io, 0x10000000,
				    sizeof(io)));
	EXPECT_EQ(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	close(lane);
}

TEST_HARNESS_MAIN
