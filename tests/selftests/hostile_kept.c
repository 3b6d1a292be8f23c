// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest names memory that devices are to keep (KEPT segments), with either engine.
 * The test is the guest and the guest's hypervisor as well: the guest's memory is a file that
 * the test has mapped, so the test can check where a driver writes.
 *
 * The tests run where those of hostile.h do.
 */
#include <linux/memfd.h>
#include <linux/vgpu_host.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/un.h>

#include "agent.h"
#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock.h"
#include "vgpu_mock_pattern.h"

#include "kselftest_harness.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))
#define PAGE		4096ULL
/* The guest's memory begins at this physical address. Most of it is never accessed. */
#define RAM_AT		(4ULL << 30)
#define RAM_LEN		(64ULL << 30)
/* The test maps and checks this much of the memory. */
#define RAM_SEEN	(512ULL << 20)
/* The program has its kept memory at this address. */
#define ADDR		0x200000000000ULL
/* This is vgpud's default (vgpud.conf) for the kept memory of one connection. */
#define KEPT_BYTES	(16ULL << 30)
#define SEED		5
#define RUNS_MAX	40000
/* The longest call may take this time on a busy machine. */
#define REPLY_MS	120000
#define MAPS_FEW	4096
#define MAP_COUNT	"/proc/sys/vm/max_map_count"
#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"

/* --- the hypervisor ------------------------------------------------------- */

#define VHOST_SET_PROTOCOL	16
#define VHOST_ADD_MEM		37
#define VHOST_REM_MEM		38
#define VHOST_FEATURES		(1ULL << 3 | 1ULL << 5 | 1ULL << 9 | 1ULL << 10 | 1ULL << 15 | \
				 1ULL << 22)
/* The flags are the version and the request of an answer. */
#define VHOST_FLAGS		(1 | 1 << 3)

struct vhost_memory {
	uint64_t padding;
	uint64_t addr;
	uint64_t len;
	uint64_t user;
	uint64_t offset;
};

/* Sends a request with a file, or without one if @fd is -1, and waits for the answer. */
static bool vhost_say(int sock, uint32_t request, const void *payload, uint32_t len, int fd)
{
	struct {
		uint32_t request;
		uint32_t flags;
		uint32_t len;
		uint8_t payload[64];
	} msg = { .request = request, .flags = VHOST_FLAGS, .len = len };
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(fd))];
	} control = {
		.hdr.cmsg_level = SOL_SOCKET,
		.hdr.cmsg_type = SCM_RIGHTS,
		.hdr.cmsg_len = CMSG_LEN(sizeof(fd)),
	};
	struct iovec iov = { .iov_base = &msg, .iov_len = 12 + len };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool silent;

	memcpy(msg.payload, payload, len);
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	return sendmsg(sock, &header, MSG_NOSIGNAL) == (ssize_t)iov.iov_len &&
	       peer_read(sock, &msg, 12 + 8, SLACK_MS, &silent);
}

static bool vhost_memory(int sock, uint32_t request, uint64_t addr, uint64_t len, uint64_t offset,
			 int fd)
{
	const struct vhost_memory memory = { .addr = addr, .len = len, .offset = offset };

	return vhost_say(sock, request, &memory, sizeof(memory), fd);
}

static int vhost_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const uint64_t features = VHOST_FEATURES;
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/run/vgpu/window-%u-%u", LOOPBACK, PORT);
	if (!connect(sock, (struct sockaddr *)&addr, sizeof(addr)) &&
	    vhost_say(sock, VHOST_SET_PROTOCOL, &features, sizeof(features), -1))
		return sock;
	close(sock);
	return -1;
}

/* --- the guest ------------------------------------------------------------ */

/*
 * A room is memory of the shadow for a call's arguments, with a protection key. ROOMS calls can
 * have one at a time; ROOMS_LEFT rooms are left to NVIDIA's driver and to calls with kept memory.
 */
#define ROOMS		(VGPU_KEY_LAST - VGPU_KEY_ALONE + 1)
#define ROOMS_LEFT	4
/* The sleep is longer than any test. */
#define SLEEP_MS	60000

struct kept {
	uint64_t addr;
	uint64_t number;
	uint64_t len;
	uint32_t flags;
	uint32_t reserved;
	unsigned int nr;
	struct vgpu_run *runs;
};

static struct vgpu_run runs[RUNS_MAX];

static struct vgpu_run run_at(uint64_t offset, uint64_t len)
{
	return (struct vgpu_run) {
		.addr = htole64(RAM_AT + offset), .len = htole64(len),
	};
}

/*
 * Makes runs of @pages pages, with as many unused pages between them, in an order unlike that
 * of their addresses.
 */
static struct kept scattered_runs(uint64_t number, unsigned int nr, uint64_t pages)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		runs[i] = run_at((i * 7919ULL % nr) * 2 * pages * PAGE, pages * PAGE);
	return (struct kept) {
		.addr = ADDR, .number = number, .len = nr * pages * PAGE,
		.flags = VGPU_KEPT_WRITE, .nr = nr, .runs = runs,
	};
}

/* Makes runs of every second page, so that no two are adjacent. */
static struct kept scattered(uint64_t number, unsigned int nr)
{
	return scattered_runs(number, nr, 1);
}

/* struct keep_call has space for a call with many segments. */
struct keep_call {
	struct vgpu_call msg;
	struct vgpu_seg segs[16];
	unsigned char data[1 << 20];
	unsigned int nr;
	size_t len;
};

static struct keep_call call;

static void call_add(uint64_t addr, uint32_t flags, const void *data, size_t len)
{
	call.segs[call.nr++] = (struct vgpu_seg) {
		.addr = htole64(addr), .len = htole32(len), .flags = htole32(flags),
	};
	memcpy(call.data + call.len, data, len);
	call.len += (len + 7) & ~7UL;
}

/* Begins an ioctl with this argument. */
static void call_begin_with(uint32_t object, uint64_t seq, uint32_t cmd, const void *arg,
			    size_t len)
{
	memset(&call, 0, offsetof(struct keep_call, data));
	call.nr = 0;
	call.len = 0;
	call.msg.hdr.type = htole16(VGPU_MSG_CALL);
	call.msg.hdr.seq = htole64(seq);
	call.msg.op = htole16(VGPU_OP_IOCTL);
	call.msg.object = htole32(object);
	call.msg.args.ioctl.cmd = htole32(cmd);
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	call_add(ADDR - PAGE, VGPU_SEG_IN | VGPU_SEG_OUT, arg, len);
}

