// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest has NVIDIA's driver pin memory of its shadow: the page that holds the call's
 * arguments, to which a pointer in them can lead. A card can read and change such a page later.
 * Calls of that driver wait if other calls have all rooms for arguments.
 *
 * The tests run where those of hostile.h do, with the stand-in for NVIDIA's driver.
 */
#include <linux/vgpu_host.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock.h"
#include "vgpu_mock_nvidia.h"
#include "vgpu_mock_pattern.h"

#include "kselftest_harness.h"

#define NODE		"/dev/nvidiactl"
#define ADDR		0x10000000ULL
#define WORD		0x6b656570206f7574ULL
/* This is the number of rooms: memory of a shadow for one call's arguments, with a key. */
#define ROOMS		(VGPU_KEY_LAST - VGPU_KEY_ALONE + 1)
/* These rooms are left to calls of NVIDIA's driver, and to calls with kept memory. */
#define ROOMS_LEFT	4
/* The sleep is longer than any test. */
#define SLEEP_MS	60000

/* struct lane: a lane, and the number of its last call. */
struct lane {
	int fd;
	uint64_t seq;
};

FIXTURE(pin) {
	struct peer peer;
	uint64_t files;
	uint32_t mock;		/* numbers of exports */
	uint32_t card;
	struct lane lane;
	uint32_t object;	/* object of the card */
	struct lane sleepers[ROOMS];
};

/* Finds out which of the two exports is the mock and which is the card. */
static bool know_exports(FIXTURE_DATA(pin) *self)
{
	struct vgpu_export_add other;

	if (!second_export(&self->peer, &other))
		return false;
	self->mock = self->peer.export;
	self->card = le32toh(other.export);
	if (le32toh(other.kind) != VGPU_EXPORT_NVIDIA) {
		self->mock = self->card;
		self->card = self->peer.export;
	}
	return true;
}

static bool lane_begin(FIXTURE_DATA(pin) *self, struct lane *lane)
{
	lane->seq = 0;
	lane->fd = peer_lane(&self->peer, 1);
	return lane->fd >= 0;
}

static uint32_t open_export(FIXTURE_DATA(pin) *self, struct lane *lane, uint32_t export)
{
	struct peer peer = self->peer;

	peer.export = export;
	return peer_open_device(&peer, lane->fd, ++lane->seq);
}

FIXTURE_SETUP(pin)
{
	int i;

	NEEDS_HOST();

	self->peer.control = -1;
	self->lane.fd = -1;
	for (i = 0; i < ROOMS; i++)
		self->sleepers[i].fd = -1;
	ASSERT_EQ(0, tool_run("modprobe vgpu_mock_nvidia")->status);
	ASSERT_EQ(0, mknod(NODE, S_IFCHR | 0666, makedev(195, 255)));
	self->files = files_at_rest();
	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	ASSERT_EQ(0, export_as("hostile-card", NODE, LOOPBACK, PORT, false));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_TRUE(know_exports(self));
	ASSERT_TRUE(lane_begin(self, &self->lane));
	self->object = open_export(self, &self->lane, self->card);
	ASSERT_NE(0, self->object);
}

FIXTURE_TEARDOWN(pin)
{
	int i;

	if (!self->peer.port)
		return;
	for (i = 0; i < ROOMS; i++)
		close(self->sleepers[i].fd);
	close(self->lane.fd);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	EXPECT_EQ(0, unexport("hostile"));
	EXPECT_EQ(0, unexport("hostile-card"));
	EXPECT_EQ(0, unlink(NODE));
	EXPECT_TRUE(eventually(no_nvidia, NULL, SLACK_MS));
}

/* The answer to a call has its bytes behind the reply. */
static union {
	struct vgpu_reply reply;
	char bytes[512];
} answer;

/* Waits for the reply of the lane's last call. Return: its result, or INT64_MIN if none came. */
static int64_t reply_of(FIXTURE_DATA(pin) *self, struct lane *lane, int timeout_ms)
{
	struct pollfd pfd = { .fd = lane->fd, .events = POLLIN };
	uint64_t end = peer_now_ms() + timeout_ms;

	/* The host ends the connection of a guest that sends nothing for long. */
	do {
		if (!peer_ping(&self->peer) || peer_now_ms() > end)
			return INT64_MIN;
	} while (!poll(&pfd, 1, 1000));
	return peer_reply(lane->fd, &answer, sizeof(answer), SLACK_MS);
}

