// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs use streams of V4L2: they poll, start again, and have threads that wait in the
 * driver. A poll of a node without buffers makes vivid start read mode, and then the node gives
 * no buffers. So the host must not poll unless the program does. Both nodes are vivid's.
 */
#include <linux/videodev2.h>
#include <poll.h>
#include <pthread.h>

#include "video_vivid.h"

#define BUFFERS	3
#define ROUNDS	10
#define FRAMES	4

static const struct vivid_node nodes[] = {
	{ "CAPTURE", VIVID_CAMERA("vivid-000-vid-cap") },
	{ "OUTPUT", VIVID_CAMERA("vivid-000-vid-out") },
	/* This is the camera by another name, as the links in /dev/v4l/by-id. */
	{ "LINK", "ln -sfn $(" VIVID_CAMERA("vivid-000-vid-cap") ") /dev/vgpu-camera && "
		  "echo vgpu-camera" },
};

static const unsigned int capture = V4L2_BUF_TYPE_VIDEO_CAPTURE;
static const unsigned int output = V4L2_BUF_TYPE_VIDEO_OUTPUT;

static int stream_open(const char *name)
{
	int fd = open(vivid_path(name), O_RDWR | O_CLOEXEC);

	MUST(fd >= 0);
	return fd;
}

/* Requests buffers, and tries again while the file of an earlier test is being closed. */
static int stream_first(int fd, unsigned int type)
{
	struct v4l2_requestbuffers request = {
		.count = BUFFERS, .type = type, .memory = V4L2_MEMORY_MMAP,
	};
	__u64 deadline = now_ms() + 10000;
	int ret;

	while ((ret = ioctl(fd, VIDIOC_REQBUFS, &request)) && errno == EBUSY && now_ms() < deadline)
		sleep_ms(20);
	return ret;
}

static int buffers(int fd, unsigned int type, unsigned int count)
{
	struct v4l2_requestbuffers request = {
		.count = count, .type = type, .memory = V4L2_MEMORY_MMAP,
	};

	return ioctl(fd, VIDIOC_REQBUFS, &request);
}

static int give(int fd, unsigned int type, unsigned int index)
{
	struct v4l2_buffer buffer = { .type = type, .memory = V4L2_MEMORY_MMAP, .index = index };

	return ioctl(fd, VIDIOC_QBUF, &buffer);
}

/* Takes a buffer. Return: its index, or -1. */
static int take(int fd, unsigned int type)
{
	struct v4l2_buffer buffer = { .type = type, .memory = V4L2_MEMORY_MMAP };

	return ioctl(fd, VIDIOC_DQBUF, &buffer) ? -1 : (int)buffer.index;
}

static void give_all(int fd, unsigned int type)
{
	unsigned int i;

	for (i = 0; i < BUFFERS; i++)
		MUST(!give(fd, type, i));
}

/* Polls the file. Return: the events for which it is ready, or 0. */
static unsigned int ready(int fd, unsigned int type, int timeout)
{
	struct pollfd poll_fd = { .fd = fd, .events = type == output ? POLLOUT : POLLIN };

	MUST(poll(&poll_fd, 1, timeout) >= 0);
	return poll_fd.revents;
}

/* Each round has new buffers, as in a program that changes the format. */
static void again(const char *name, unsigned int type)
{
	int fd = stream_open(name), round, frame, index;

	MUST(!stream_first(fd, type));
	for (round = 0; round < ROUNDS; round++) {
		give_all(fd, type);
		MUST(!ioctl(fd, VIDIOC_STREAMON, &type));
		for (frame = 0; frame < FRAMES; frame++) {
			MUST(ready(fd, type, 10000) & (POLLIN | POLLOUT));
			index = take(fd, type);
			MUST(index >= 0 && !give(fd, type, index));
		}
		MUST(!ioctl(fd, VIDIOC_STREAMOFF, &type));
		MUST(!buffers(fd, type, 0));
		MUST(!LOG_CALL(buffers(fd, type, BUFFERS)));
	}
}

DIFF_TEST_NODE(again, "CAPTURE", DIFF_SECONDS)
{
	again("CAPTURE", capture);
}

DIFF_TEST_NODE(again_output, "OUTPUT", DIFF_SECONDS)
{
	again("OUTPUT", output);
}

/* Takes all buffers, so that nothing is ready any more. */
static void drain(int fd)
{
	unsigned int i;

	give_all(fd, capture);
	MUST(!ioctl(fd, VIDIOC_STREAMON, &capture));
	for (i = 0; i < BUFFERS; i++)
		MUST(take(fd, capture) >= 0);
}

/* The poll times out before anything is ready. */
DIFF_TEST_NODE(timed_out, "CAPTURE", DIFF_SECONDS)
{
	int fd = stream_open("CAPTURE"), round;

	MUST(!stream_first(fd, capture));
	for (round = 0; round < ROUNDS; round++) {
		drain(fd);
		MUST(!LOG_CALL(ready(fd, capture, 20)));
		MUST(!ioctl(fd, VIDIOC_STREAMOFF, &capture));
		MUST(!buffers(fd, capture, 0));
		MUST(!LOG_CALL(buffers(fd, capture, BUFFERS)));
	}
}