/* Begins an ioctl that has the mock keep @len bytes at @addr. */
static void call_begin(uint32_t object, uint64_t seq, uint64_t addr, uint64_t len)
{
	const struct vgpu_mock_keep arg = {
		.ptr = addr, .last = len - 1, .what = VGPU_MOCK_KEEP_PIN,
	};

	call_begin_with(object, seq, VGPU_MOCK_IOC_KEEP, &arg, sizeof(arg));
}

static void call_add_kept(const struct kept *kept)
{
	static unsigned char bytes[sizeof(struct vgpu_kept) + sizeof(runs)];
	const struct vgpu_kept head = {
		.number = htole64(kept->number), .len = htole64(kept->len),
		.flags = htole32(kept->flags), .reserved = htole32(kept->reserved),
	};

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), kept->runs, kept->nr * sizeof(*kept->runs));
	call_add(kept->addr, VGPU_SEG_IN | VGPU_SEG_KEPT, bytes,
		 sizeof(head) + kept->nr * sizeof(*kept->runs));
}

static bool call_send(int lane)
{
	size_t len = sizeof(call.msg) + call.nr * sizeof(call.segs[0]) + call.len;

	call.msg.hdr.len = htole32(len);
	call.msg.nr_segs = htole16(call.nr);
	return peer_send(lane, &call.msg, sizeof(call.msg)) &&
	       peer_send(lane, call.segs, call.nr * sizeof(call.segs[0])) &&
	       peer_send(lane, call.data, call.len);
}

FIXTURE(kept) {
	struct peer peer;
	uint64_t files;
	int ram_fd;
	unsigned char *ram;
	int vhost;
	int lane;
	uint64_t seq;		/* number of the lane's last call */
	uint64_t control_seq;
	uint32_t object;
	char map_count[16];
	int sleepers[ROOMS + ROOMS_LEFT];	/* lanes of sleeping calls */
};

/*
 * Pings the host once a second, however long a test takes, so that it does not end the
 * connection.
 */
static bool still_here(const FIXTURE_DATA(kept) *self)
{
	static uint64_t said;
	uint64_t now = peer_now_ms();

	if (now < said + 1000)
		return true;
	said = now;
	return peer_ping(&self->peer);
}

static int64_t await_reply(FIXTURE_DATA(kept) *self)
{
	struct pollfd pfd = { .fd = self->lane, .events = POLLIN };
	uint64_t end = peer_now_ms() + REPLY_MS;
	char answer[512];

	do {
		if (!still_here(self) || peer_now_ms() > end)
			return INT64_MIN;
	} while (poll(&pfd, 1, 1000) == 0);
	return peer_reply(self->lane, answer, sizeof(answer), SLACK_MS);
}

/* Has the driver keep the memory. Return: the result of the call. */
static int64_t keep(FIXTURE_DATA(kept) *self, const struct kept *kept)
{
	call_begin(self->object, ++self->seq, kept->addr, kept->len);
	call_add_kept(kept);
	return call_send(self->lane) ? await_reply(self) : INT64_MIN;
}

/* Has the device write a pattern to a part of the file's kept memory number @index. */
static int64_t use_part(FIXTURE_DATA(kept) *self, uint32_t index, uint64_t offset, uint64_t len)
{
	const struct vgpu_mock_kept arg = {
		.number = index, .offset = offset, .length = len, .seed = SEED,
	};
	return peer_ioctl_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_KEPT, &arg,
			       ADDR - PAGE, sizeof(arg)) ? await_reply(self) : INT64_MIN;
}

static int64_t use(FIXTURE_DATA(kept) *self, uint32_t index, uint64_t len)
{
	return use_part(self, index, 0, len);
}

/*
 * Begins a call that keeps the file from being closed for two seconds. Return: true if the call
 * is in the driver.
 */
static bool sleep_begin(FIXTURE_DATA(kept) *self)
{
	const struct vgpu_mock_sleep arg = { .ms = 2000 };
	uint32_t before = sleeps();

	return peer_ioctl_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_SLEEP, &arg,
			       ADDR - PAGE, sizeof(arg)) &&
	       eventually(more_sleeps, &before, SLACK_MS);
}

/* Has the mock hold the file of @in, or give it back if @in is 0. Return: the call's result. */
static int64_t hold(FIXTURE_DATA(kept) *self, uint32_t object, uint32_t in, uint32_t *out)
{
	const struct vgpu_mock_fd_swap arg = {
		.flags = in ? VGPU_MOCK_FD_HAS_IN : VGPU_MOCK_FD_WANT_OUT,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(in ? VGPU_FIXUP_FD_IN : VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_fd_swap, fd)),
		.target = htole32(in),
	};
	struct vgpu_hdr ack = { .len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK) };
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
		char bytes[256];
	} answer;
	int64_t ret;

	call_begin(object, ++self->seq, ADDR, PAGE);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_FD_HOLD);
	/*
	 * The call comes after the CLOSE, so only the driver has the file when it gives the
	 * file back.
	 */
	call.msg.control_seq = htole64(self->control_seq);
	call.msg.nr_fixups = htole16(1);
	call.segs[0].len = htole32(sizeof(arg));
	call.len = 0;
	memcpy(call.data, &fixup, sizeof(fixup));
	memcpy(call.data + sizeof(fixup), &arg, sizeof(arg));
	call.len = sizeof(fixup) + sizeof(arg);
	if (!call_send(self->lane))
		return INT64_MIN;
	ret = peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS);
	if (ret || in)
		return ret;
	*out = le16toh(answer.reply.nr_objects) ? le32toh(answer.object.object) : 0;
	ack.seq = htole64(self->seq);
	return peer_send(self->lane, &ack, sizeof(ack)) ? 0 : INT64_MIN;
}

static bool say_close(FIXTURE_DATA(kept) *self, uint32_t object)
{
	const struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.hdr.seq = htole64(++self->control_seq),
		.object = htole32(object),
	};

	return peer_send(self->peer.control, &msg, sizeof(msg));
}

static bool say_release(FIXTURE_DATA(kept) *self, uint64_t number)
{
	const struct vgpu_release msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_RELEASE),
		.hdr.seq = htole64(++self->control_seq),
		.number = htole64(number),
	};

	return peer_send(self->peer.control, &msg, sizeof(msg));
}

