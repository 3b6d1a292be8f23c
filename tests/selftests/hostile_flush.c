// SPDX-License-Identifier: GPL-2.0-only
/*
 * A host does not take the bytes that a program has written to device memory, or does not give
 * those that it reads. The guest's module does not try for ever. The test is the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "host_played.h"

#include "kselftest_harness.h"

#define PAGE		4096UL
#define PATIENCE_MS	60000
/* The guest tries ten times a second: nothing comes any more if nothing has come for so long. */
#define QUIET_MS	2000
/* More attempts than the guest makes for one message, which are 64. */
#define ATTEMPTS	80
#define ANY_IOCTL	_IO('F', 0xd4)
#define MAP_FLAGS	(VGPU_MAP_READ | VGPU_MAP_WRITE | VGPU_MAP_MAYREAD | VGPU_MAP_MAYWRITE | \
			 VGPU_MAP_SHARED | VGPU_MAP_IO | VGPU_MAP_PFNMAP)

/* Answers of the host to WRITE_PAGES. */
enum answer {
	ANSWER_ERRNO,		/* an errno that no driver has for it */
	ANSWER_INTERRUPTED,	/* the thread was interrupted */
	ANSWER_BROKEN,		/* a reply that breaks the protocol */
	ANSWER_CLOSE,		/* the end of the lane */
};

static enum answer answer;
/* Errno with which READ_PAGES is answered; 0: it gets bytes. */
static int refusal;
/* Number of WRITE_PAGES that have come. */
static unsigned int writes;

static bool receive(int fd, void *data, size_t len)
{
	return recv(fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

/* Answers a call. Return: the lane goes on. */
static bool serve_call(int lane, const struct vgpu_call *call)
{
	struct {
		struct vgpu_reply reply;
		union {
			struct vgpu_object_desc object;
			char bytes[16 * PAGE];
		};
	} msg;
	struct vgpu_reply *reply = &msg.reply;
	size_t len = sizeof(*reply);
	struct vgpu_hdr ack;

	memset(&msg, 0, sizeof(msg));
	reply->hdr.type = htole16(VGPU_MSG_REPLY);
	reply->hdr.seq = call->hdr.seq;
	switch (le16toh(call->op)) {
	case VGPU_OP_OPEN:
		len += sizeof(msg.object);
		reply->nr_objects = htole16(1);
		msg.object.object = htole32(7);
		msg.object.kind = htole32(VGPU_OBJECT_DEVICE);
		msg.object.fops = htole32(VGPU_FOP_IOCTL | VGPU_FOP_MMAP);
		msg.object.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
		msg.object.f_flags = htole32(O_RDWR);
		break;
	case VGPU_OP_MMAP:
		reply->out.mmap.space = htole64(1);
		reply->out.mmap.flags = htole32(MAP_FLAGS);
		break;
	case VGPU_OP_READ_PAGES:
		if (refusal) {
			reply->result = htole64(-refusal);
			break;
		}
		reply->result = call->args.pages.len;
		len += le64toh(call->args.pages.len);
		if (len > sizeof(msg))
			return false;
		break;
	case VGPU_OP_WRITE_PAGES:
		__atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
		if (answer == ANSWER_CLOSE)
			return false;
		reply->result = htole64(answer == ANSWER_INTERRUPTED ? -EINTR : -EINVAL);
		if (answer == ANSWER_BROKEN)
			reply->reserved = htole16(1);
		break;
	}
	reply->hdr.len = htole32(len);
	return send(lane, &msg, len, MSG_NOSIGNAL) == (ssize_t)len &&
	       (!reply->nr_objects || receive(lane, &ack, sizeof(ack)));
}

/* Serves one lane until an end closes it. */
static void *serve(void *data)
{
	const struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	struct vgpu_lane_hello hello;
	struct vgpu_call call;
	char rest[8 * PAGE];
	int lane = (intptr_t)data;
	size_t len;

	if (receive(lane, &hello, sizeof(hello)) &&
	    send(lane, &ready, sizeof(ready), MSG_NOSIGNAL) == sizeof(ready))
		while (receive(lane, &call, sizeof(call))) {
			len = le32toh(call.hdr.len) - sizeof(call);
			if (len > sizeof(rest) || (len && !receive(lane, rest, len)) ||
			    !serve_call(lane, &call))
				break;
		}
	close(lane);
	return NULL;
}

static void *accept_lanes(void *unused)
{
	pthread_t thread;
	int lane;

	for (;;) {
		lane = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		/* The listener's timeout is no reason to stop. */
		if (lane < 0 && errno != EAGAIN)
			return NULL;
		if (lane >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)lane))
			close(lane);
	}
}