static int64_t card_ioctl(FIXTURE_DATA(pin) *self, uint32_t cmd, const void *arg, size_t len)
{
	struct lane *lane = &self->lane;

	if (!peer_ioctl_send(lane->fd, self->object, ++lane->seq, cmd, arg, ADDR, len))
		return INT64_MIN;
	return reply_of(self, lane, SLACK_MS);
}

/* --- memory that a card keeps ------------------------------------------------ */

/*
 * Returns how often the card finds the word in its page. The argument of this call has the
 * word, too.
 */
static uint64_t seen(FIXTURE_DATA(pin) *self, uint64_t word)
{
	struct vgpu_mock_nvidia_look look = { .word = word };

	if (card_ioctl(self, VGPU_MOCK_NVIDIA_LOOK, &look, sizeof(look)))
		return UINT64_MAX;
	memcpy(&look, answer.bytes + sizeof(answer.reply), sizeof(look));
	return look.out_times;
}

/* Makes a WRITE call, whose bytes are put where arguments are. */
static bool card_writes(FIXTURE_DATA(pin) *self)
{
	const uint64_t words[] = { WORD, WORD, WORD, WORD, WORD };
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_WRITE, self->object, ++self->lane.seq);
	call.seg[0].len = htole32(sizeof(words));
	call.seg[0].flags = htole32(VGPU_SEG_IN);
	memcpy(call.data, words, sizeof(words));
	return peer_call_send(self->lane.fd, &call, 1, sizeof(words)) &&
	       reply_of(self, &self->lane, SLACK_MS) == sizeof(words);
}

/* The card does not see bytes of calls that come after the one whose argument it pinned. */
TEST_F_TIMEOUT(pin, later_calls, 120)
{
	struct vgpu_mock_nvidia_pin pin = { .unused = ~WORD };

	ASSERT_EQ(0, card_ioctl(self, VGPU_MOCK_NVIDIA_PIN, &pin, sizeof(pin)));
	/* The card sees its own argument, so it has this page. */
	EXPECT_EQ(1, seen(self, ~WORD));
	EXPECT_EQ(0, seen(self, WORD));
	ASSERT_TRUE(card_writes(self));
	EXPECT_EQ(0, seen(self, WORD));
	EXPECT_EQ(1, seen(self, ~WORD));
}

/* The card does not see arguments of other drivers' calls, which may have the room of its call. */
TEST_F_TIMEOUT(pin, other_drivers, 120)
{
	struct vgpu_mock_nvidia_pin pin = { .unused = ~WORD };
	struct vgpu_mock_array array = { .ptr = WORD, .count = 1, .total = 1 };
	struct lane *lane = &self->lane;
	uint32_t mock;

	mock = open_export(self, lane, self->mock);
	ASSERT_NE(0, mock);
	ASSERT_EQ(0, card_ioctl(self, VGPU_MOCK_NVIDIA_PIN, &pin, sizeof(pin)));
	/* The pointer leads to no memory. */
	ASSERT_TRUE(peer_ioctl_send(lane->fd, mock, ++lane->seq,
				    VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_IN), &array, ADDR,
				    sizeof(array)));
	EXPECT_EQ(-EFAULT, reply_of(self, lane, SLACK_MS));
	EXPECT_EQ(0, seen(self, WORD));
	EXPECT_EQ(1, seen(self, ~WORD));
}

/*
 * Has the mock sum up one field of the page that it has kept: this call's argument, if that is
 * in the page.
 */
static uint64_t seen_by_mock(FIXTURE_DATA(pin) *self, uint32_t mock, uint64_t seed)
{
	struct vgpu_mock_kept kept = {
		.offset = offsetof(struct vgpu_mock_kept, seed), .length = sizeof(kept.seed),
		.seed = seed,
	};
	struct lane *lane = &self->lane;

	if (!peer_ioctl_send(lane->fd, mock, ++lane->seq, VGPU_MOCK_IOC_KEPT, &kept, ADDR,
			     sizeof(kept)) || reply_of(self, lane, SLACK_MS))
		return 0;
	memcpy(&kept, answer.bytes + sizeof(answer.reply), sizeof(kept));
	return kept.out_sum;
}