static bool release(FIXTURE_DATA(kept) *self, uint64_t number)
{
	union {
		struct vgpu_release msg;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;

	return say_release(self, number) &&
	       control_next(self->peer.control, VGPU_MSG_RELEASE, &answer, sizeof(answer)) &&
	       le64toh(answer.msg.number) == number &&
	       le64toh(answer.msg.hdr.seq) == self->control_seq;
}

/* Return: true if the answer to RELEASE comes within @ms. */
static bool release_comes(FIXTURE_DATA(kept) *self, uint64_t number, uint64_t ms)
{
	uint64_t end = peer_now_ms() + ms, now;
	union {
		struct vgpu_release msg;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;

	while ((now = peer_now_ms()) < end) {
		still_here(self);
		if (peer_recv(self->peer.control, &answer, sizeof(answer),
			      end - now < 200 ? end - now : 200) > 0 &&
		    peer_type(&answer) == VGPU_MSG_RELEASE)
			return le64toh(answer.msg.number) == number;
	}
	return false;
}

/* Return: true if the host has ended the connection, so that no PONG comes. */
static bool has_ended(FIXTURE_DATA(kept) *self)
{
	char answer[VGPU_CONTROL_MSG_MAX];

	peer_ping(&self->peer);
	return !control_next(self->peer.control, VGPU_MSG_PONG, answer, sizeof(answer));
}

/*
 * Return: true if the pages of @kept have what the device wrote, and all other pages of the
 * first @around bytes are zero.
 */
static bool written(const FIXTURE_DATA(kept) *self, const struct kept *kept, uint64_t around)
{
	unsigned char *want = malloc(kept->len), *zero = calloc(1, PAGE);
	uint64_t at = 0, pos, pages = 0;
	bool ok = want && zero;
	unsigned int i;

	vgpu_mock_pattern(want, kept->len, SEED, 0);
	for (i = 0; ok && i < kept->nr; i++) {
		uint64_t len = le64toh(kept->runs[i].len);

		ok = still_here(self) &&
		     !memcmp(self->ram + le64toh(kept->runs[i].addr) - RAM_AT, want + at, len);
		at += len;
	}
	for (pos = 0; ok && pos < around; pos += PAGE) {
		ok = still_here(self);
		pages += memcmp(self->ram + pos, zero, PAGE) != 0;
	}
	free(want);
	free(zero);
	return ok && pages == kept->len / PAGE;
}

static void lane_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	self->lane = peer_lane(&self->peer, 1);
	ASSERT_GE(self->lane, 0);
	self->seq = 0;
	self->object = peer_open_device(&self->peer, self->lane, ++self->seq);
	ASSERT_NE(0, self->object);
}

/* Returns the number of the shadow's VMAs. */
static int shadow_maps(void)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	size_t i;
	int maps = -1;

	if (vgpu_agent_open(NULL, &agent))
		return -1;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_guests; i++)
			if (info->guests[i].port == PORT && info->guests[i].nr_programs)
				maps = atoi(tool_run("wc -l </proc/%u/maps",
						     info->guests[i].programs[0].shadow_pid)->out);
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return maps;
}

static bool write_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* Connects the guest, and repeats a call until the engine knows the guest's memory. */
static void guest_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	struct kept one = scattered(1, 1);
	uint64_t end = peer_now_ms() + SLACK_MS;
	int64_t ret;

	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	ASSERT_TRUE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	lane_begin(_metadata, self);
	do {
		ret = keep(self, &one);
	} while (ret == -EFAULT && peer_now_ms() < end);
	ASSERT_EQ(0, ret);
	/* The shadow has mapped rooms for the arguments of both kinds of calls from here on. */
	ASSERT_EQ(0, use(self, 0, PAGE));
	memset(self->ram, 0, PAGE);
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(release(self, 1));
	close(self->lane);
	lane_begin(_metadata, self);
}

static void host_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	self->peer.control = -1;
	self->lane = -1;
	memset(self->sleepers, -1, sizeof(self->sleepers));
	tool_read_line(MAP_COUNT, self->map_count, sizeof(self->map_count));
	self->ram_fd = memfd_create("ram", MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate(self->ram_fd, RAM_LEN));
	self->ram = mmap(NULL, RAM_SEEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->ram_fd, 0);
	ASSERT_NE(MAP_FAILED, self->ram);
	ASSERT_EQ(0, export_as("hostile", NULL, LOOPBACK, PORT, false));
	/* A window of a test that failed may be left. */
	window_command("destroy", "--force 2>/dev/null");
	ASSERT_EQ(0, window_command("create", "--size 64M"));
	self->files = files_at_rest();
	self->vhost = vhost_connect();
	ASSERT_GE(self->vhost, 0);
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, RAM_AT, RAM_LEN, 0, self->ram_fd));
}

static void host_end(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	unsigned int i;

	if (!self->ram)
		return;
	write_line(MAP_COUNT, self->map_count);
	for (i = 0; i < NR(self->sleepers); i++)
		close(self->sleepers[i]);
	close(self->lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
	EXPECT_TRUE(witness());
	close(self->vhost);
	EXPECT_EQ(0, window_command("destroy", "--force"));
	EXPECT_EQ(0, unexport("hostile"));
	munmap(self->ram, RAM_SEEN);
	close(self->ram_fd);
}

FIXTURE_SETUP(kept)
{
	NEEDS_HOST();
	host_begin(_metadata, self);
}

FIXTURE_TEARDOWN(kept)
{
	host_end(_metadata, self);
}

/* Runs of all sizes in any order work, and so does a page that is named twice. */
TEST_F(kept, memory_is_what_it_says)
{
	struct vgpu_run some[] = {
		run_at(64 * PAGE, 3 * PAGE), run_at(8 * PAGE, PAGE), run_at(9 * PAGE, 2 * PAGE),
		run_at(2 * PAGE, PAGE),
	};
	struct kept kept = {
		.addr = ADDR, .number = 7, .len = 7 * PAGE, .flags = VGPU_KEPT_WRITE,
		.nr = NR(some), .runs = some,
	};

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	EXPECT_EQ(7 * PAGE, guest().counters.kept_bytes);
	EXPECT_EQ(0, use(self, 0, 7 * PAGE));
	EXPECT_TRUE(written(self, &kept, 128 * PAGE));
	/* Memory that is kept again with the same number counts once. */
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(7 * PAGE, guest().counters.kept_bytes);
	/* The same number with another length is an error, as it names other memory. */
	kept.nr = 1;
	kept.len = 3 * PAGE;
	EXPECT_EQ(-EINVAL, keep(self, &kept));
	kept.number = 8;
	some[1] = some[0];
	kept.nr = 2;
	kept.len = 6 * PAGE;
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 2, 6 * PAGE));
	/* The driver keeps its pages when the hypervisor removes the guest's memory. */
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, RAM_AT, RAM_LEN, 0, -1));
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 7));
	EXPECT_TRUE(release(self, 8));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/* A malformed KEPT segment ends the lane. */
