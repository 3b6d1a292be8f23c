// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest has the host's own threads allocate memory, and fills buffers that the kernel
 * charges to no control group. The memory is charged to the guest, or is bounded.
 */
#include "hostile_limits.h"

#define ROOT		"/sys/fs/cgroup"
#define SESSION		1

/* Finds the directory of the control group of the hostile guest's shadow. */
static bool group_dir(char dir[256])
{
	pid_t pid = tool_shadow_of("hostile");
	char path[64], line[200];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	tool_read_line(path, line, sizeof(line));
	snprintf(dir, 256, ROOT "%s", line + strcspn(line, "/"));
	return strstr(line, "guests/vgpu-guest-1-");
}

static long long read_number(const char *dir, const char *name)
{
	char path[300], line[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	tool_read_line(path, line, sizeof(line));
	return *line ? atoll(line) : -1;
}

#define NEEDS_GROUPS(dir) do { \
	if (access(ROOT "/cgroup.controllers", F_OK)) \
		SKIP(return, "needs control groups of version 2"); \
	ASSERT_TRUE(group_dir(dir)); \
} while (0)

/* Return: the driver's number of mmaps is larger than before. */
static bool more_mmaps(void *before)
{
	static struct vgpu_mock_counters now;
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	bool more = fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now) &&
		    now.out_mmaps > *(uint64_t *)before;

	*(uint64_t *)before = now.out_mmaps;
	close(fd);
	return more;
}

/* Starts an mmap whose driver takes a minute. Return: 0, or the step that failed. */
static int start_slow_mmap(int lane, uint32_t object)
{
	struct vgpu_mock_buf_create create = { .size = 4096, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range range = { .delay_ms = 60000, .seed = VGPU_MOCK_SLOW_MMAP };
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_buf_create create;
			char bytes[8192];
		};
	} answer;
	uint64_t offset, mmaps = 0;

	if (!peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_BUF_CREATE, &create, 0, sizeof(create)) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return 1;
	range.id = answer.create.out_id;
	offset = answer.create.out_offset;
	if (!mmap_send_for(lane, object, 3, 0x20000000, offset, 0, 0) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return 2;
	if (!peer_ioctl_send(lane, object, 4, VGPU_MOCK_IOC_BUF_SLOW, &range, 0, sizeof(range)) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return 3;
	more_mmaps(&mmaps);
	if (!mmap_send_for(lane, object, 5, 0x30000000, offset, 0, 0))
		return 4;
	/* The driver runs with the lock that unmaps take. */
	return eventually(more_mmaps, &mmaps, SLACK_MS) ? 0 : 5;
}

/* The number is below the limit of unmaps that a session may have, see vgpu_unmap_queue(). */
#define UNMAPS		12000

/*
 * The thread of the control connection takes UNMAPs in, which wait for an mmap of the shadow. Their
 * memory is charged to the guest.
 */
TEST_F_TIMEOUT(limits, unmaps_are_charged, 120)
{
	struct vgpu_unmap unmap = {
		.hdr.len = htole32(sizeof(unmap)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.session = htole64(SESSION),
		.addr = htole64(0x50000000),
		.len = htole64(4096),
	};
	struct vgpu_hdr pong;
	long long before, now;
	uint32_t object;
	char dir[256];
	int lane, i;

	if (tool_user_engine())
		SKIP(return, "all processes of a user-space engine are in the guest's group");
	HOST_BEGIN(&self->peer, lane, object);
	NEEDS_GROUPS(dir);
	ASSERT_EQ(0, start_slow_mmap(lane, object));
	before = read_number(dir, "memory.current");
	ASSERT_LT(0, before);
	for (i = 0; i < UNMAPS; i++) {
		unmap.hdr.seq = htole64(1 + i);
		ASSERT_TRUE(peer_send(self->peer.control, &unmap, sizeof(unmap)));
	}
	ASSERT_TRUE(peer_ping(&self->peer));
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_PONG, &pong, sizeof(pong)));
	now = read_number(dir, "memory.current");
	TH_LOG("%lld bytes more", now - before);
	/* Each takes more than the 40 bytes of its fields. */
	EXPECT_LT(UNMAPS * 40, now - before);
	close(lane);
}

/* The guest may have this many mappings and lanes, and unmaps every second page of one mapping. */
#define MAPPINGS	8
#define LANES		2
#define HOLES		150
#define PARTS_ADDR	0x40000000ULL
/* Most parts of mappings of a session: with the module, and with a user-space engine. */
#define PARTS_MODULE	(2 * MAPPINGS + 64)
#define PARTS_ENGINE	(MAPPINGS + (2 + VGPU_KEPT_MAX) * LANES + 2)

static bool set_limit(const char *limit)
{
	return !tool_run("vgpuctl limit %d:%d %s", LOOPBACK, PORT, limit)->status;
}

