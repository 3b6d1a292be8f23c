// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest sends calls that make no sense, that name what it does not have, and that would
 * use addresses of the shadow.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "hostile.h"

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

/* A WRITE that names its buffer gives a driver nothing of the shadow's own, nor of the kernel's. */
TEST_F(hostile, writes_of_memory_of_the_shadow)
{
	uint64_t addrs[] = { 0, 0, 0, 0, 0xffff800000000000, 0, 0 }, base, size, seq = 1;
	struct peer_call call;
	char answer[512];
	uint32_t object;
	unsigned int i;
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	base = le64toh(self->peer.welcome.reserved_base);
	size = le64toh(self->peer.welcome.reserved_size);
	addrs[1] = base - 8;
	addrs[2] = base + 4096;
	addrs[3] = base + size - 8;
	addrs[5] = tool_shadow_args(tool_shadow_of("hostile"));
	ASSERT_NE(0, addrs[5]);
	addrs[6] = addrs[5] - 8;
	for (i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		peer_call_init(&call, VGPU_OP_WRITE, object, ++seq);
		call.msg.f_flags = htole32(O_RDWR);
		call.msg.args.write.addr = htole64(addrs[i]);
		call.msg.args.write.len = htole32(16);
		ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
		EXPECT_EQ(-EFAULT, peer_reply(lane, answer, sizeof(answer), SLACK_MS))
			TH_LOG("address %" PRIx64, addrs[i]);
	}
	close(lane);
}

/* Such a WRITE is malformed without the feature, which a host of an older release does not have. */
TEST_F(hostile, writes_by_name_without_the_feature)
{
	struct peer_call call;
	uint32_t object;
	int lane;

	ASSERT_EQ(0, peer_open_with(&self->peer, LOOPBACK, PORT,
				    VGPU_FEATURES & ~VGPU_FEATURE_WRITE_NAMED));
	EXPECT_EQ(0, le64toh(self->peer.welcome.features) & VGPU_FEATURE_WRITE_NAMED);
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	object = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, object);
	peer_call_init(&call, VGPU_OP_WRITE, object, 2);
	call.msg.f_flags = htole32(O_RDWR);
	call.msg.args.write.addr = htole64(0x10000000);
	call.msg.args.write.len = htole32(16);
	ASSERT_TRUE(peer_call_send(lane, &call, 0, 0));
	EXPECT_GE(peer_wait_eof(lane, SLACK_MS), 0);
	EXPECT_EQ(1, guest().counters.malformed);
	close(lane);
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

TEST_HARNESS_MAIN