TEST_F(kept, segments_that_make_no_sense)
{
	struct vgpu_run pair[2];
	struct kept kept, second;
	struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_IN), .seg = htole16(1), .target = htole32(1),
	};
	char page[4096] = {};
	unsigned int i;

	guest_begin(_metadata, self);
	for (i = 0; i < 22; i++) {
		pair[0] = run_at(0, PAGE);
		pair[1] = run_at(4 * PAGE, PAGE);
		kept = (struct kept) {
			.addr = ADDR, .number = 2, .len = 2 * PAGE, .nr = 2, .runs = pair,
		};
		second = kept;
		second.addr = ADDR + 64 * PAGE;
		call_begin(self->object, self->seq + 1, ADDR, PAGE);
		switch (i) {
		case 0:
			kept.number = 0;
			break;
		case 1:
			kept.flags = VGPU_KEPT_WRITE << 1;
			break;
		case 2:
			kept.reserved = 1;
			break;
		case 3:
			kept.nr = 0;
			kept.len = 0;
			break;
		case 4:
			kept.nr = 0;
			break;
		case 5:
			kept.addr = ADDR + 8;
			break;
		case 6:
			pair[1].addr = htole64(RAM_AT + 4 * PAGE + 8);
			break;
		case 7:
			pair[1].len = htole64(PAGE + 8);
			kept.len = 2 * PAGE + 8;
			break;
		case 8:
			pair[1].len = 0;
			break;
		case 9:
			kept.len = 3 * PAGE;
			break;
		case 10:
			kept.len = PAGE;
			break;
		case 11:	/* a run that wraps */
			pair[1].addr = htole64(-PAGE);
			pair[1].len = htole64(2 * PAGE);
			kept.len = 3 * PAGE;
			break;
		case 12:	/* runs whose sum wraps */
			pair[0].len = htole64(1ULL << 63);
			pair[1].len = htole64((1ULL << 63) + PAGE);
			kept.len = PAGE;
			break;
		case 13:	/* memory that wraps */
			kept.addr = -PAGE;
			break;
		}
		call_add_kept(&kept);
		switch (i) {
		case 14:	/* memory that overlaps another segment's */
			second.addr = ADDR + PAGE;
			call_add_kept(&second);
			break;
		case 15:
			second.addr = ADDR - PAGE;
			call_add_kept(&second);
			break;
		case 16:	/* too many segments */
			for (; call.nr < 2 + VGPU_KEPT_MAX; second.addr += 64 * PAGE)
				call_add_kept(&second);
			break;
		case 17:	/* page segment beside it */
			call_add(ADDR + 128 * PAGE, VGPU_SEG_IN | VGPU_SEG_PAGE, page,
				 sizeof(page));
			break;
		case 18:
			call.segs[1].flags |= htole32(VGPU_SEG_OUT);
			break;
		case 19:	/* half a run */
			call.segs[1].len = htole32(le32toh(call.segs[1].len) - 8);
			call.len -= 8;
			break;
		case 20:	/* KEPT segment as the argument */
			call.segs[0] = call.segs[1];
			memmove(call.data, call.data + sizeof(struct vgpu_mock_keep),
				le32toh(call.segs[1].len));
			call.len -= sizeof(struct vgpu_mock_keep);
			call.nr = 1;
			break;
		case 21:	/* fixup in a KEPT segment */
			memmove(call.data + sizeof(fixup), call.data, call.len);
			memcpy(call.data, &fixup, sizeof(fixup));
			call.len += sizeof(fixup);
			call.msg.nr_fixups = htole16(1);
			break;
		}
		ASSERT_TRUE(call_send(self->lane));
		EXPECT_GE(peer_wait_eof(self->lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(self->lane);
		lane_begin(_metadata, self);
	}
	EXPECT_EQ(22, guest().counters.malformed);
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/* A driver holds a file when the guest closes it, and then gives the guest the file again. */
TEST_F(kept, files_that_drivers_give_twice)
{
	struct kept kept = scattered(2, 3);
	uint32_t other, again = 0;

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	other = peer_open_device(&self->peer, self->lane, ++self->seq);
	ASSERT_NE(0, other);
	ASSERT_EQ(0, hold(self, other, self->object, NULL));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_EQ(0, hold(self, other, 0, &again));
	ASSERT_NE(0, again);
	EXPECT_NE(self->object, again);
	ASSERT_TRUE(say_close(self, again));
	EXPECT_TRUE(release(self, 2));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/*
 * Memory in hugetlbfs can be kept in whole large pages only. A part of one fails, and the
 * shadow's mappings are as before.
 */
TEST_F(kept, memory_in_huge_pages)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20;
	struct vgpu_run one = { .addr = htole64(at), .len = htole64(huge) };
	struct kept kept = {
		.addr = ADDR, .number = 2, .len = huge, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &one,
	};
	char pages[16];
	int fd, maps;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "8"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, 2 * huge));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * huge, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(0, keep(self, &kept));
	maps = shadow_maps();
	one.len = htole64(PAGE);
	kept.number = 3;
	kept.len = PAGE;
	EXPECT_EQ(-EOPNOTSUPP, keep(self, &kept));
	one.addr = htole64(at + PAGE);
	kept.number = 4;
	EXPECT_EQ(-EOPNOTSUPP, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * huge, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/*
 * A small page comes before the large ones, so that steps of 2 MiB from there would split
 * these.
 */
TEST_F(kept, memory_in_huge_pages_behind_a_small_one)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20, len = 9 * huge;
	struct vgpu_run two[] = {
		{ .addr = htole64(RAM_AT), .len = htole64(PAGE) },
		{ .addr = htole64(at), .len = htole64(len) },
	};
	struct kept kept = {
		.addr = ADDR + huge - PAGE, .number = 2, .len = PAGE + len,
		.flags = VGPU_KEPT_WRITE, .nr = 2, .runs = two,
	};
	char pages[16];
	int fd;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "12"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, len));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, len, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(0, keep(self, &kept));
	/* The shadow has replaced all of this memory by demand pages again, and is alive. */
	kept.number = 3;
	EXPECT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_TRUE(release(self, 3));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, len, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/* Returns the member memory_huge of vgpud's report on the guest's window, or -1. */
