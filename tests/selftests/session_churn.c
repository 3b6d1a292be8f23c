// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that live for a moment make a session and end without closing anything. So the ACK
 * of the last call, the end of the session and the CLOSE of the files race on the way to the
 * host. The connection must survive, no file may be lost, and none may stay open.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define ROUNDS	60
#define HURRIED	10

static const char *path;

/* Returns the number of rounds: enough to see a race, or fewer where time is short. */
static unsigned int rounds(void)
{
	return getenv("VGPU_TIMES") ? HURRIED : ROUNDS;
}

static void get_counters(struct __test_metadata *_metadata,
			 struct vgpu_mock_counters *counters)
{
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_COUNTERS, counters));
	close(fd);
}

FIXTURE(churn) {
	int witness;
	struct vgpu_mock_counters before;
};

FIXTURE_SETUP(churn)
{
	path = getenv("VGPU_FWD");
	ASSERT_NE(NULL, path);
	get_counters(_metadata, &self->before);
	/*
	 * A call on this file fails with -ENODEV if the connection was lost, even if it is
	 * restored.
	 */
	self->witness = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->witness, 0);
}

FIXTURE_TEARDOWN(churn)
{
	struct vgpu_mock_counters after;
	const char *tier = getenv("VGPU_TIER");
	int i;

	EXPECT_EQ(0, ioctl(self->witness, VGPU_MOCK_IOC_NOOP, 0));
	close(self->witness);
	/* This machine's mock is not the forwarded one in the pair tier. */
	if (!tier || (strcmp(tier, "loopback") && strcmp(tier, "user")))
		return;
	/* Lower counts than before are right: some files may still have been closing then. */
	for (i = 0; i < 500; i++) {
		get_counters(_metadata, &after);
		if (after.out_files <= self->before.out_files &&
		    after.out_bufs <= self->before.out_bufs &&
		    after.out_maps <= self->before.out_maps &&
		    after.out_objects <= self->before.out_objects)
			break;
		usleep(20000);
	}
	EXPECT_GE(self->before.out_files, after.out_files);
	EXPECT_GE(self->before.out_bufs, after.out_bufs);
	EXPECT_GE(self->before.out_maps, after.out_maps);
	EXPECT_GE(self->before.out_objects, after.out_objects);
}

/* Runs @fn in rounds() children, up to four at a time. Return: the number of those that failed. */
static int children(void (*fn)(unsigned int round))
{
	unsigned int round, failed = 0;
	int status;

	for (round = 0; round < rounds(); round++) {
		if (!fork()) {
			fn(round);
			_exit(0);
		}
		if (round % 4 != 3)
			continue;
		while (wait(&status) > 0)
			failed += status != 0;
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

static void open_and_end(unsigned int round)
{
	if (open(path, O_RDWR) < 0 || ((round & 1) && open(path, O_RDWR) < 0))
		_exit(1);
}

TEST_F_TIMEOUT(churn, open_and_end, 90)
{
	EXPECT_EQ(0, children(open_and_end));
}

static void map_and_end(unsigned int round)
{
	struct vgpu_mock_buf_create create = { .size = 16384, .flavour = round % 3 };
	int fd = open(path, O_RDWR);
	char *memory;

	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		_exit(1);
	memory = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (memory == MAP_FAILED)
		_exit(2);
	memory[4096] = round;
}

TEST_F_TIMEOUT(churn, map_and_end, 90)
{
	EXPECT_EQ(0, children(map_and_end));
}

static void take_fd_and_end(unsigned int round)
{
	struct vgpu_mock_fd_out out = { 0 };
	int fd = open(path, O_RDWR);

	(void)round;
	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out))
		_exit(1);
}

TEST_F_TIMEOUT(churn, take_fd_and_end, 90)
{
	EXPECT_EQ(0, children(take_fd_and_end));
}

TEST_F_TIMEOUT(churn, killed_somewhere, 90)
{
	unsigned int round;
	pid_t pid;

	for (round = 0; round < rounds(); round++) {
		pid = fork();
		if (!pid) {
			struct vgpu_mock_sleep sleep = {
				.ms = 20, .mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE,
			};

			for (;;) {
				int fd = open(path, O_RDWR);

				ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
				if (round & 1)
					close(fd);
			}
		}
		/*
		 * The child is killed at any time from before its session begins to after some
		 * calls.
		 */
		usleep(4000 * (7 * round % 40));
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	}
}

/* A file works when the process that opened it is gone. */
TEST_F_TIMEOUT(churn, passes_its_file_on_and_ends, 90)
{
	union {
		struct cmsghdr hdr;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 'f';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control };
	unsigned int round;
	int pair[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (round = 0; round < rounds() / 2; round++) {
		memset(&control, 0, sizeof(control));
		msg.msg_controllen = sizeof(control);
		pid = fork();
		if (!pid) {
			fd = open(path, O_RDWR);
			control.hdr.cmsg_len = CMSG_LEN(sizeof(int));
			control.hdr.cmsg_level = SOL_SOCKET;
			control.hdr.cmsg_type = SCM_RIGHTS;
			memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
			_exit(fd < 0 || sendmsg(pair[1], &msg, 0) != 1);
		}
		ASSERT_EQ(1, recvmsg(pair[0], &msg, 0));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		memcpy(&fd, CMSG_DATA(&control.hdr), sizeof(fd));
		EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0)) TH_LOG("round %u", round);
		usleep(20000 * (round % 3));
		EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0)) TH_LOG("round %u", round);
		close(fd);
	}
	close(pair[0]);
	close(pair[1]);
}

TEST_HARNESS_MAIN
