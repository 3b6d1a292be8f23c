/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hostile guest that names memory that devices are to keep (KEPT segments), with either engine.
 * The test is the guest and the guest's hypervisor as well: the guest's memory is a file that the
 * test has mapped, so the test can check where a driver writes.
 *
 * The tests run where those of hostile.h do.
 */
#ifndef HOSTILE_KEPT_H
#define HOSTILE_KEPT_H

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
#define SEED		5
#define RUNS_MAX	40000
/* The longest call may take this time on a busy machine. */
#define REPLY_MS	120000
#define MAP_COUNT	"/proc/sys/vm/max_map_count"

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
static inline bool vhost_say(int sock, uint32_t request, const void *payload, uint32_t len, int fd)
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

static inline bool vhost_memory(int sock, uint32_t request, uint64_t addr, uint64_t len,
				uint64_t offset, int fd)
{
	const struct vhost_memory memory = { .addr = addr, .len = len, .offset = offset };

	return vhost_say(sock, request, &memory, sizeof(memory), fd);
}

static inline int vhost_connect(void)
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

static inline struct vgpu_run run_at(uint64_t offset, uint64_t len)
{
	return (struct vgpu_run) {
		.addr = htole64(RAM_AT + offset), .len = htole64(len),
	};
}

/*
 * Makes runs of @pages pages, with as many unused pages between them, in an order unlike that
 * of their addresses.
 */
static inline struct kept scattered_runs(uint64_t number, unsigned int nr, uint64_t pages)
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
static inline struct kept scattered(uint64_t number, unsigned int nr)
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

static inline void call_add(uint64_t addr, uint32_t flags, const void *data, size_t len)
{
	call.segs[call.nr++] = (struct vgpu_seg) {
		.addr = htole64(addr), .len = htole32(len), .flags = htole32(flags),
	};
	memcpy(call.data + call.len, data, len);
	call.len += (len + 7) & ~7UL;
}

/* Begins an ioctl with this argument. */
static inline void call_begin_with(uint32_t object, uint64_t seq, uint32_t cmd, const void *arg,
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
static inline void call_begin(uint32_t object, uint64_t seq, uint64_t addr, uint64_t len)
{
	const struct vgpu_mock_keep arg = {
		.ptr = addr, .last = len - 1, .what = VGPU_MOCK_KEEP_PIN,
	};

	call_begin_with(object, seq, VGPU_MOCK_IOC_KEEP, &arg, sizeof(arg));
}

static inline void call_add_kept(const struct kept *kept)
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

static inline bool call_send(int lane)
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
static inline bool still_here(const FIXTURE_DATA(kept) *self)
{
	static uint64_t said;
	uint64_t now = peer_now_ms();

	if (now < said + 1000)
		return true;
	said = now;
	return peer_ping(&self->peer);
}

static inline int64_t await_reply(FIXTURE_DATA(kept) *self)
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
static inline int64_t keep(FIXTURE_DATA(kept) *self, const struct kept *kept)
{
	call_begin(self->object, ++self->seq, kept->addr, kept->len);
	call_add_kept(kept);
	return call_send(self->lane) ? await_reply(self) : INT64_MIN;
}

/* Has the device write a pattern to a part of the file's kept memory number @index. */
static inline int64_t use_part(FIXTURE_DATA(kept) *self, uint32_t index, uint64_t offset,
			       uint64_t len)
{
	const struct vgpu_mock_kept arg = {
		.number = index, .offset = offset, .length = len, .seed = SEED,
	};
	return peer_ioctl_send(self->lane, self->object, ++self->seq, VGPU_MOCK_IOC_KEPT, &arg,
			       ADDR - PAGE, sizeof(arg)) ? await_reply(self) : INT64_MIN;
}

static inline int64_t use(FIXTURE_DATA(kept) *self, uint32_t index, uint64_t len)
{
	return use_part(self, index, 0, len);
}

static inline bool say_close(FIXTURE_DATA(kept) *self, uint32_t object)
{
	const struct vgpu_close msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_CLOSE),
		.hdr.seq = htole64(++self->control_seq),
		.object = htole32(object),
	};

	return peer_send(self->peer.control, &msg, sizeof(msg));
}

static inline bool say_release(FIXTURE_DATA(kept) *self, uint64_t number)
{
	const struct vgpu_release msg = {
		.hdr.len = htole32(sizeof(msg)),
		.hdr.type = htole16(VGPU_MSG_RELEASE),
		.hdr.seq = htole64(++self->control_seq),
		.number = htole64(number),
	};

	return peer_send(self->peer.control, &msg, sizeof(msg));
}

static inline bool release(FIXTURE_DATA(kept) *self, uint64_t number)
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

/*
 * Return: true if the pages of @kept have what the device wrote, and all other pages of the
 * first @around bytes are zero.
 */
static inline bool written(const FIXTURE_DATA(kept) *self, const struct kept *kept, uint64_t around)
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

static inline void lane_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
{
	self->lane = peer_lane(&self->peer, 1);
	ASSERT_GE(self->lane, 0);
	self->seq = 0;
	self->object = peer_open_device(&self->peer, self->lane, ++self->seq);
	ASSERT_NE(0, self->object);
}

static inline bool write_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

/* Connects the guest, and repeats a call until the engine knows the guest's memory. */
static inline void guest_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
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

static inline void host_begin(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
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

static inline void host_end(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self)
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

#endif /* HOSTILE_KEPT_H */