static int memory_is_huge(void)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	int huge = -1;
	size_t i;

	if (vgpu_agent_open(NULL, &agent))
		return -1;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_windows; i++)
			if (info->windows[i].port == PORT)
				huge = info->windows[i].memory_huge;
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return huge;
}

/* A guest that has all of its memory in hugetlbfs is not offered KEPT segments. */
TEST_F(kept, memory_in_huge_pages_alone)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20;
	char pages[16];
	int fd;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "8"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, 2 * huge));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * huge, 0, fd));
	EXPECT_EQ(0, memory_is_huge());
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, RAM_AT, RAM_LEN, 0, -1));
	EXPECT_EQ(1, memory_is_huge());
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_FALSE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	/* The next guest is offered KEPT segments, as the hypervisor has other memory, too. */
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, RAM_AT, RAM_LEN, 0, self->ram_fd));
	EXPECT_EQ(0, memory_is_huge());
	guest_begin(_metadata, self);
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * huge, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/*
 * Memory in pages of 1 GiB cannot be replaced by demand pages in parts again. So the host keeps
 * none of it, and does not offer KEPT segments to a guest that has such memory when it
 * connects.
 */
TEST_F(kept, memory_in_giant_pages)
{
	const char words[] = "is in hugetlbfs pages of more than 2 MiB: devices keep none of it";
	const uint64_t at = RAM_AT + RAM_LEN, giant = 1ULL << 30;
	struct vgpu_run one = { .addr = htole64(at), .len = htole64(giant) };
	struct kept kept = {
		.addr = 0x4000000000, .number = 2, .len = giant, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &one,
	};
	int fd = memfd_create("giant", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_1GB), said;

	if (fd < 0)
		SKIP(return, "no pages of 1 GiB in this kernel or processor");
	ASSERT_EQ(0, ftruncate(fd, giant));
	/* The memory is added after the guest was offered KEPT segments. */
	guest_begin(_metadata, self);
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, giant, 0, fd));
	EXPECT_EQ(-EFAULT, keep(self, &kept));
	/* The shadow is alive, and keeps other memory. */
	kept = scattered(3, 1);
	EXPECT_EQ(0, keep(self, &kept));
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	said = atoi(tool_run("grep -c '%s' /run/vgpud.log", words)->out);
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_FALSE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	EXPECT_EQ(said + 1, atoi(tool_run("grep -c '%s' /run/vgpud.log", words)->out));
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, giant, 0, -1));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_TRUE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	close(fd);
}

/* Memory that the guest does not have, or may not use, fails the call, and the lane works on. */
TEST_F(kept, memory_that_it_does_not_have)
{
	static const uint64_t bad[] = {
		/* These addresses are below all memory, beyond it, at its end, and far beyond. */
		0, RAM_AT - PAGE, RAM_AT + RAM_LEN, RAM_AT + RAM_LEN - PAGE, 1ULL << 62,
	};
	/* These are a shadow's own memory, the lowest addresses, and the kernel's. */
	static const uint64_t addrs[] = { 0x3e0000000000, 0x3e0000ffe000, 0x1000, 1ULL << 63 };
	struct vgpu_run two[2];
	struct kept kept = {
		.addr = ADDR, .len = 3 * PAGE, .nr = 2, .runs = two, .flags = VGPU_KEPT_WRITE,
	};
	unsigned int i, nr = 0;
	int maps;

	guest_begin(_metadata, self);
	maps = shadow_maps();
	two[0] = run_at(0, PAGE);
	for (i = 0; i < NR(bad); i++) {
		two[1] = (struct vgpu_run) { .addr = htole64(bad[i]), .len = htole64(2 * PAGE) };
		kept.number = ++nr;
		EXPECT_EQ(-EFAULT, keep(self, &kept)) TH_LOG("case %u", i);
	}
	two[1] = run_at(8 * PAGE, 2 * PAGE);
	for (i = 0; i < NR(addrs); i++) {
		kept.addr = addrs[i];
		kept.number = ++nr;
		EXPECT_EQ(-EINVAL, keep(self, &kept)) TH_LOG("address %u", i);
	}
	/* The guest has this memory, but it is more than the limit. */
	kept.addr = ADDR;
	kept.number = ++nr;
	kept.nr = 1;
	kept.len = KEPT_BYTES + PAGE;
	two[0] = run_at(0, kept.len);
	EXPECT_EQ(-ENOMEM, keep(self, &kept));
	/* Nothing was pinned and nothing is mapped, but the memory of all numbers is counted. */
	EXPECT_EQ(-ENOENT, use(self, 0, PAGE));
	EXPECT_EQ(maps, shadow_maps());
	EXPECT_EQ((NR(bad) + NR(addrs)) * 3 * PAGE, guest().counters.kept_bytes);
	for (i = 1; i <= nr; i++)
		EXPECT_TRUE(release(self, i));
	EXPECT_EQ(0, guest().counters.kept_bytes);
	kept = scattered(nr + 1, 3);
	EXPECT_EQ(0, keep(self, &kept));
}