static uint64_t sum_of(uint64_t word)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &word, sizeof(word));
}

/*
 * Arguments for NVIDIA's driver are not put in a page of arguments that another driver has
 * kept.
 */
TEST_F_TIMEOUT(pin, kept_by_others, 120)
{
	struct vgpu_mock_keep keep = { .last = 7, .what = VGPU_MOCK_KEEP_ARGUMENT };
	const uint64_t seeds[] = { 0x5eed1, 0x5eed2 };
	struct lane *lane = &self->lane;
	uint32_t mock;

	mock = open_export(self, lane, self->mock);
	ASSERT_NE(0, mock);
	ASSERT_TRUE(peer_ioctl_send(lane->fd, mock, ++lane->seq, VGPU_MOCK_IOC_KEEP, &keep, ADDR,
				    sizeof(keep)));
	ASSERT_EQ(0, reply_of(self, lane, SLACK_MS));
	/* The mock has kept a page where arguments are. */
	EXPECT_EQ(sum_of(seeds[0]), seen_by_mock(self, mock, seeds[0]));
	ASSERT_TRUE(card_writes(self));
	EXPECT_NE(sum_of(WORD), seen_by_mock(self, mock, seeds[1]));
}

/* --- all rooms taken by other calls ------------------------------------------- */

static bool all_sleep(void *wanted)
{
	return sleeps() >= *(uint32_t *)wanted;
}

/* Begins @nr calls of another driver, which sleep. */
static void others_sleep(struct __test_metadata *_metadata, FIXTURE_DATA(pin) *self, uint32_t nr)
{
	const struct vgpu_mock_sleep sleep = { .ms = SLEEP_MS };
	uint32_t mock = open_export(self, &self->lane, self->mock), wanted = sleeps() + nr, i;

	ASSERT_NE(0, mock);
	for (i = 0; i < nr; i++) {
		struct lane *lane = &self->sleepers[i];

		ASSERT_TRUE(lane_begin(self, lane));
		ASSERT_TRUE(peer_ioctl_send(lane->fd, mock, ++lane->seq, VGPU_MOCK_IOC_SLEEP,
					    &sleep, ADDR, sizeof(sleep)));
	}
	ASSERT_TRUE(eventually(all_sleep, &wanted, SLACK_MS));
}

static bool cards_sleep(void *wanted)
{
	char line[16];

	tool_read_line("/sys/module/vgpu_mock_nvidia/parameters/sleeping", line, sizeof(line));
	return atoi(line) == *(int *)wanted;
}

/* Begins calls of both drivers that sleep, as many as there are rooms. */
static void rooms_fill(struct __test_metadata *_metadata, FIXTURE_DATA(pin) *self)
{
	int i, wanted = ROOMS_LEFT;
	const uint64_t arg = 0;

	others_sleep(_metadata, self, ROOMS - ROOMS_LEFT);
	for (i = ROOMS - ROOMS_LEFT; i < ROOMS; i++) {
		struct lane *lane = &self->sleepers[i];

		ASSERT_TRUE(lane_begin(self, lane));
		ASSERT_TRUE(peer_ioctl_send(lane->fd, self->object, ++lane->seq,
					    VGPU_MOCK_NVIDIA_SLEEP, &arg, ADDR, sizeof(arg)));
	}
	ASSERT_TRUE(eventually(cards_sleep, &wanted, SLACK_MS));
}

static bool cancel(const struct lane *lane)
{
	const struct vgpu_hdr msg = {
		.len = htole32(sizeof(msg)),
		.type = htole16(VGPU_MSG_CANCEL),
		.seq = htole64(lane->seq),
	};

	return peer_send(lane->fd, &msg, sizeof(msg));
}

