// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests play a hostile guest with an arena: the end of a window, which has slots for long
 * messages of lanes (Documentation/window.rst). This program has mapped its own window, as a
 * hypervisor does for its guest, so it can write anything to the slots of its lanes at any
 * time. See hostile.c for where the tests run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/mman.h>

#include "hostile_host.h"
#include "vgpu_mock_pattern.h"

#include "kselftest_harness.h"

#define WINDOW		"/dev/vgpu-window-1-22600"
#define SIZE		(128UL << 20)
#define SLOTS		8U		/* slots of a window of SIZE */
#define SESSION_SLOTS	4		/* limit of slots for one session */
#define ARENA		(SIZE - SLOTS * VGPU_ARENA_SLOT)
#define TWIN(cmd)	((cmd) | VGPU_MOCK_UNDESCRIBED_BIT)
#define KIB		1024UL

/* Sets the length from which the host's messages go through the slot. */
static bool set_least(unsigned int bytes)
{
	FILE *file = fopen("/sys/module/vgpu_host/parameters/arena_min", "w");

	return file && fprintf(file, "%u", bytes) > 0 && !fclose(file);
}

FIXTURE(arena) {
	struct peer peer;
	uint64_t files;
	uint64_t id;			/* number of the window */
	uint64_t slots;			/* number of slots that the host reports */
	unsigned char *window;
	int lane;
	uint32_t object;
	uint64_t seq;
};

/* Connects a guest with @features, and makes its window and a lane that has opened the mock. */
static bool begin(FIXTURE_DATA(arena) *self, uint64_t features)
{
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	int fd;

	if (peer_open_with(&self->peer, LOOPBACK, PORT, features) ||
	    window_command("create", "--size 128M") ||
	    !control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)))
		return false;
	self->id = le64toh(msg.info.window);
	self->slots = le32toh(msg.info.slots);
	fd = open(WINDOW, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	self->window = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	self->lane = peer_lane(&self->peer, 1);
	if (self->window == MAP_FAILED || self->lane < 0)
		return false;
	self->seq = 1;
	self->object = peer_open_device(&self->peer, self->lane, self->seq);
	return self->object;
}

FIXTURE_SETUP(arena)
{
	memset(self, 0, sizeof(*self));
	NEEDS_HOST();
	ASSERT_TRUE(set_least(128 * KIB));
	window_command("destroy", "--force 2>/dev/null");
	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	self->peer.control = -1;
	self->lane = -1;
	ASSERT_TRUE(witness());
	self->files = files_at_rest();
}

FIXTURE_TEARDOWN(arena)
{
	if (!real_path)
		return;
	close(self->lane);
	peer_close(&self->peer);
	/* All of this guest's state is gone, and other guests work as before. */
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	if (self->window)
		munmap(self->window, SIZE);
	window_command("destroy", "--force");
	unexport("hostile");
	set_least(128 * KIB);
}

static bool get_send(int lane, uint64_t seq, uint64_t window, uint32_t slot)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_ARENA_GET, 0, seq);
	call.msg.args.arena.window = htole64(window);
	call.msg.args.arena.slot = htole32(slot);
	return peer_call_send(lane, &call, 0, 0);
}

/* Asks for a slot, and stores its number in @id. Return: the call's result. */
static int64_t get(int lane, uint64_t seq, uint64_t window, uint32_t slot, uint64_t *id)
{
	struct vgpu_reply reply;
	int64_t result;

	if (!get_send(lane, seq, window, slot))
		return INT64_MIN;
	result = peer_reply(lane, &reply, sizeof(reply), SLACK_MS);
	*id = le64toh(reply.out.arena.id);
	return result;
}

static unsigned char *slot_of(const FIXTURE_DATA(arena) *self, uint32_t slot)
{
	return self->window + ARENA + (size_t)slot * VGPU_ARENA_SLOT;
}

static uint64_t id_now(const FIXTURE_DATA(arena) *self, uint32_t slot)
{
	const struct vgpu_window_header *header = (const void *)self->window;

	return le64toh(header->slots[slot]);
}