/* Keeps @most runs, the limit of a shadow's mappings, and fails to keep one more. */
static void fragment(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self,
		     unsigned int most)
{
	struct kept kept;
	int maps = shadow_maps();

	ASSERT_GE(RUNS_MAX, most + 1);
	kept = scattered(2, most + 1);
	EXPECT_EQ(-ENOSPC, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	kept = scattered(3, most);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	EXPECT_EQ(0, use(self, 0, most * PAGE));
	EXPECT_TRUE(written(self, &kept, 2 * most * PAGE));
	/* Calls that are repeated leave no mapping behind. */
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_TRUE(release(self, 3));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

TEST_F_TIMEOUT(kept, fragments, 300)
{
	unsigned int maps = atoi(self->map_count);
	char some[16];

	/* A quarter of a process's default number of mappings is used where time is short. */
	if (getenv("VGPU_TIMES")) {
		maps /= 4;
		snprintf(some, sizeof(some), "%u", maps);
		ASSERT_TRUE(write_line(MAP_COUNT, some));
	}
	guest_begin(_metadata, self);
	fragment(_metadata, self, maps / 2);
}

TEST_F_TIMEOUT(kept, fragments_where_there_are_few_mappings, 300)
{
	char few[16];

	snprintf(few, sizeof(few), "%u", MAPS_FEW);
	ASSERT_TRUE(write_line(MAP_COUNT, few));
	guest_begin(_metadata, self);
	fragment(_metadata, self, MAPS_FEW / 2);
}

static unsigned long available_mib(void)
{
	return strtoul(tool_run("grep MemAvailable /proc/meminfo | tr -dc 0-9")->out, NULL, 10) >> 10;
}

/* Keeps 1 GiB in runs of eight pages, as fragmented memory has without huge pages. */
TEST_F_TIMEOUT(kept, gibibyte, 600)
{
	const uint64_t pages = 8, run = pages * PAGE;
	const unsigned int nr = 32768;
	unsigned char want[8 * PAGE], is[8 * PAGE];
	uint64_t start, first, again;
	struct kept kept;
	unsigned int i;

	if (available_mib() < 1536)
		SKIP(return, "needs 1.5 GiB of free memory");
	/* Each run is a mapping, and half of a process's mappings may be of kept memory. */
	ASSERT_TRUE(write_line(MAP_COUNT, "131072"));
	guest_begin(_metadata, self);
	kept = scattered_runs(2, nr, pages);
	start = peer_now_ms();
	ASSERT_EQ(0, keep(self, &kept));
	first = peer_now_ms() - start;
	EXPECT_EQ(1ULL << 30, guest().counters.kept_bytes);
	start = peer_now_ms();
	ASSERT_EQ(0, keep(self, &kept));
	again = peer_now_ms() - start;
	for (i = 0; i < nr; i += 1021) {
		EXPECT_EQ(0, use_part(self, 0, i * run, run));
		vgpu_mock_pattern(want, run, SEED, i * run);
		ASSERT_EQ(run, pread(self->ram_fd, is, run, le64toh(runs[i].addr) - RAM_AT));
		EXPECT_EQ(0, memcmp(want, is, run)) TH_LOG("run %u", i);
	}
	start = peer_now_ms();
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_EQ(0, guest().counters.kept_bytes);
	TH_LOG("1 GiB in %u runs: kept in %llu ms, again in %llu ms, released in %llu ms", nr,
	       (unsigned long long)first, (unsigned long long)again,
	       (unsigned long long)(peer_now_ms() - start));
}

TEST_F_TIMEOUT(kept, more_numbers_than_there_are, 300)
{
	struct kept kept = scattered(1, 1);
	unsigned int i;

	guest_begin(_metadata, self);
	for (i = 0; i < VGPU_KEPT_NUMBERS; i++) {
		kept.number = 10 + i;
		if (!(i % 64))
			ASSERT_TRUE(peer_ping(&self->peer));
		ASSERT_EQ(i < VGPU_MOCK_KEEPS_MAX ? 0 : -EMFILE, keep(self, &kept));
	}
	kept.number = 10 + i;
	EXPECT_EQ(-ENOMEM, keep(self, &kept));
	EXPECT_EQ(VGPU_KEPT_NUMBERS * PAGE, guest().counters.kept_bytes);
	EXPECT_TRUE(release(self, 10));
	EXPECT_EQ(-EMFILE, keep(self, &kept));
	/*
	 * Releases are counted apart from kept numbers, so the RELEASE of a number that no call
	 * has used still succeeds.
	 */
	EXPECT_TRUE(release(self, 5));
}

TEST_F(kept, releases)
{
	struct kept kept = scattered(1, 2);
	union {
		struct vgpu_release msg;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;
	struct pollfd pfd;

	guest_begin(_metadata, self);
	/* A number that no call has used can be released any number of times. */
	EXPECT_TRUE(release(self, 4711));
	EXPECT_TRUE(release(self, 4711));
	EXPECT_TRUE(release(self, UINT64_MAX));
	/* The file is not closed while a call on it runs, whatever the guest says. */
	kept.number = 9;
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(sleep_begin(self));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	pfd = (struct pollfd){ .fd = self->lane, .events = POLLIN };
	ASSERT_TRUE(control_next(self->peer.control, VGPU_MSG_RELEASE, &answer, sizeof(answer)));
	EXPECT_EQ(9, le64toh(answer.msg.number));
	/* The call is over, or the RELEASE came when it had a second or more to go. */
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(self->files, open_files());
}

/*
 * A call that still runs on a closed file may have its driver take memory that another file
 * keeps. So the memory is not released before the call is over, although nothing was kept when
 * the guest closed the call's file.
 */
TEST_F(kept, releases_await_calls_of_before)
{
	const struct vgpu_mock_sleep arg = { .ms = 60000 };
	struct vgpu_hdr cancel = { .len = htole32(sizeof(cancel)), .type = htole16(VGPU_MSG_CANCEL) };
	struct kept kept = scattered(9, 2);
	uint32_t before = sleeps(), other;
	char answer[512];
	int lane;

	guest_begin(_metadata, self);
	lane = peer_lane(&self->peer, 1);
	ASSERT_GE(lane, 0);
	other = peer_open_device(&self->peer, lane, 1);
	ASSERT_NE(0, other);
	ASSERT_TRUE(peer_ioctl_send(lane, other, 2, VGPU_MOCK_IOC_SLEEP, &arg, ADDR + PAGE * 16,
				    sizeof(arg)));
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	ASSERT_EQ(0, guest().counters.kept_bytes);
	ASSERT_TRUE(say_close(self, other));
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	EXPECT_FALSE(release_comes(self, 9, 1000));
	cancel.seq = htole64(2);
	ASSERT_TRUE(peer_send(lane, &cancel, sizeof(cancel)));
	EXPECT_TRUE(release_comes(self, 9, SLACK_MS));
	EXPECT_GT(0, peer_reply(lane, answer, sizeof(answer), SLACK_MS));
	close(lane);
	EXPECT_TRUE(eventually(files_are, &self->files, SLACK_MS));
}

/*
 * The answers take at least this time if each RELEASE costs what a PING does: a hundred come at
 * once, and the others 10 ms apart.
 */
#define FLOOD		400
#define FLOOD_MS	3000

/*
 * Returns how long the host takes to answer FLOOD releases, in ms, or 0 if it does not answer
 * them. @number is the first number.
 */
static uint64_t release_many(FIXTURE_DATA(kept) *self, uint64_t number)
{
	char answer[VGPU_CONTROL_MSG_MAX];
	uint64_t start = peer_now_ms();
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		if (!say_release(self, number + i))
			return 0;
	for (i = 0; i < FLOOD; i++)
		if (!control_next(self->peer.control, VGPU_MSG_RELEASE, answer, sizeof(answer)))
			return 0;
	return peer_now_ms() - start + 1;
}

/*
 * The module answers RELEASE for memory that no call has kept no faster than PING. A user-space
 * engine answers as fast as it can, because its processor time counts as its guest's.
 */
TEST_F(kept, flood_of_releases)
{
	guest_begin(_metadata, self);
	EXPECT_LE(tool_user_engine() ? 1 : FLOOD_MS * 9 / 10, release_many(self, 1000));
}

/* A guest is not slowed down for memory that its refused calls name: it has pinned that memory. */
TEST_F(kept, releases_of_refused_calls)
{
	struct kept kept = scattered(1, 1);
	unsigned int i;
	uint64_t took;

	guest_begin(_metadata, self);
	for (i = 0; i < FLOOD; i++) {
		kept.number = 1000 + i;
		call_begin(self->object + 1, ++self->seq, kept.addr, kept.len);
		call_add_kept(&kept);
		ASSERT_TRUE(call_send(self->lane));
		ASSERT_EQ(-EBADF, await_reply(self));
	}
	took = release_many(self, 1000);
	EXPECT_LT(0, took);
	EXPECT_GT(FLOOD_MS, took);
}

/* --- beside other calls ---------------------------------------------------- */

static bool all_sleep(void *wanted)
{
	return sleeps() >= *(uint32_t *)wanted;
}

/*
 * Begins a call that sleeps in the driver, with kept memory if @kept is not NULL, on a lane of
 * its own.
 */
static void sleeper_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self,
			  unsigned int nr, const struct kept *kept)
{
	const struct vgpu_mock_sleep arg = { .ms = SLEEP_MS };

	self->sleepers[nr] = peer_lane(&self->peer, 1);
	ASSERT_GE(self->sleepers[nr], 0);
	call_begin_with(self->object, 1, VGPU_MOCK_IOC_SLEEP, &arg, sizeof(arg));
	if (kept)
		call_add_kept(kept);
	ASSERT_TRUE(call_send(self->sleepers[nr]));
}

/* Cancels a sleeping call. Return: true if the call is over. */
static bool sleeper_end(FIXTURE_DATA(kept) *self, unsigned int nr)
{
	const struct vgpu_hdr cancel = {
		.len = htole32(sizeof(cancel)), .type = htole16(VGPU_MSG_CANCEL), .seq = htole64(1),
	};
	char answer[512];

	return peer_send(self->sleepers[nr], &cancel, sizeof(cancel)) &&
	       peer_reply(self->sleepers[nr], answer, sizeof(answer), SLACK_MS) != INT64_MIN;
}

#define NEEDS_KEYS() do { \
	if (tool_run("grep -qw ospke /proc/cpuinfo")->status) \
		SKIP(return, "the processor has no protection keys"); \
} while (0)

/* Makes one page that differs from those of other numbers. */
static struct kept page_of(uint64_t number)
{
	static struct vgpu_run run;

	run = run_at(number * 2 * PAGE, PAGE);
	return (struct kept) {
		.addr = ADDR + number * 2 * PAGE, .number = number, .len = PAGE,
		.flags = VGPU_KEPT_WRITE, .nr = 1, .runs = &run,
	};
}

/*
 * A call with kept memory gets a room with a key, however many other calls sleep, until
 * ROOMS_LEFT calls with kept memory sleep as well.
 */
TEST_F_TIMEOUT(kept, rooms, 240)
{
	uint32_t wanted = sleeps() + ROOMS;
	struct kept kept;
	unsigned int i;

	NEEDS_KEYS();
	guest_begin(_metadata, self);
	for (i = 0; i < ROOMS; i++)
		sleeper_begin(_metadata, self, i, NULL);
	ASSERT_TRUE(eventually(all_sleep, &wanted, SLACK_MS));
	kept = page_of(100);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 0, PAGE));
	EXPECT_TRUE(written(self, &kept, 256 * PAGE));

	wanted += ROOMS_LEFT;
	for (; i < ROOMS + ROOMS_LEFT; i++) {
		kept = page_of(i);
		sleeper_begin(_metadata, self, i, &kept);
	}
	ASSERT_TRUE(eventually(all_sleep, &wanted, SLACK_MS));
	kept = page_of(101);
	EXPECT_EQ(-EBUSY, keep(self, &kept));
	/* Calls that need no key work on. */
	EXPECT_EQ(0, use(self, 0, PAGE));
	EXPECT_TRUE(sleeper_end(self, ROOMS));
	EXPECT_EQ(0, keep(self, &kept));
}