static bool begin_call(FIXTURE_DATA(pin) *self)
{
	const struct vgpu_mock_nvidia_pin pin = {};
	struct lane *lane = &self->lane;

	return peer_ioctl_send(lane->fd, self->object, ++lane->seq, VGPU_MOCK_NVIDIA_PIN, &pin,
			       ADDR, sizeof(pin));
}

/* Return: true if no answer comes for a moment, so the call waits. */
static bool it_waits(const FIXTURE_DATA(pin) *self)
{
	struct pollfd pfd = { .fd = self->lane.fd, .events = POLLIN };

	return !poll(&pfd, 1, FETCH_MS / 10);
}

#define NEEDS_KEYS() do { \
	if (tool_run("grep -qw ospke /proc/cpuinfo")->status) \
		SKIP(return, "the processor has no protection keys"); \
} while (0)

/* Calls of NVIDIA's driver have rooms, however many calls of other drivers sleep. */
TEST_F_TIMEOUT(pin, rooms_left, 240)
{
	int i;

	NEEDS_KEYS();
	others_sleep(_metadata, self, ROOMS);
	ASSERT_TRUE(begin_call(self));
	EXPECT_EQ(0, reply_of(self, &self->lane, FETCH_MS + SLACK_MS));
	/* The sleeping calls, and their lanes, are not affected. */
	for (i = 0; i < ROOMS; i++) {
		ASSERT_TRUE(cancel(&self->sleepers[i]));
		EXPECT_NE(INT64_MIN, reply_of(self, &self->sleepers[i], SLACK_MS));
	}
}

/* A call for which no room becomes free in time fails, and a later one gets a room. */
TEST_F_TIMEOUT(pin, no_room, 240)
{
	uint64_t start;
	int64_t result;

	NEEDS_KEYS();
	rooms_fill(_metadata, self);
	start = peer_now_ms();
	ASSERT_TRUE(begin_call(self));
	result = reply_of(self, &self->lane, FETCH_MS + SLACK_MS);
	EXPECT_EQ(-EBUSY, result);
	/* The host counts ticks: one that was late when the wait began shortens it by as much. */
	EXPECT_LE(FETCH_MS / 2, peer_now_ms() - start);
	EXPECT_TRUE(le32toh(answer.reply.flags) & VGPU_REPLY_REFUSED);
	ASSERT_TRUE(cancel(&self->sleepers[3]));
	EXPECT_NE(INT64_MIN, reply_of(self, &self->sleepers[3], SLACK_MS));
	ASSERT_TRUE(begin_call(self));
	EXPECT_EQ(0, reply_of(self, &self->lane, SLACK_MS));
}

/* A call goes on with the first room that becomes free. */
TEST_F_TIMEOUT(pin, room_comes_free, 240)
{
	NEEDS_KEYS();
	rooms_fill(_metadata, self);
	ASSERT_TRUE(begin_call(self));
	EXPECT_TRUE(it_waits(self));
	ASSERT_TRUE(cancel(&self->sleepers[ROOMS - 1]));
	EXPECT_EQ(0, reply_of(self, &self->lane, SLACK_MS));
	EXPECT_NE(INT64_MIN, reply_of(self, &self->sleepers[ROOMS - 1], SLACK_MS));
}

/* A call that waits for a room can be cancelled. */
TEST_F_TIMEOUT(pin, cancelled_without_a_room, 240)
{
	uint64_t start;

	NEEDS_KEYS();
	rooms_fill(_metadata, self);
	start = peer_now_ms();
	ASSERT_TRUE(begin_call(self));
	EXPECT_TRUE(it_waits(self));
	ASSERT_TRUE(cancel(&self->lane));
	EXPECT_EQ(-EINTR, reply_of(self, &self->lane, SLACK_MS));
	EXPECT_GT(FETCH_MS, peer_now_ms() - start);
	/* The lane serves the next call. */
	ASSERT_TRUE(cancel(&self->sleepers[0]));
	EXPECT_NE(INT64_MIN, reply_of(self, &self->sleepers[0], SLACK_MS));
	ASSERT_TRUE(begin_call(self));
	EXPECT_EQ(0, reply_of(self, &self->lane, SLACK_MS));
}

TEST_HARNESS_MAIN