/* Polls until no lane has the slot. Return: false if it takes too long. */
static bool is_given_up(const FIXTURE_DATA(arena) *self, uint32_t slot)
{
	uint64_t end = peer_now_ms() + SLACK_MS;

	while (id_now(self, slot)) {
		if (peer_now_ms() > end)
			return false;
		usleep(5000);
	}
	/* The host clears the number a moment before it releases the slot. */
	usleep(100000);
	return true;
}

/* Polls until no lane has the slot and its contents are cleared. */
static bool is_emptied(const FIXTURE_DATA(arena) *self, uint32_t slot)
{
	uint64_t end = peer_now_ms() + SLACK_MS;

	if (!is_given_up(self, slot))
		return false;
	while (!vgpu_mock_is_zero(slot_of(self, slot), VGPU_ARENA_SLOT)) {
		if (peer_now_ms() > end)
			return false;
		usleep(5000);
	}
	return true;
}

/*
 * Fills in what follows the fixed part of a LARGE_* call: two segments, a fixup, the argument,
 * and the bytes of an IN segment. Return: the number of bytes.
 */
static size_t large_fill(unsigned char *to, size_t length, uint64_t seed, uint32_t flags)
{
	struct vgpu_mock_large large = { .length = length, .seed = seed };
	struct vgpu_seg segs[2] = {
		{ .len = htole32(sizeof(large)), .flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT) },
		{ .len = htole32(length), .flags = htole32(flags) },
	};
	struct vgpu_fixup fixup = { .type = htole16(VGPU_FIXUP_PTR), .target = htole32(1) };

	memcpy(to, segs, sizeof(segs));
	memcpy(to + sizeof(segs), &fixup, sizeof(fixup));
	to += sizeof(segs) + sizeof(fixup);
	memcpy(to, &large, sizeof(large));
	if (flags & VGPU_SEG_IN)
		vgpu_mock_pattern(to + sizeof(large), length, seed, 0);
	return sizeof(segs) + sizeof(fixup) + sizeof(large) +
	       (flags & VGPU_SEG_IN ? (length + 7) & ~7UL : 0);
}

/* Sends the fixed part of a call that has its other @rest bytes in the slot. */
static bool slot_call_send(int lane, uint32_t object, uint64_t seq, uint32_t cmd,
			   unsigned int segs, unsigned int fixups, size_t rest)
{
	struct vgpu_call call = {
		.hdr = {
			.len = htole32(sizeof(call) + rest), .type = htole16(VGPU_MSG_CALL),
			.flags = htole16(VGPU_HDR_ARENA), .seq = htole64(seq),
		},
		.op = htole16(VGPU_OP_IOCTL),
		.object = htole32(object),
		.nr_segs = htole16(segs),
		.nr_fixups = htole16(fixups),
		.args.ioctl.cmd = htole32(cmd),
		.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
	};

	return peer_send(lane, &call, sizeof(call));
}

/*
 * Receives the part of a message that is sent on the socket. Return: the length of the message
 * with the part in the slot, PEER_EOF or PEER_SILENT.
 */
static ssize_t slot_recv_in(int lane, void *buf, size_t size, int timeout_ms)
{
	struct vgpu_hdr *hdr = buf;
	size_t sent, len;
	bool silent;

	if (!peer_read(lane, hdr, sizeof(*hdr), timeout_ms, &silent))
		return silent ? PEER_SILENT : PEER_EOF;
	len = le32toh(hdr->len);
	sent = len;
	if (hdr->flags)
		sent = peer_type(hdr) == VGPU_MSG_REPLY ? sizeof(struct vgpu_reply) :
			sizeof(struct vgpu_writeback);
	if (sent > size || !peer_read(lane, hdr + 1, sent - sizeof(*hdr), SLACK_MS, &silent))
		return PEER_EOF;
	return len;
}

static ssize_t slot_recv(int lane, void *buf, size_t size)
{
	return slot_recv_in(lane, buf, size, SLACK_MS);
}

union answer {
	struct vgpu_hdr hdr;
	struct vgpu_fetch fetch;
	struct vgpu_reply reply;
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_large large;
	} large;
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_locked locked;
	} locked;
	char bytes[8192];
};

/* Returns the sum of the pattern. */
static uint64_t sum_of(size_t length, uint64_t seed)
{
	unsigned char *data = malloc(length);
	uint64_t sum;

	vgpu_mock_pattern(data, length, seed, 0);
	sum = vgpu_mock_sum(VGPU_MOCK_SUM_INIT, data, length);
	free(data);
	return sum;
}