/* A second file polls the buffers of the first, which are free when the first is closed. */
DIFF_TEST_NODE(closed, "CAPTURE", DIFF_SECONDS)
{
	int looker = stream_open("CAPTURE"), fd, round, index;

	for (round = 0; round < ROUNDS; round++) {
		fd = stream_open("CAPTURE");
		MUST(!stream_first(fd, capture));
		give_all(fd, capture);
		MUST(!ioctl(fd, VIDIOC_STREAMON, &capture));
		MUST(ready(looker, capture, 10000) & POLLIN);
		index = take(fd, capture);
		MUST(index >= 0 && !give(fd, capture, index));
		MUST(ready(looker, capture, 10000) & POLLIN);
		close(fd);
		fd = stream_open("CAPTURE");
		MUST(!LOG_CALL(buffers(fd, capture, BUFFERS)));
		close(fd);
	}
}

/* A frame that was taken without a poll is not reported by the next poll. */
DIFF_TEST_NODE(stale, "CAPTURE", DIFF_SECONDS)
{
	struct v4l2_buffer buffer = { .type = capture, .memory = V4L2_MEMORY_MMAP };
	int fd = stream_open("CAPTURE"), round;
	__u64 deadline = now_ms() + 10000;

	MUST(!stream_first(fd, capture));
	drain(fd);
	for (round = 0; round < ROUNDS; round++) {
		MUST(!LOG_CALL(ready(fd, capture, 0)));
		MUST(!give(fd, capture, 0));
		do {
			MUST(now_ms() < deadline);
			sleep_ms(20);
			MUST(!ioctl(fd, VIDIOC_QUERYBUF, &buffer));
		} while (!(buffer.flags & V4L2_BUF_FLAG_DONE));
		MUST(take(fd, capture) == 0);
	}
	MUST(!LOG_CALL(ready(fd, capture, 0)));
}

/* --- threads ----------------------------------------------------------------- */

struct waiter {
	pthread_t thread;
	int fd;
	int error;
};

static void nothing(int signal)
{
	(void)signal;
}

/* Takes a buffer, and tries again if the file was nonblocking at that moment. */
static void *wait_for_buffer(void *arg)
{
	struct waiter *waiter = arg;

	do {
		waiter->error = take(waiter->fd, capture) < 0 ? errno : 0;
	} while (waiter->error == EAGAIN);
	return NULL;
}

static void waiter_start(struct waiter *waiter)
{
	int flags = fcntl(waiter->fd, F_GETFL), error;
	__u64 deadline = now_ms() + 10000;

	MUST(!pthread_create(&waiter->thread, NULL, wait_for_buffer, waiter));
	/* Only one thread may wait in DQBUF, so a second one fails with EBUSY. */
	for (;;) {
		MUST(!fcntl(waiter->fd, F_SETFL, flags | O_NONBLOCK));
		error = take(waiter->fd, capture) < 0 ? errno : 0;
		MUST(!fcntl(waiter->fd, F_SETFL, flags));
		if (error == EBUSY)
			break;
		MUST(error == EAGAIN && now_ms() < deadline);
		sleep_ms(20);
	}
}

/* A node's ioctls are found by the kernel's name of the node, and not by its path. */
DIFF_TEST_NODE(by_symlink, "LINK", DIFF_SECONDS)
{
	struct v4l2_exportbuffer export = { .type = capture, .flags = O_RDWR | O_CLOEXEC };
	int fd = stream_open("LINK");

	MUST(!stream_first(fd, capture));
	CHECK(!LOG_CALL(ioctl(fd, VIDIOC_EXPBUF, &export)));
	CHECK(fcntl(export.fd, F_GETFL) >= 0);
}

DIFF_TEST_NODE(blocked, "CAPTURE", DIFF_SECONDS)
{
	struct sigaction action = { .sa_handler = nothing };
	struct waiter waiter = { .fd = stream_open("CAPTURE") };
	int round;

	MUST(!sigaction(SIGUSR1, &action, NULL));
	for (round = 0; round < ROUNDS; round++) {
		MUST(!(round ? buffers(waiter.fd, capture, BUFFERS) :
		       stream_first(waiter.fd, capture)));
		MUST(!ioctl(waiter.fd, VIDIOC_STREAMON, &capture));
		waiter_start(&waiter);
		MUST(!pthread_kill(waiter.thread, SIGUSR1));
		MUST(!pthread_join(waiter.thread, NULL));
		log_line("signal: %s", strerrorname_np(waiter.error));
		waiter_start(&waiter);
		MUST(!LOG_CALL(ioctl(waiter.fd, VIDIOC_STREAMOFF, &capture)));
		MUST(!pthread_join(waiter.thread, NULL));
		log_line("STREAMOFF: %s", strerrorname_np(waiter.error));
		MUST(!LOG_CALL(buffers(waiter.fd, capture, 0)));
	}
}

static void unlink_camera(void)
{
	unlink("/dev/vgpu-camera");
}

int main(int argc, char **argv)
{
	atexit(unlink_camera);
	vivid_setup("n_devs=1 node_types=0x101", nodes, sizeof(nodes) / sizeof(nodes[0]));
	return test_harness_run(argc, argv);
}
