// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that does not use the device reads /proc/PID/fdinfo of DRM files. The test is the
 * host, whose GPU is a PCI device that reports its bus address.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "host_played.h"

#include "kselftest_harness.h"

#define BUS_ID		"0000:47:00.0"
#define OBJECT		7
#define MAX_LANES	32

/* The driver's text has several lines, one of which only looks like drm-pdev. */
static const char driver_text[] =
	"drm-driver:\ttest\n"
	"drm-pdev:\t" BUS_ID "\n"
	"drm-client-id:\t42\n"
	"drm-pdev-of-another:\t" BUS_ID "\n"
	"drm-engine-gfx:\t12345 ns\n";

/*
 * The lock protects the host's state: the sessions it knows, the number of FDINFO calls, and
 * whether it leaves FDINFO unanswered.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sessions[MAX_LANES];
static unsigned int nr_sessions, nr_fdinfo;
static bool silent, ending;

static void note_session(uint64_t number)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_sessions && sessions[i] != number; i++)
		;
	if (i == nr_sessions && nr_sessions < MAX_LANES)
		sessions[nr_sessions++] = number;
	pthread_mutex_unlock(&lock);
}

static bool lane_recv(int lane, void *data, size_t len)
{
	return recv(lane, data, len, MSG_WAITALL) == (ssize_t)len;
}

static bool lane_send(int lane, const void *data, size_t len)
{
	return send(lane, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool reply(int lane, const struct vgpu_hdr *call, int64_t result, const void *more, size_t len,
		  unsigned int nr_objects)
{
	unsigned char message[1024] = { 0 };
	struct vgpu_reply head = {
		.hdr.len = htole32(sizeof(head) + (len + 7) / 8 * 8),
		.hdr.type = htole16(VGPU_MSG_REPLY),
		.hdr.seq = call->seq,
		.result = htole64(result),
		.nr_objects = htole16(nr_objects),
	};

	memcpy(message, &head, sizeof(head));
	if (len)
		memcpy(message + sizeof(head), more, len);
	return lane_send(lane, message, le32toh(head.hdr.len));
}

static bool serve_call(int lane, const struct vgpu_call *call)
{
	const struct vgpu_object_desc object = {
		.object = htole32(OBJECT), .kind = htole32(VGPU_OBJECT_DEVICE),
		.fops = htole32(VGPU_FOP_IOCTL | VGPU_FOP_POLL | VGPU_FOP_FDINFO),
		.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE),
		.space = htole64(1), .f_flags = htole32(O_RDWR),
	};
	bool answers;

	switch (le16toh(call->op)) {
	case VGPU_OP_OPEN:
		return reply(lane, &call->hdr, 0, &object, sizeof(object), 1);
	case VGPU_OP_FDINFO:
		pthread_mutex_lock(&lock);
		nr_fdinfo++;
		answers = !silent;
		pthread_mutex_unlock(&lock);
		return !answers || reply(lane, &call->hdr, sizeof(driver_text) - 1, driver_text,
					 sizeof(driver_text) - 1, 0);
	default:
		return reply(lane, &call->hdr, 0, NULL, 0, 0);
	}
}

/* Serves one lane until its end. */
static void *serve_lane(void *data)
{
	const struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	int lane = (int)(intptr_t)data;
	struct vgpu_lane_hello hello;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_call call;
		unsigned char bytes[4096];
	} message;

	if (!lane_recv(lane, &hello, sizeof(hello)) || hello.hdr.type != htole16(VGPU_MSG_LANE))
		goto out_close;
	note_session(hello.session);
	if (!lane_send(lane, &ready, sizeof(ready)))
		goto out_close;
	while (lane_recv(lane, &message.hdr, sizeof(message.hdr))) {
		uint32_t len = le32toh(message.hdr.len);

		if (len > sizeof(message) ||
		    !lane_recv(lane, message.bytes + sizeof(message.hdr), len - sizeof(message.hdr)))
			break;
		if (message.hdr.type == htole16(VGPU_MSG_CALL) && !serve_call(lane, &message.call))
			break;
	}

out_close:
	close(lane);
	return NULL;
}

static void *serve(void *data)
{
	struct pollfd pollfd = { .fd = listener, .events = POLLIN };
	pthread_t thread;

	while (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST)) {
		int lane;

		if (poll(&pollfd, 1, 100) != 1)
			continue;
		lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (lane < 0)
			continue;
		if (pthread_create(&thread, NULL, serve_lane, (void *)(intptr_t)lane))
			close(lane);
		else
			pthread_detach(thread);
	}
	return NULL;
}

/* struct user: a program that uses the GPU. It opens the node and waits until it is killed. */
struct user {
	pid_t pid;
	int fd;
};

static struct user user_start(const char *node)
{
	struct user user = { .pid = -1, .fd = -1 };
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC))
		return user;
	user.pid = fork();
	if (!user.pid) {
		int fd = open(node, O_RDWR | O_CLOEXEC);

		if (write(pipe_fds[1], &fd, sizeof(fd)) == sizeof(fd))
			pause();
		_exit(0);
	}
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &user.fd, sizeof(user.fd)) != sizeof(user.fd))
		user.fd = -1;
	close(pipe_fds[0]);
	return user;
}

static void user_end(const struct user *user)
{
	kill(user->pid, SIGKILL);
	waitpid(user->pid, NULL, 0);
}

/* Reads what procfs shows of the user's file. Return: the time it took, in ms. */
static uint64_t read_fdinfo(const struct user *user, char *text, size_t size)
{
	uint64_t start = tool_now_ms();
	char file[64];
	ssize_t len, all = 0;
	int fd;

	snprintf(file, sizeof(file), "/proc/%d/fdinfo/%d", user->pid, user->fd);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && all < (ssize_t)size - 1 &&
	       (len = read(fd, text + all, size - 1 - all)) > 0)
		all += len;
	text[all] = '\0';
	if (fd >= 0)
		close(fd);
	return tool_now_ms() - start;
}

