// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host announces windows and exports that a guest cannot have. They cost the guest neither
 * memory nor warnings, and the host's other messages work as before. The test is the host.
 *
 * In a second group of tests, a guest loses the device of its window (tests/mock/virtio.c)
 * while it uses ranges of the window's memory. The kernel must not map that memory any more
 * when the device's driver has released it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "host_played.h"

#include "kselftest_harness.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* The kernel has this taint flag when it has warned. */
#define TAINT_WARN	(1UL << 9)
/* The guest has devices for this many exports of all hosts together. */
#define EXPORTS_MOST	256
#define EXPORTS		(EXPORTS_MOST + 500)
/*
 * The kernel prints this many lines in five seconds where it limits them
 * (DEFAULT_RATELIMIT_BURST).
 */
#define BURST		10
#define PATIENCE_MS	180000

static bool kernel_has_warned(void)
{
	char line[64];

	tool_read_line("/proc/sys/kernel/tainted", line, sizeof(line));
	return strtoul(line, NULL, 0) & TAINT_WARN;
}

static bool say_window(uint64_t number, uint64_t size)
{
	struct vgpu_window_info info = {
		.hdr.len = htole32(sizeof(info)),
		.hdr.type = htole16(VGPU_MSG_WINDOW),
		.window = htole64(number),
		.size = htole64(size),
	};

	return send_all(&info, sizeof(info));
}

static bool say_export(const char *name)
{
	struct vgpu_export_add add;

	fill_export(&add, name, NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	return send_all(&add, sizeof(add));
}

static bool await_export(const char *name)
{
	uint64_t deadline = tool_now_ms() + PATIENCE_MS;

	while (tool_find_export(name) < 0) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(20000);
	}
	return true;
}

FIXTURE(host)
{
};

FIXTURE_SETUP(host)
{
	if (native())
		SKIP(return, "needs the guest module");
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, host_begin());
}

FIXTURE_TEARDOWN(host)
{
	if (control >= 0)
		host_end();
}

/* A window of more than the guest can address needs no memory for a record of its free ranges. */
TEST_F_TIMEOUT(host, windows_of_any_size, 120)
{
	static const uint64_t sizes[] = { 1ULL << 44, 1ULL << 47, 1ULL << 62, -4096ULL };
	bool before = kernel_has_warned();
	unsigned int i;

	for (i = 0; i < NR(sizes); i++) {
		ASSERT_TRUE(say_window(i + 1, sizes[i]));
		ASSERT_TRUE(say_window(i + 1, 0));
	}
	/* The guest has read all these messages, and works on. */
	ASSERT_TRUE(say_export("after"));
	EXPECT_TRUE(await_export("after"));
	EXPECT_EQ(before, kernel_has_warned());
}

/* A host cannot fill the guest's log. */
TEST_F_TIMEOUT(host, more_exports_than_devices, 120)
{
	uint64_t start = tool_now_ms(), bursts;
	char name[32];
	long lines;
	int i;

	tool_run("dmesg -c");
	for (i = 0; i < EXPORTS; i++) {
		snprintf(name, sizeof(name), "export%d", i);
		ASSERT_TRUE(say_export(name));
	}
	/* Each export is removed, so that there is a device for the last one. */
	for (i = 1; i <= EXPORTS; i++) {
		struct vgpu_export_del del = {
			.hdr.len = htole32(sizeof(del)),
			.hdr.type = htole16(VGPU_MSG_EXPORT_DEL),
			.export = htole32(last_export - EXPORTS + i),
		};

		ASSERT_TRUE(send_all(&del, sizeof(del)));
	}
	ASSERT_TRUE(say_export("after"));
	EXPECT_TRUE(await_export("after"));
	bursts = (tool_now_ms() - start) / 5000 + 1;
	lines = atol(tool_run("dmesg | grep -c 'cannot create a device for export'")->out);
	EXPECT_LT(0, lines);
	EXPECT_GE(BURST * bursts, lines);
}

/* --- the window's device -------------------------------------------------- */

#define MODULE		"vgpu_mock_virtio"
/* The command unbinds the device from its driver. */
#define UNBIND		"cd /sys/devices/vgpu-mock-virtio/virtio* && device=${PWD##*/} && " \
			"echo $device >/sys/bus/virtio/drivers/vgpu_window/unbind"
/* These show whether the device's memory is reserved, and how often it is mapped in the kernel. */
#define IS_TAKEN	"grep -q '^ *4000000000-.* : vgpu_guest' /proc/iomem"
#define MAPPED		"grep -c 'phys=0x00000040000[0-9a-f]* ioremap' /proc/vmallocinfo"
#define REGION		(1UL << 20)
#define NUMBER		0x77696e646f77
#define OBJECT		7

/*
 * holds_mmap: the host delays its answer to a MMAP in the window. has_mmap: the host has
 * received one. ending: the host's threads are to end.
 */
static bool holds_mmap, has_mmap, ending;