/* Maps a buffer in which HOLES pages have one behind them. Return: 0, or the step that failed. */
static int map_much(int lane, uint32_t object)
{
	struct vgpu_mock_buf_create create = {
		.size = (2 * HOLES + 1) * VGPU_PAGE_SIZE, .flavour = VGPU_MOCK_BUF_PFN,
	};
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_mock_buf_create create;
			char bytes[8192];
		};
	} answer;
	struct peer_call call;

	if (!peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_BUF_CREATE, &create, 0,
			     sizeof(create)) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return 1;
	peer_mmap_init(&call, object, 3, PARTS_ADDR, create.size, answer.create.out_offset,
		       PROT_READ | PROT_WRITE);
	if (!peer_call_send(lane, &call, 0, 0) ||
	    peer_reply(lane, &answer, sizeof(answer), SLACK_MS))
		return 2;
	return 0;
}

/* Makes a call that runs after control message @after. Return: its result was 0. */
static bool call_after(int lane, uint32_t object, uint64_t seq, uint64_t after)
{
	struct peer_call call;
	char answer[4096];

	peer_call_init(&call, VGPU_OP_IOCTL, object, seq);
	call.msg.control_seq = htole64(after);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_NOOP);
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_VALUE);
	return peer_call_send(lane, &call, 0, 0) &&
	       !peer_reply(lane, answer, sizeof(answer), SLACK_MS);
}

/*
 * Each UNMAP in the middle of a mapping makes one part more. The host does not have more parts than
 * it allows: the module ends such a session, and a shadow of the user-space engine leaves a hole in
 * the mapping.
 */