TEST_F(arena, through_a_slot)
{
	const size_t length = 300 * KIB;
	unsigned char *expected = malloc(length);
	union answer answer;
	uint64_t id;
	size_t rest;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	EXPECT_EQ(SLOTS, self->slots);
	ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, 3, &id));
	EXPECT_NE(0, id);
	EXPECT_EQ(id, id_now(self, 3));
	EXPECT_TRUE(vgpu_mock_is_zero(slot_of(self, 3), VGPU_ARENA_SLOT));
	rest = large_fill(slot_of(self, 3), length, 9, VGPU_SEG_IN);
	ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_LARGE_IN,
				   2, 1, rest));
	ASSERT_LT(0, slot_recv(self->lane, &answer, sizeof(answer)));
	EXPECT_EQ(VGPU_MSG_REPLY, peer_type(&answer));
	EXPECT_EQ(0, answer.hdr.flags);
	EXPECT_EQ(0, answer.reply.result);
	EXPECT_EQ(sum_of(length, 9), answer.large.large.out_sum);
	/* A message of the least length goes through the slot as well. */
	rest = large_fill(slot_of(self, 3), 0, 77, VGPU_SEG_IN);
	ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_LARGE_IN,
				   2, 1, rest));
	ASSERT_LT(0, slot_recv(self->lane, &answer, sizeof(answer)));
	EXPECT_EQ(0, answer.reply.result);
	/* The reply's bytes come through the slot too. */
	rest = large_fill(slot_of(self, 3), length, 11, VGPU_SEG_OUT);
	ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_LARGE_OUT,
				   2, 1, rest));
	ASSERT_EQ(sizeof(struct vgpu_reply) + sizeof(struct vgpu_mock_large) + length,
		  slot_recv(self->lane, &answer, sizeof(answer)));
	EXPECT_EQ(VGPU_HDR_ARENA, le16toh(answer.hdr.flags));
	EXPECT_EQ(0, answer.reply.result);
	vgpu_mock_pattern(expected, length, 11, 0);
	EXPECT_EQ(0, memcmp(slot_of(self, 3) + sizeof(struct vgpu_mock_large), expected, length));
	/* The slot is released with its lane. */
	close(self->lane);
	self->lane = -1;
	EXPECT_TRUE(is_emptied(self, 3));
	free(expected);
}

TEST_F(arena, slots_it_may_not_have)
{
	uint64_t id, seq = 2, end = peer_now_ms() + SLACK_MS;
	int lanes[SESSION_SLOTS], other, i;
	int64_t got;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	EXPECT_EQ(-ENODEV, get(self->lane, ++self->seq, self->id + 1, 0, &id));
	EXPECT_EQ(-EINVAL, get(self->lane, ++self->seq, self->id, SLOTS, &id));
	EXPECT_EQ(-EINVAL, get(self->lane, ++self->seq, self->id, VGPU_ARENA_SLOTS_MAX - 1, &id));
	EXPECT_EQ(0, get(self->lane, ++self->seq, self->id, 0, &id));
	/* A lane can have one slot, and a slot one lane. */
	EXPECT_EQ(-EEXIST, get(self->lane, ++self->seq, self->id, 1, &id));
	other = peer_lane(&self->peer, 2);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EBUSY, get(other, 1, self->id, 0, &id));
	EXPECT_EQ(0, get(other, 2, self->id, 1, &id));
	/* A session gets at most SESSION_SLOTS slots, which leaves some to others. */
	for (i = 1; i < SESSION_SLOTS; i++) {
		lanes[i] = peer_lane(&self->peer, 1);
		ASSERT_LE(0, lanes[i]);
		EXPECT_EQ(0, get(lanes[i], 1, self->id, 1 + i, &id));
	}
	lanes[0] = peer_lane(&self->peer, 1);
	ASSERT_LE(0, lanes[0]);
	EXPECT_EQ(-EMFILE, get(lanes[0], 1, self->id, 7, &id));
	close(lanes[1]);
	EXPECT_TRUE(is_given_up(self, 2));
	do {
		got = get(lanes[0], seq++, self->id, 7, &id);
	} while (got == -EMFILE && peer_now_ms() < end);
	EXPECT_EQ(0, got);
	/* No lane gets a slot of a window that is being drained. */
	ASSERT_EQ(0, window_command("drain", ""));
	close(lanes[2]);
	EXPECT_TRUE(is_given_up(self, 3));
	lanes[1] = peer_lane(&self->peer, 3);
	ASSERT_LE(0, lanes[1]);
	EXPECT_EQ(-ENODEV, get(lanes[1], 1, self->id, 3, &id));
	close(lanes[0]);
	close(lanes[1]);
	close(lanes[3]);
	close(other);
}