/* A call cannot hand over addresses that another call has handed over, until that call is over. */
TEST_F_TIMEOUT(kept, memory_of_another_call, 120)
{
	struct kept other = scattered(2, 4), kept;
	uint32_t before = sleeps();
	int i;

	guest_begin(_metadata, self);
	sleeper_begin(_metadata, self, 0, &other);
	ASSERT_TRUE(eventually(more_sleeps, &before, SLACK_MS));
	/*
	 * The ranges reach into the other call's from below, lie inside it, and reach beyond
	 * its end.
	 */
	for (i = -1; i <= 3; i += 2) {
		kept = scattered(10 + i, 2);
		kept.addr = ADDR + i * (int)PAGE;
		EXPECT_EQ(-EINVAL, keep(self, &kept));
	}
	kept = scattered(20, 2);
	kept.addr = ADDR + 4 * PAGE;
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_TRUE(sleeper_end(self, 0));
	kept = scattered(21, 4);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 1, 4 * PAGE));
	EXPECT_TRUE(written(self, &kept, 64 * PAGE));
}

static uint64_t sum_of(const void *p, size_t len)
{
	return vgpu_mock_sum(VGPU_MOCK_SUM_INIT, p, len);
}

/*
 * Returns the sum of the first @len bytes that a driver reads in the memory, or 0 if the call
 * fails.
 */
