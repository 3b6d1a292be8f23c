// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest names memory that it may not have mapped: it binds, probes and unbinds ranges of
 * a window while they are in use, and makes pages writable.
 */
#include <sys/mman.h>

#include "hostile.h"

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
			nothing |= info->windows[i]->port == PORT && !info->windows[i]->bindings &&
				   !info->windows[i]->bound_bytes;
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

TEST_HARNESS_MAIN