/* The host binds no mapping where the slots are. */
TEST_F(arena, mappings_in_it)
{
	struct vgpu_mock_buf_create create = { .size = 8192 };
	struct {
		struct vgpu_reply reply;
		struct vgpu_mock_buf_create create;
	} answer;
	static const uint64_t places[] = { ARENA - 4096, ARENA, SIZE - 8192, ARENA - 8192 };
	struct peer_call call;
	unsigned int i;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	ASSERT_TRUE(peer_ioctl_send(self->lane, self->object, ++self->seq,
				    VGPU_MOCK_IOC_BUF_CREATE, &create, 0, sizeof(create)));
	ASSERT_EQ(0, peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS));
	create = answer.create;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		peer_mmap_init(&call, self->object, ++self->seq, 0x20000000 + i * 0x10000, 8192,
			       create.out_offset, PROT_READ | PROT_WRITE);
		call.msg.args.mmap.window = htole64(self->id);
		call.msg.args.mmap.window_offset = htole64(places[i]);
		ASSERT_TRUE(peer_call_send(self->lane, &call, 0, 0));
		ASSERT_EQ(0, peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS));
		EXPECT_EQ(i == 3 ? VGPU_MAP_WINDOW : 0,
			  le32toh(answer.reply.out.mmap.flags) & VGPU_MAP_WINDOW)
			TH_LOG("at %" PRIx64, places[i]);
	}
}

/*
 * Messages that claim to be in a slot are malformed if the lane has no slot, or if they cannot
 * be in one.
 */
TEST_F(arena, messages_that_make_no_sense)
{
	struct {
		struct vgpu_call call;
		unsigned char rest[256];
	} msg;
	unsigned int i;
	uint64_t id;
	size_t rest;
	int lane;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	for (i = 0; i < 9; i++) {
		ASSERT_TRUE(peer_ping(&self->peer));
		lane = peer_lane(&self->peer, 10 + i);
		ASSERT_LE(0, lane);
		if (i)
			ASSERT_EQ(0, get(lane, 1, self->id, i % SLOTS, &id)) TH_LOG("case %u", i);
		rest = large_fill(slot_of(self, i % SLOTS), 64, i, VGPU_SEG_IN);
		memset(&msg, 0, sizeof(msg));
		msg.call.hdr.type = htole16(VGPU_MSG_CALL);
		msg.call.hdr.len = htole32(sizeof(msg.call) + rest);
		msg.call.hdr.flags = htole16(VGPU_HDR_ARENA);
		msg.call.hdr.seq = htole64(2);
		msg.call.op = htole16(VGPU_OP_IOCTL);
		msg.call.object = htole32(self->object);
		msg.call.nr_segs = htole16(2);
		msg.call.nr_fixups = htole16(1);
		msg.call.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_LARGE_IN);
		msg.call.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
		switch (i) {
		case 0:		/* lane without a slot: another lane's bytes are not read */
			msg.call.hdr.seq = htole64(1);
			break;
		case 1:		/* no bytes in the slot */
			msg.call.hdr.len = htole32(sizeof(msg.call));
			break;
		case 2:		/* more bytes than a slot has */
			msg.call.hdr.len = htole32(sizeof(msg.call) + VGPU_ARENA_SLOT + 8);
			break;
		case 3:		/* more bytes than any message has */
			msg.call.hdr.len = htole32(0xfffffff8);
			break;
		case 4:		/* unknown flag */
			msg.call.hdr.flags = htole16(VGPU_HDR_ARENA | 2);
			break;
		case 5:		/* more bytes than the segments have */
			msg.call.hdr.len = htole32(sizeof(msg.call) + rest + 8);
			break;
		case 6:		/* segment lengths in the slot beyond any limit */
			memset(slot_of(self, 6), 0xff, 4096);
			break;
		case 7:		/* message type without bytes */
			msg.call.hdr.type = htole16(VGPU_MSG_CANCEL);
			msg.call.hdr.len = htole32(16);
			msg.call.hdr.seq = htole64(1);
			break;
		case 8:		/* answer to no FETCH */
			msg.call.hdr.type = htole16(VGPU_MSG_FETCHED);
			msg.call.hdr.seq = htole64(1);
			break;
		}
		ASSERT_TRUE(peer_send(lane, &msg, i == 7 ? sizeof(msg.call.hdr) : sizeof(msg.call)));
		EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(lane);
	}
	EXPECT_LE(9, guest().counters.malformed);
	lane = peer_lane(&self->peer, 30);
	ASSERT_LE(0, lane);
	ASSERT_TRUE(get_send(lane, 1, self->id, VGPU_ARENA_SLOTS_MAX));
	EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0);
	close(lane);
}