/*
 * Reads the file again and again until the driver's part is there, as a busy machine may be
 * late.
 */
static void await_fdinfo(const struct user *user, char *text, size_t size)
{
	uint64_t deadline = tool_now_ms() + 100000;

	while (read_fdinfo(user, text, size), !strstr(text, "drm-driver") &&
	       tool_now_ms() < deadline)
		usleep(100000);
}

FIXTURE(fdinfo) {
	pthread_t thread;
	bool serves;
	char node[64];
	char place[64];
};

FIXTURE_SETUP(fdinfo)
{
	uint64_t deadline = tool_now_ms() + 30000;
	struct vgpu_export_add add;
	struct tool_run *run;
	int number;

	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin(), 0);
	nr_sessions = 0;
	nr_fdinfo = 0;
	silent = false;
	ending = false;
	fill_pci(&add, "gpu", BUS_ID, 0x10de, 0x1380);
	add.kind = htole32(VGPU_EXPORT_DRM_RENDER);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	ASSERT_EQ(pthread_create(&self->thread, NULL, serve, NULL), 0);
	self->serves = true;
	do {
		usleep(50000);
		number = tool_find_export("gpu");
		run = tool_run("cd /sys/class/vgpu/vgpu%d/drm/drm && ls -d renderD* && "
			       "basename $(realpath ../)", number);
	} while (run->status && tool_now_ms() < deadline);
	ASSERT_EQ(run->status, 0);
	ASSERT_EQ(sscanf(run->out, "%48s %48s", self->node, self->place), 2);
	memmove(self->node + strlen("/dev/dri/"), self->node, strlen(self->node) + 1);
	memcpy(self->node, "/dev/dri/", strlen("/dev/dri/"));
	/* devtmpfs makes the node a moment later. */
	while (access(self->node, R_OK) && tool_now_ms() < deadline)
		usleep(50000);
}

FIXTURE_TEARDOWN(fdinfo)
{
	if (self->serves) {
		__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
		pthread_join(self->thread, NULL);
	}
	host_end();
}

/*
 * drm-pdev names the PCI device of this machine, for which monitors look. All other lines are
 * the driver's.
 */
TEST_F_TIMEOUT(fdinfo, pdev, 150)
{
	struct user user = user_start(self->node);
	char text[4096], line[128];

	ASSERT_GE(user.fd, 0);
	await_fdinfo(&user, text, sizeof(text));
	TH_LOG("%s", text);
	snprintf(line, sizeof(line), "\ndrm-pdev:\t%s\n", self->place);
	EXPECT_NE(strstr(text, line), NULL);
	EXPECT_EQ(strstr(text, "drm-pdev:\t" BUS_ID), NULL);
	EXPECT_NE(strstr(text, "\ndrm-driver:\ttest\n"), NULL);
	EXPECT_NE(strstr(text, "\ndrm-client-id:\t42\n"), NULL);
	EXPECT_NE(strstr(text, "\ndrm-pdev-of-another:\t" BUS_ID "\n"), NULL);
	EXPECT_NE(strstr(text, "\ndrm-engine-gfx:\t12345 ns\n"), NULL);
	user_end(&user);
}

/* A program that reads fdinfo gets no shadow: the shadow of the file's user answers. */
TEST_F_TIMEOUT(fdinfo, no_session, 150)
{
	struct user user = user_start(self->node);
	char text[4096];

	ASSERT_GE(user.fd, 0);
	ASSERT_EQ(1, nr_sessions);
	await_fdinfo(&user, text, sizeof(text));
	EXPECT_NE(strstr(text, "drm-driver"), NULL);
	EXPECT_EQ(1, nr_sessions);
	EXPECT_LE(1, nr_fdinfo);
	user_end(&user);
}

/*
 * A host that does not answer delays readers by two seconds once, and not for each file. The
 * program whose shadow was asked is not affected.
 */
TEST_F_TIMEOUT(fdinfo, stuck, 240)
{
	struct user user = user_start(self->node), other = user_start(self->node), late;
	char text[4096];
	uint64_t ms;
	int i;

	ASSERT_GE(user.fd, 0);
	ASSERT_GE(other.fd, 0);
	pthread_mutex_lock(&lock);
	silent = true;
	pthread_mutex_unlock(&lock);
	ms = read_fdinfo(&user, text, sizeof(text));
	TH_LOG("%llu ms", (unsigned long long)ms);
	EXPECT_GE(ms, 1000);
	EXPECT_LT(ms, 20000);
	EXPECT_EQ(strstr(text, "drm-driver"), NULL);
	EXPECT_NE(strstr(text, "flags:"), NULL);
	ms = tool_now_ms();
	for (i = 0; i < 20; i++)
		read_fdinfo(i % 2 ? &user : &other, text, sizeof(text));
	TH_LOG("%llu ms for 20", (unsigned long long)(tool_now_ms() - ms));
	/* Another file may be asked meanwhile on a slow machine. */
	EXPECT_LT(tool_now_ms() - ms, 20000);
	EXPECT_LE(nr_fdinfo, 4);
	/* The lines of other files and programs are there again soon. */
	pthread_mutex_lock(&lock);
	silent = false;
	pthread_mutex_unlock(&lock);
	late = user_start(self->node);
	ASSERT_GE(late.fd, 0);
	await_fdinfo(&late, text, sizeof(text));
	EXPECT_NE(strstr(text, "drm-driver"), NULL);
	user_end(&user);
	user_end(&other);
	user_end(&late);
}

PLAYED_MAIN