static bool lane_reply(int lane, const struct vgpu_call *call, int64_t result,
		       const struct vgpu_out_mmap *out)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
	} msg = {
		.reply.hdr.type = htole16(VGPU_MSG_REPLY),
		.reply.hdr.seq = call->hdr.seq,
		.reply.result = htole64(result),
	};
	size_t len = sizeof(msg.reply);

	if (out)
		msg.reply.out.mmap = *out;
	if (le16toh(call->op) == VGPU_OP_OPEN) {
		len = sizeof(msg);
		msg.reply.nr_objects = htole16(1);
		msg.object.object = htole32(OBJECT);
		msg.object.kind = htole32(VGPU_OBJECT_DEVICE);
		msg.object.fops = htole32(VGPU_FOP_IOCTL | VGPU_FOP_MMAP);
		msg.object.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
		msg.object.space = htole64(1);
		msg.object.f_flags = htole32(O_RDWR);
	}
	msg.reply.hdr.len = htole32(len);
	return send(lane, &msg, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool lane_mmap(int lane, const struct vgpu_call *call)
{
	const struct vgpu_out_mmap out = {
		.space = htole64(1),
		.offset = call->args.mmap.offset,
		.flags = htole32(VGPU_MAP_READ | VGPU_MAP_WRITE | VGPU_MAP_MAYREAD |
				 VGPU_MAP_MAYWRITE | VGPU_MAP_SHARED | VGPU_MAP_IO |
				 VGPU_MAP_PFNMAP | VGPU_MAP_WINDOW),
		.cache = htole32(VGPU_CACHE_UC),
	};

	/* The guest does not know the window yet. */
	if (!call->args.mmap.window)
		return lane_reply(lane, call, -EAGAIN, NULL);
	__atomic_store_n(&has_mmap, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&holds_mmap, __ATOMIC_SEQ_CST))
		usleep(20000);
	return lane_reply(lane, call, 0, &out);
}

/*
 * Receives a message, which must fit into a struct vgpu_call, as all messages of this test do.
 * Return: true if it came.
 */
static bool msg_recv(int from, struct vgpu_call *msg)
{
	size_t rest;

	if (recv(from, &msg->hdr, sizeof(msg->hdr), MSG_WAITALL) != sizeof(msg->hdr))
		return false;
	rest = le32toh(msg->hdr.len) - sizeof(msg->hdr);
	return rest <= sizeof(*msg) - sizeof(msg->hdr) &&
	       (!rest || recv(from, &msg->hdr + 1, rest, MSG_WAITALL) == (ssize_t)rest);
}

static void *serve_lane(void *data)
{
	const struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	int lane = (int)(intptr_t)data;
	struct vgpu_lane_hello hello;
	struct vgpu_call call;
	bool ok;

	ok = recv(lane, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello) &&
	     send(lane, &ready, sizeof(ready), MSG_NOSIGNAL) == sizeof(ready);
	while (ok && msg_recv(lane, &call)) {
		/* Other messages are ACKs. */
		if (call.hdr.type != htole16(VGPU_MSG_CALL))
			continue;
		ok = le16toh(call.op) == VGPU_OP_MMAP ? lane_mmap(lane, &call) :
		     lane_reply(lane, &call, 0, NULL);
	}
	close(lane);
	return NULL;
}

/* Answers each UNBIND at once, and accepts the guest's lanes. */
static void *serve(void *data)
{
	struct pollfd polled[] = {
		{ .fd = listener, .events = POLLIN }, { .fd = control, .events = POLLIN },
	};
	struct vgpu_call msg;
	pthread_t thread;
	int lane;

	while (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST)) {
		if (poll(polled, 2, 100) <= 0)
			continue;
		if (polled[0].revents & POLLIN) {
			lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			if (pthread_create(&thread, NULL, serve_lane, (void *)(intptr_t)lane))
				close(lane);
			else
				pthread_detach(thread);
		}
		if (!polled[1].revents)
			continue;
		if (!msg_recv(control, &msg))
			break;
		if (msg.hdr.type == htole16(VGPU_MSG_UNBIND)) {
			msg.hdr.type = htole16(VGPU_MSG_UNBOUND);
			msg.hdr.seq = 0;
			send_all(&msg, sizeof(struct vgpu_window_part));
		}
	}
	return NULL;
}

/*
 * Plays a program that maps memory of a card, which is never mapped by copy, until it is
 * killed.
 */
static void use(int result_fd)
{
	int fd = open("/dev/nvidia0", O_RDWR), result = errno;
	void *memory = MAP_FAILED;

	/* The program ends with a test that fails, so that it does not keep the module in use. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (fd >= 0 && memory == MAP_FAILED) {
		memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		result = memory == MAP_FAILED ? errno : 0;
		if (result && result != EAGAIN)
			break;
		usleep(20000);
	}
	if (write(result_fd, &result, sizeof(result)) == sizeof(result))
		pause();
	_exit(0);
}

FIXTURE(lost_device)
{
	pthread_t server;
	pid_t program;
	/* file from which the errno of the program's mmap() can be read */
	int result;
};