TEST_F(arena, without_the_feature)
{
	unsigned int i;

	ASSERT_TRUE(begin(self, VGPU_FEATURES & ~VGPU_FEATURE_ARENA));
	EXPECT_EQ(VGPU_FEATURES & ~(VGPU_FEATURE_ARENA | VGPU_FEATURE_KEEP |
				    VGPU_FEATURE_KEEP_ALONE),
		  le64toh(self->peer.welcome.features));
	EXPECT_EQ(0, self->slots);
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(i ? slot_call_send(self->lane, self->object, self->seq + 1,
					       VGPU_MOCK_IOC_LARGE_IN, 2, 1, 128) :
				get_send(self->lane, self->seq + 1, self->id, 0));
		EXPECT_GE(peer_wait_eof(self->lane, SLACK_MS), 0);
		close(self->lane);
		self->lane = peer_lane(&self->peer, 1);
		ASSERT_LE(0, self->lane);
		self->seq = 0;
	}
	EXPECT_EQ(2, guest().counters.malformed);
}

/*
 * The host uses the bytes that the slot had when the host took the message, during the whole
 * call.
 */
TEST_F(arena, changed_after_it_was_taken)
{
	struct vgpu_mock_locked locked = {
		.in_ptr = 0x10000000, .out_ptr = 0x20000000, .length = 64, .out_waited_us = 0,
	};
	struct vgpu_seg seg = {
		.len = htole32(sizeof(locked)), .flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT),
	};
	struct {
		struct vgpu_fetched msg;
		unsigned char page[VGPU_PAGE_SIZE];
	} fetched = { };
	struct vgpu_written written = {
		.hdr.len = htole32(sizeof(written)), .hdr.type = htole16(VGPU_MSG_WRITTEN),
	};
	unsigned int least, i, fetches = 0, written_back = 0;
	unsigned char *slot, *bytes;
	union answer answer;
	uint64_t id;
	ssize_t len;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, 5, &id));
	slot = slot_of(self, 5);
	/*
	 * The host's own messages come by the socket in the first round, and through the slot
	 * in the second.
	 */
	for (least = 0; least < 2; least++) {
		ASSERT_TRUE(set_least(least ? 1 : 128 * KIB));
		memcpy(slot, &seg, sizeof(seg));
		memcpy(slot + sizeof(seg), &locked, sizeof(locked));
		ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq,
					   TWIN(VGPU_MOCK_IOC_LOCKED), 1, 0,
					   sizeof(seg) + sizeof(locked)));
		while ((len = slot_recv(self->lane, &answer, sizeof(answer))) > 0 &&
		       peer_type(&answer) != VGPU_MSG_REPLY) {
			if (peer_type(&answer) == VGPU_MSG_FETCH) {
				fetched.msg.hdr.len = htole32(sizeof(fetched));
				fetched.msg.hdr.type = htole16(VGPU_MSG_FETCHED);
				fetched.msg.hdr.flags = htole16(VGPU_HDR_ARENA);
				fetched.msg.hdr.seq = answer.hdr.seq;
				fetched.msg.len = htole32(VGPU_PAGE_SIZE);
				ASSERT_EQ(VGPU_PAGE_SIZE, le32toh(answer.fetch.len));
				/*
				 * The slot had other contents from when the host took the call
				 * until here.
				 */
				memset(slot, 0xa5, VGPU_ARENA_SLOT);
				for (i = 0; i < VGPU_PAGE_SIZE; i++)
					slot[i] = le64toh(answer.fetch.addr) == locked.in_ptr ?
						i : 0x33;
				ASSERT_TRUE(peer_send(self->lane, &fetched.msg,
						      sizeof(fetched.msg)));
				fetches++;
				continue;
			}
			ASSERT_EQ(VGPU_MSG_WRITEBACK, peer_type(&answer));
			EXPECT_EQ(least ? VGPU_HDR_ARENA : 0, le16toh(answer.hdr.flags));
			bytes = least ? slot : (unsigned char *)answer.bytes +
				sizeof(struct vgpu_writeback);
			EXPECT_EQ(locked.out_ptr, le64toh(((struct vgpu_range *)bytes)->addr));
			EXPECT_EQ(64, le32toh(((struct vgpu_range *)bytes)->len));
			for (i = 0; i < 64; i++)
				ASSERT_EQ((unsigned char)~i, bytes[sizeof(struct vgpu_range) + i])
					TH_LOG("byte %u", i);
			memset(slot, 0x5a, VGPU_ARENA_SLOT);
			written.hdr.seq = answer.hdr.seq;
			ASSERT_TRUE(peer_send(self->lane, &written, sizeof(written)));
			written_back++;
		}
		ASSERT_LT(0, len);
		EXPECT_EQ(0, answer.reply.result);
		EXPECT_EQ(sizeof(struct vgpu_reply) + sizeof(locked), le32toh(answer.hdr.len));
		if (least) {
			EXPECT_EQ(VGPU_HDR_ARENA, le16toh(answer.hdr.flags));
			memcpy(&answer.locked.locked, slot, sizeof(locked));
		}
		EXPECT_EQ(locked.in_ptr, answer.locked.locked.in_ptr);
		EXPECT_EQ(64, answer.locked.locked.length);
	}
	EXPECT_LE(4, fetches);
	EXPECT_EQ(2, written_back);
}