/* Begins to be the guest's host. Return: the device is open; or -1. */
static int begin(void)
{
	struct vgpu_export_add add;
	pthread_t thread;

	if (host_begin())
		return -1;
	fill_export(&add, "played", NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	if (!send_all(&add, sizeof(add)) || pthread_create(&thread, NULL, accept_lanes, NULL))
		return -1;
	return tool_open_export("played");
}

FIXTURE(flush) {
	int fd;
};

FIXTURE_VARIANT(flush) {
	enum answer answer;
	bool ends;	/* the guest ends the session */
};

FIXTURE_VARIANT_ADD(flush, errno) {
	.answer = ANSWER_ERRNO,
};

FIXTURE_VARIANT_ADD(flush, interrupted) {
	.answer = ANSWER_INTERRUPTED,
	.ends = true,
};

FIXTURE_VARIANT_ADD(flush, broken) {
	.answer = ANSWER_BROKEN,
	.ends = true,
};

FIXTURE_VARIANT_ADD(flush, close) {
	.answer = ANSWER_CLOSE,
	.ends = true,
};

FIXTURE_SETUP(flush)
{
	self->fd = -1;
	if (native())
		SKIP(return, "nothing is forwarded");
	answer = variant->answer;
	self->fd = begin();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(flush)
{
	close(self->fd);
	host_end();
}

/* Waits until no message has come for a while. Return: so it has been. */
static bool is_quiet(void)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;
	unsigned int before;

	do {
		before = __atomic_load_n(&writes, __ATOMIC_RELAXED);
		usleep(QUIET_MS * 1000);
	} while (before != __atomic_load_n(&writes, __ATOMIC_RELAXED) && tool_now_ms() < end);
	return before == __atomic_load_n(&writes, __ATOMIC_RELAXED);
}

TEST_F_TIMEOUT(flush, is_not_taken, 180)
{
	volatile char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	int error;

	ASSERT_NE(MAP_FAILED, memory);
	EXPECT_EQ(0, memory[0]);
	memory[0] = 1;
	/* The call is about device memory, so the bytes are sent before it. */
	error = ioctl(self->fd, ANY_IOCTL, 0) ? errno : 0;
	TH_LOG("the call: %s", strerror(error));
	EXPECT_TRUE(is_quiet());
	EXPECT_GE(writes, 1);
	EXPECT_LE(writes, ATTEMPTS);
	EXPECT_EQ(variant->ends ? -1 : 0, ioctl(self->fd, ANY_IOCTL, 0));
	if (variant->ends)
		EXPECT_EQ(ENODEV, errno);
	munmap((void *)memory, PAGE);
}

FIXTURE(fetch) {
	int fd;
};

FIXTURE_VARIANT(fetch) {
	int refusal;
	bool copies;	/* the kernel reads the memory, and not the program */
	int end;	/* signal that ends the program, or 0 */
};

FIXTURE_VARIANT_ADD(fetch, again) {
	.refusal = EAGAIN,
	.end = SIGBUS,
};

FIXTURE_VARIANT_ADD(fetch, late) {
	.refusal = ETIMEDOUT,
	.end = SIGBUS,
};

FIXTURE_VARIANT_ADD(fetch, interrupted) {
	.refusal = EINTR,
	.end = SIGALRM,
};

FIXTURE_VARIANT_ADD(fetch, interrupted_copy) {
	.refusal = EINTR,
	.copies = true,
};

FIXTURE_SETUP(fetch)
{
	self->fd = -1;
	if (native())
		SKIP(return, "nothing is forwarded");
	refusal = variant->refusal;
	self->fd = begin();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(fetch)
{
	close(self->fd);
	host_end();
}

/* Reads a page of the device in a process that an alarm ends. Return: status of its end. */
static int read_page(bool copies)
{
	const struct rlimit none = { 0 };
	volatile char *memory;
	int status = -1, fds[2];
	pid_t pid = fork();

	if (pid) {
		uint64_t end = tool_now_ms() + PATIENCE_MS;

		while (!waitpid(pid, &status, WNOHANG) && tool_now_ms() < end)
			usleep(20000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return status;
	}
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGBUS, SIG_DFL);
	memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, tool_open_export("played"), 0);
	if (memory == MAP_FAILED || pipe(fds))
		_exit(1);
	if (!copies) {
		alarm(2);
		_exit(2 + memory[0]);
	}
	_exit(write(fds[1], (const void *)memory, 1) == -1 && errno == EFAULT ? 0 : 3);
}

/*
 * The host's errno is not one that means something to the module: again, or too late. If the host
 * is interrupted for ever, a signal ends the program's access, and the kernel's fails in time.
 */
TEST_F_TIMEOUT(fetch, is_not_answered, 120)
{
	int status = read_page(variant->copies);

	TH_LOG("status %#x", status);
	EXPECT_TRUE(variant->end ? WIFSIGNALED(status) && WTERMSIG(status) == variant->end :
		    WIFEXITED(status) && !WEXITSTATUS(status));
}

PLAYED_MAIN