FIXTURE_SETUP(lost_device)
{
	const struct vgpu_window_header header = {
		.magic = { 'v', 'g', 'p', 'u', '-', 'w', 'i', 'n' },
		.version = htole32(VGPU_WINDOW_VERSION),
		.window = htole64(NUMBER), .size = htole64(REGION),
	};
	const unsigned char *byte = (const unsigned char *)&header;
	char config[16 + 4 * VGPU_WINDOW_CONFIG_LEN] = "config=";
	struct vgpu_export_add add;
	unsigned int i;

	if (native())
		SKIP(return, "needs the guest module");
	if (geteuid())
		SKIP(return, "needs root");
	for (i = 0; i < VGPU_WINDOW_CONFIG_LEN; i++)
		sprintf(config + strlen(config), "%s%u", i ? "," : "", byte[i]);
	ASSERT_EQ(0, host_begin());
	ASSERT_EQ(0, tool_run("modprobe " MODULE " region=%lu %s", REGION, config)->status);
	ASSERT_EQ(0, tool_run(IS_TAKEN)->status);
	fill_export(&add, "card", NULL);
	add.kind = htole32(VGPU_EXPORT_NVIDIA);
	strcpy((char *)add.title, "nvidia0");
	strcpy((char *)add.driver, "nvidia");
	ASSERT_TRUE(say_window(NUMBER, REGION));
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	ASSERT_TRUE(say_export("after"));
	ASSERT_TRUE(await_export("after"));
	ending = false;
	has_mmap = false;
	holds_mmap = false;
	ASSERT_EQ(0, pthread_create(&self->server, NULL, serve, NULL));
}

/* Starts the program. Return: true if it maps memory. */
static bool program_begin(FIXTURE_DATA(lost_device) *self)
{
	uint64_t deadline = tool_now_ms() + PATIENCE_MS;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return false;
	self->result = fds[0];
	self->program = fork();
	if (!self->program)
		use(fds[1]);
	close(fds[1]);
	while (self->program > 0 && !__atomic_load_n(&has_mmap, __ATOMIC_SEQ_CST)) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(20000);
	}
	return self->program > 0;
}

/* Returns the errno of the program's mmap(), 0 if it succeeded, -1 if unknown. */
static int program_result(const FIXTURE_DATA(lost_device) *self)
{
	int result = -1;

	return read(self->result, &result, sizeof(result)) == sizeof(result) ? result : -1;
}

FIXTURE_TEARDOWN(lost_device)
{
	if (control < 0)
		return;
	__atomic_store_n(&holds_mmap, false, __ATOMIC_SEQ_CST);
	if (self->program > 0) {
		kill(self->program, SIGKILL);
		waitpid(self->program, NULL, 0);
	}
	__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
	pthread_join(self->server, NULL);
	host_end();
	tool_run("rmmod " MODULE);
}

/*
 * A program keeps the range of its mapping when the device goes, but the range shows nothing
 * any more.
 */
TEST_F_TIMEOUT(lost_device, range_of_a_mapping, 120)
{
	ASSERT_TRUE(program_begin(self));
	ASSERT_EQ(0, program_result(self));
	/* The kernel lists the mapping while it exists. */
	ASSERT_STREQ("1\n", tool_run(MAPPED)->out);
	ASSERT_EQ(0, tool_run(UNBIND)->status);
	ASSERT_STREQ("0\n", tool_run(MAPPED)->out);
	/* The program keeps neither the device nor its module in use. */
	EXPECT_EQ(0, tool_run("rmmod " MODULE)->status);
}

/*
 * The host answers a MMAP when the device is gone. The device's driver waits for answers that
 * may still use the memory, but if the waiting task is killed it releases the memory at once.
 */
TEST_F_TIMEOUT(lost_device, range_that_comes_later, 120)
{
	uint64_t deadline = tool_now_ms() + PATIENCE_MS;
	unsigned int patience_us = 20000;
	pid_t pid;

	holds_mmap = true;
	ASSERT_TRUE(program_begin(self));
	while (!tool_run(IS_TAKEN)->status && tool_now_ms() < deadline) {
		pid = fork();
		if (!pid) {
			execl("/bin/sh", "sh", "-c", UNBIND, NULL);
			_exit(1);
		}
		ASSERT_GT(pid, 0);
		/* The task may not have reached the driver's wait yet. */
		usleep(patience_us *= 2);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	}
	ASSERT_NE(0, tool_run(IS_TAKEN)->status);
	__atomic_store_n(&holds_mmap, false, __ATOMIC_SEQ_CST);
	EXPECT_EQ(ENOMEM, program_result(self));
	EXPECT_STREQ("0\n", tool_run(MAPPED)->out);
}

PLAYED_MAIN