static volatile bool scribble_stop;

/* Rewrites a call in the slot all the time, as a correct one and as wrong ones in turn. */
static void *scribble(void *data)
{
	struct vgpu_seg *segs = data;
	struct vgpu_fixup *fixup = (void *)(segs + 2);
	struct vgpu_mock_large *large = (void *)(fixup + 1);
	uint32_t len = le32toh(segs[1].len), i;

	for (i = 0; !scribble_stop; i++) {
		*(volatile __le32 *)&segs[1].len = htole32(i & 1 ? len : 0x7ffffff8);
		*(volatile __le32 *)&fixup->target = htole32(i & 2 ? 1 : 0xffff);
		*(volatile __le32 *)&segs[0].flags = htole32(i & 4 ? 3 : 7);
		*(volatile __u64 *)&large->length = i & 8 ? len : len / 2;
	}
	*(volatile __le32 *)&segs[1].len = htole32(len);
	return NULL;
}

TEST_F_TIMEOUT(arena, changed_while_it_is_taken, 120)
{
	uint64_t end, id;
	unsigned int good = 0, bad = 0;
	unsigned char *slot;
	union answer answer;
	pthread_t thread;
	size_t rest;
	ssize_t len;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	end = peer_now_ms() + (getenv("VGPU_TIMES") ? 2000 : 8000);
	while (!bad || peer_now_ms() < end) {
		ASSERT_TRUE(peer_ping(&self->peer));
		ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, 2, &id));
		slot = slot_of(self, 2);
		rest = large_fill(slot, 256 * KIB, 5, VGPU_SEG_IN);
		scribble_stop = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, slot));
		do {
			ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq,
						   VGPU_MOCK_IOC_LARGE_IN, 2, 1, rest));
			len = slot_recv(self->lane, &answer, sizeof(answer));
			/* The host has taken a correct call, or has found it malformed. */
			if (len > 0) {
				ASSERT_EQ(0, answer.reply.result);
				ASSERT_EQ(sizeof(answer.large), len);
				good++;
			}
		} while (len > 0 && (!bad || peer_now_ms() < end));
		scribble_stop = true;
		pthread_join(thread, NULL);
		bad += len <= 0;
		close(self->lane);
		ASSERT_TRUE(is_given_up(self, 2));
		self->lane = peer_lane(&self->peer, 1);
		ASSERT_LE(0, self->lane);
		self->seq = 0;
	}
	TH_LOG("%u calls went, %u did not", good, bad);
	EXPECT_LT(0, bad);
	EXPECT_EQ(bad, guest().counters.malformed);
}