static uint64_t seen(FIXTURE_DATA(kept) *self, const struct kept *kept, size_t len)
{
	struct vgpu_mock_array array = {
		.ptr = kept->addr, .count = len / sizeof(uint32_t), .total = len / sizeof(uint32_t),
	};
	struct {
		struct vgpu_reply reply;
		char bytes[512];
	} answer;

	call_begin_with(self->object, ++self->seq, VGPU_MOCK_IOC_ARRAY_IN, &array, sizeof(array));
	call_add_kept(kept);
	if (!call_send(self->lane) || peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS))
		return 0;
	memcpy(&array, answer.bytes, sizeof(array));
	return array.out_sum;
}

/* Memory that is sealed against new writable mappings can be kept for reading only. */
TEST_F(kept, memory_that_is_sealed)
{
	const uint64_t at = RAM_AT + RAM_LEN;
	struct vgpu_run two = { .addr = htole64(at), .len = htole64(2 * PAGE) };
	struct kept kept = {
		.addr = ADDR, .number = 2, .len = 2 * PAGE, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &two,
	};
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const uint32_t words[] = { 0x7365616c, 0x6564 };

	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE));
	ASSERT_EQ(sizeof(words), pwrite(fd, words, sizeof(words), 0));
	ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * PAGE, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(tool_user_engine() ? -ENOMEM : -EPERM, keep(self, &kept));
	EXPECT_EQ(-ENOENT, use(self, 0, PAGE));
	kept.number = 3;
	kept.flags = 0;
	EXPECT_EQ(sum_of(words, sizeof(words)), seen(self, &kept, sizeof(words)));
	/* The driver wants to write to the memory, and fails. */
	EXPECT_EQ(-EFAULT, keep(self, &kept));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * PAGE, 0, -1));
	close(fd);
}

/* A second RELEASE of a number before the answer to the first is malformed. */
TEST_F(kept, released_twice)
{
	struct kept kept = scattered(9, 2);

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(sleep_begin(self));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_TRUE(say_release(self, 9));
	ASSERT_TRUE(say_release(self, 9));
	EXPECT_TRUE(has_ended(self));
}

/* KEPT segments and RELEASE are malformed without the feature. */
TEST_F(kept, without_the_feature)
{
	struct kept kept = scattered(1, 1);

	ASSERT_EQ(0, peer_open_with(&self->peer, LOOPBACK, PORT,
				    VGPU_FEATURES & ~VGPU_FEATURE_KEEP));
	lane_begin(_metadata, self);
	call_begin(self->object, ++self->seq, ADDR, PAGE);
	call_add_kept(&kept);
	ASSERT_TRUE(call_send(self->lane));
	EXPECT_GE(peer_wait_eof(self->lane, SLACK_MS), 0);
	ASSERT_TRUE(say_release(self, 1));
	EXPECT_TRUE(has_ended(self));
}

/* --- lanes without keys ----------------------------------------------------- */

#define KEYLESS		"/run/vgpu-keyless"

/*
 * Copies vgpu-keeper and the test's shadow to one directory, where vgpud looks for both.
 * Return: true if they are there.
 */
static bool keyless_make(void)
{
	return !tool_run("set -e\nrm -rf %s\nmkdir %s\ncd %s\n"
			 "cp $(dirname $(command -v vgpud))/../libexec/vgpu/vgpu-keeper .\n"
			 "cp /usr/lib/vgpu-test/tools/keyless_shadow vgpu-shadow",
			 KEYLESS, KEYLESS, KEYLESS)->status;
}

/* This fixture has vgpud start another program as shadow, which does not use protection keys. */
FIXTURE(keyless) {
	FIXTURE_DATA(kept) kept;
	bool begun;
};

FIXTURE_SETUP(keyless)
{
	int fd;

	NEEDS_HOST();
	if (tool_user_engine())
		SKIP(return, "needs the host module: a user-space engine's shadows are its own");
	NEEDS_KEYS();
	ASSERT_TRUE(keyless_make());
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(getenv("VGPU_NAME"), SIGTERM));
	self->begun = true;
	agent_run(KEYLESS "/vgpu-shadow");
	fd = agent_await(getenv("VGPU_NAME"));
	ASSERT_GE(fd, 0);
	close(fd);
	host_begin(_metadata, &self->kept);
}

FIXTURE_TEARDOWN(keyless)
{
	int fd;

	if (!self->begun)
		return;
	host_end(_metadata, &self->kept);
	if (tool_processes("/vgpud", NULL))
		EXPECT_TRUE(agent_gone(agent_kill(SIGTERM)));
	fd = agent_start(getenv("VGPU_NAME"));
	EXPECT_GE(fd, 0);
	close(fd);
	unlink(AGENT_CONF);
	EXPECT_TRUE(agent_write_env());
}

/*
 * Lanes without keys hand over no memory if the guest was told that other calls cannot access
 * it.
 */
TEST_F_TIMEOUT(keyless, memory, 240)
{
	FIXTURE_DATA(kept) *kept = &self->kept;
	struct kept one = scattered(1, 1);
	uint64_t end;
	int64_t ret;

	ASSERT_EQ(0, peer_open_with(&kept->peer, LOOPBACK, PORT,
				    VGPU_FEATURES & ~VGPU_FEATURE_KEEP_ALONE));
	lane_begin(_metadata, kept);
	end = peer_now_ms() + SLACK_MS;
	do {
		ret = keep(kept, &one);
	} while (ret == -EFAULT && peer_now_ms() < end);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(PAGE, guest().counters.kept_bytes);
	close(kept->lane);
	peer_close(&kept->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));

	ASSERT_EQ(0, peer_open(&kept->peer, LOOPBACK, PORT));
	ASSERT_TRUE(le64toh(kept->peer.welcome.features) & VGPU_FEATURE_KEEP_ALONE);
	lane_begin(_metadata, kept);
	EXPECT_EQ(-EFAULT, keep(kept, &one));
	/*
	 * The host did not get as far as to look for the memory, because the memory is counted
	 * before that. So the call has failed for lack of keys.
	 */
	EXPECT_EQ(0, guest().counters.kept_bytes);
	EXPECT_EQ(-ENOENT, use(kept, 0, PAGE));
}

TEST_HARNESS_MAIN