TEST_F_TIMEOUT(limits, parts_are_few, 120)
{
	const unsigned int most = tool_user_engine() ? PARTS_ENGINE : PARTS_MODULE;
	struct vgpu_unmap unmap = {
		.hdr.len = htole32(sizeof(unmap)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.session = htole64(SESSION),
		.len = htole64(VGPU_PAGE_SIZE),
	};
	unsigned int i, now, parts = 0;
	uint32_t object;
	int lane;

	ASSERT_TRUE(set_limit("mappings=8 lanes=2"));
	HOST_BEGIN(&self->peer, lane, object);
	ASSERT_EQ(0, map_much(lane, object));
	for (i = 0; i < HOLES; i++) {
		unmap.hdr.seq = htole64(1 + i);
		unmap.addr = htole64(PARTS_ADDR + (2 * i + 1) * VGPU_PAGE_SIZE);
		ASSERT_TRUE(peer_send(self->peer.control, &unmap, sizeof(unmap)));
		if (!call_after(lane, object, 4 + i, 1 + i))
			break;
		now = guest().counters.mappings;
		parts = now > parts ? now : parts;
	}
	EXPECT_LE(parts, most);
	/* Each hole but the last has left one part more than before. */
	EXPECT_EQ(tool_user_engine() ? HOLES : most - 1, i);
	EXPECT_LT(MAPPINGS, parts);
	close(lane);
	EXPECT_TRUE(set_limit("mappings= lanes="));
}

/* Return: number of bytes of reclaimable slabs, such as nodes of xarrays, that the group has. */
static long long slab_bytes(const char *dir)
{
	char path[300], line[100];
	long long bytes = -1;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	stream = fopen(path, "r");
	while (stream && bytes < 0 && fgets(line, sizeof(line), stream))
		sscanf(line, "slab_reclaimable %lld", &bytes);
	if (stream)
		fclose(stream);
	return bytes;
}

/* The pages fit into one call, and the limit of a session's pages is higher. */
#define FAR_PAGES	3800
/* Pages at this distance have no node of the table in common but the upper ones. */
#define FAR_DISTANCE	(1ULL << 34)
/* Least size of a node: it has 64 slots. */
#define NODE_BYTES	(64 * 8)

/* Sends a call whose driver sleeps for a minute, with pages that are far from each other. */
static bool send_far_pages(int lane, uint32_t object, uint64_t seq)
{
	struct msg {
		struct vgpu_call call;
		struct vgpu_seg segs[1 + FAR_PAGES];
		struct vgpu_mock_sleep sleep;
		char pages[FAR_PAGES * VGPU_PAGE_SIZE];
	} *msg = calloc(1, sizeof(*msg));
	bool sent;
	int i;

	if (!msg)
		return false;
	msg->call = (struct vgpu_call) {
		.hdr = {
			.len = htole32(sizeof(*msg)), .type = htole16(VGPU_MSG_CALL),
			.seq = htole64(seq),
		},
		.op = htole16(VGPU_OP_IOCTL),
		.object = htole32(object),
		.nr_segs = htole16(1 + FAR_PAGES),
		.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_SLEEP),
		.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
	};
	msg->segs[0].len = htole32(sizeof(msg->sleep));
	msg->segs[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	for (i = 1; i <= FAR_PAGES; i++) {
		msg->segs[i].addr = htole64(i * FAR_DISTANCE);
		msg->segs[i].len = htole32(VGPU_PAGE_SIZE);
		msg->segs[i].flags = htole32(VGPU_SEG_IN | VGPU_SEG_PAGE);
	}
	msg->sleep.ms = 60000;
	sent = peer_send(lane, msg, sizeof(*msg));
	free(msg);
	return sent;
}

struct slabs {
	const char *dir;
	long long before;
};

/* Return: each page has a node, which is charged to the group. The kernel counts with delay. */
static bool nodes_are_charged(void *data)
{
	const struct slabs *slabs = data;

	return slab_bytes(slabs->dir) - slabs->before > FAR_PAGES * NODE_BYTES;
}

/* The guest chooses the addresses of its pages, and so the size of the table that has them. */
TEST_F_TIMEOUT(limits, tables_of_pages_are_charged, 120)
{
	uint32_t object, before = sleeps();
	struct slabs slabs;
	char dir[256];
	int lane;

	if (tool_user_engine())
		SKIP(return, "all processes of a user-space engine are in the guest's group");
	HOST_BEGIN(&self->peer, lane, object);
	NEEDS_GROUPS(dir);
	slabs = (struct slabs) { .dir = dir, .before = slab_bytes(dir) };
	ASSERT_LE(0, slabs.before);
	ASSERT_TRUE(send_far_pages(lane, object, 2));
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	EXPECT_TRUE(eventually(nodes_are_charged, &slabs, SLACK_MS));
	TH_LOG("%lld bytes more", slab_bytes(dir) - slabs.before);
	close(lane);
}

static bool has_thread(const char *dir)
{
	char path[300], comm[32];
	bool found = false;
	FILE *stream;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	stream = fopen(path, "r");
	while (stream && !found && fscanf(stream, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		tool_read_line(path, comm, sizeof(comm));
		found = !strncmp(comm, "vgpu-peer/", strlen("vgpu-peer/"));
	}
	if (stream)
		fclose(stream);
	return found;
}

static bool no_such_dir(void *dir)
{
	return access(dir, F_OK);
}

/* The thread of the control connection runs in the guest's group, which is removed in the end. */
TEST_F_TIMEOUT(limits, thread_is_the_guests, 120)
{
	uint32_t object;
	char dir[256];
	int lane;

	HOST_BEGIN(&self->peer, lane, object);
	NEEDS_GROUPS(dir);
	if (!tool_user_engine())
		EXPECT_TRUE(has_thread(dir));
	close(lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_such_dir, dir, SLACK_MS));
}

/*
 * Sends to a lane whose thread sleeps in the driver, until the host's buffer is full. Return:
 * number of bytes that the buffer has taken.
 */
static long fill(int lane, uint32_t object, uint64_t seq)
{
	struct vgpu_mock_sleep sleep = {
		.ms = 4000,
		.mode = VGPU_MOCK_SLEEP_UNINTERRUPTIBLE,
	};
	unsigned long long size = 4 << 20;
	uint32_t before = sleeps();
	static char bytes[4096];
	long total = 0;
	ssize_t sent;
	int tries;

	/* The sender's own buffer limits what it sends, too. */
	if (setsockopt(lane, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE, &size, sizeof(size)) ||
	    setsockopt(lane, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &size, sizeof(size)) ||
	    !peer_ioctl_send(lane, object, seq, VGPU_MOCK_IOC_SLEEP, &sleep, 0x1000000, sizeof(sleep)) ||
	    !eventually(more_sleeps, &before, SLACK_MS))
		return -1;
	/* The other end's report of how much it has taken may come late. */
	for (tries = 0; tries < 20; tries++) {
		while ((sent = send(lane, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
			total += sent;
		usleep(20000);
	}
	return total;
}

/* Returns 2% of the machine's memory, the default of the setting "buffers". */
static long long buffers(void)
{
	long long total = 0;
	FILE *stream = fopen("/proc/meminfo", "r");

	if (stream && fscanf(stream, "MemTotal: %lld kB", &total) != 1)
		total = 0;
	if (stream)
		fclose(stream);
	return total * 1024 / 50;
}

/* Some lanes have large buffers. All others have small ones. */
TEST_F_TIMEOUT(limits, large_buffers_are_few, 120)
{
	/* The default of buffer-size is 1 MiB. */
	int large = buffers() >> 20, nr = large + 3, *lanes = calloc(nr, sizeof(*lanes)), i;
	uint32_t object;
	long took;

	ASSERT_NE(NULL, lanes);
	ASSERT_LT(nr, 128);
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	for (i = 0; i < nr; i++) {
		lanes[i] = peer_lane(&self->peer, SESSION);
		ASSERT_GE(lanes[i], 0);
	}
	object = peer_open_device(&self->peer, lanes[0], 1);
	ASSERT_NE(0, object);
	took = fill(lanes[0], object, 2);
	EXPECT_LT(512 << 10, took) TH_LOG("%ld", took);
	took = fill(lanes[nr - 1], object, 1);
	EXPECT_GT(32 << 10, took) TH_LOG("%ld", took);
	EXPECT_LT(0, took);
	for (i = 0; i < nr; i++)
		close(lanes[i]);
	free(lanes);
}

TEST_HARNESS_MAIN