/*
 * The reply after a late upcall does not go through the slot, which another lane may have by
 * then.
 */
TEST_F_TIMEOUT(arena, last_reply, 120)
{
	struct vgpu_mock_locked locked = {
		.in_ptr = 0x10000000, .out_ptr = 0x20000000, .length = 64,
	};
	union answer answer;
	uint64_t id;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	ASSERT_TRUE(set_least(1));
	ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, 0, &id));
	ASSERT_TRUE(peer_ioctl_send(self->lane, self->object, ++self->seq,
				    TWIN(VGPU_MOCK_IOC_LOCKED), &locked, 0x30000000,
				    sizeof(locked)));
	ASSERT_LT(0, slot_recv(self->lane, &answer, sizeof(answer)));
	ASSERT_EQ(VGPU_MSG_FETCH, peer_type(&answer));
	ASSERT_LT(0, slot_recv_in(self->lane, &answer, sizeof(answer), FETCH_MS + SLACK_MS));
	ASSERT_EQ(VGPU_MSG_REPLY, peer_type(&answer));
	EXPECT_EQ(VGPU_REPLY_LAST, le32toh(answer.reply.flags));
	EXPECT_EQ(0, answer.hdr.flags);
	EXPECT_EQ(-EFAULT, (int64_t)le64toh(answer.reply.result));
}

/* The slot is cleared however its lane ends while a message is in it. */
TEST_F_TIMEOUT(arena, ends_in_the_middle, 120)
{
	struct vgpu_mock_sleep sleep = { .ms = 60000 };
	unsigned int i, times = getenv("VGPU_TIMES") ? 8 : 24;
	struct vgpu_seg seg = {
		.len = htole32(sizeof(sleep)), .flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT),
	};
	struct vgpu_call half = {
		.hdr = {
			.len = htole32(sizeof(half) + 4096), .type = htole16(VGPU_MSG_CALL),
			.flags = htole16(VGPU_HDR_ARENA),
		},
	};
	unsigned char *slot;
	uint64_t id;

	ASSERT_TRUE(begin(self, VGPU_FEATURES));
	for (i = 0; i < times; i++) {
		ASSERT_TRUE(peer_ping(&self->peer));
		ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, i % SLOTS, &id));
		slot = slot_of(self, i % SLOTS);
		memset(slot, 0x99, VGPU_ARENA_SLOT);
		switch (i % 3) {
		case 0:		/* half of a message is sent */
			half.hdr.seq = htole64(++self->seq);
			ASSERT_TRUE(peer_send(self->lane, &half, sizeof(half.hdr) + 8));
			break;
		case 1:		/* the driver runs the call */
			memcpy(slot, &seg, sizeof(seg));
			memcpy(slot + sizeof(seg), &sleep, sizeof(sleep));
			ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq,
						   VGPU_MOCK_IOC_SLEEP, 1, 0,
						   sizeof(seg) + sizeof(sleep)));
			break;
		case 2:		/* the host sends the reply */
			large_fill(slot, 800 * KIB, i, VGPU_SEG_OUT);
			ASSERT_TRUE(slot_call_send(self->lane, self->object, ++self->seq,
						   VGPU_MOCK_IOC_LARGE_OUT, 2, 1, 80));
			break;
		}
		usleep(i * 7919 % 30000);
		close(self->lane);
		EXPECT_TRUE(is_emptied(self, i % SLOTS)) TH_LOG("round %u", i);
		self->lane = peer_lane(&self->peer, 1 + i % 2);
		ASSERT_LE(0, self->lane);
		self->seq = 0;
	}
	/* The guest's connection ends at last. */
	ASSERT_EQ(0, get(self->lane, ++self->seq, self->id, 0, &id));
	memset(slot_of(self, 0), 0x99, VGPU_ARENA_SLOT);
	peer_close(&self->peer);
	EXPECT_TRUE(is_emptied(self, 0));
}

TEST_HARNESS_MAIN
