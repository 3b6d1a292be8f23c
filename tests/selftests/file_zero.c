// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests use private mappings of a forwarded file, whose pages the kernel copies, and
 * mappings without any special flag, which the host's kernel merges: /dev/zero has both.
 *
 * They export the file to the guest of this machine, as root, so they run in the loopback and
 * user tiers only.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

#include "kselftest_harness.h"

#define PAGE	4096UL

FIXTURE(zero) {
	int fd;
};

FIXTURE_SETUP(zero)
{
	self->fd = -1;
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine: loopback or user");
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, system("vgpuctl export /dev/zero --to 1 --name zero >/dev/null"));
	self->fd = tool_open_export("zero");
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(zero)
{
	if (self->fd < 0)
		return;
	close(self->fd);
	EXPECT_EQ(0, system("vgpuctl unexport zero --force >/dev/null"));
}

/* Two adjacent mappings of one file are one VMA in the shadow. */
TEST_F(zero, neighbours)
{
	char *at = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	ASSERT_NE(MAP_FAILED, at);
	ASSERT_EQ(at, mmap(at, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
			   self->fd, 0));
	ASSERT_EQ(at + 2 * PAGE, mmap(at + 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_FIXED, self->fd, 2 * PAGE));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, at[i * PAGE]);
	/* Each can be unmapped without the other. */
	ASSERT_EQ(0, munmap(at, 2 * PAGE));
	at[3 * PAGE] = 7;
	EXPECT_EQ(7, at[3 * PAGE]);
	ASSERT_EQ(0, munmap(at + 2 * PAGE, 2 * PAGE));
}

/* Bytes that are written to a private mapping are the writer's alone, and stay. */
TEST_F(zero, private_copies)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, 0);
	char byte;
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, at);
	/*
	 * The first page is read first, the second is written first, and the third is left to
	 * the child.
	 */
	EXPECT_EQ(0, at[0]);
	at[0] = 1;
	at[PAGE] = 2;
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (at[0] != 1 || at[PAGE] != 2 || at[2 * PAGE])
			_exit(1);
		at[0] = 5;
		at[2 * PAGE] = 6;
		_exit(at[0] != 5 || at[2 * PAGE] != 6);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, at[0]);
	/* Cached pages are dropped after a call, but these private copies are not. */
	ASSERT_EQ(1, read(self->fd, &byte, 1));
	EXPECT_EQ(1, at[0]);
	EXPECT_EQ(2, at[PAGE]);
	EXPECT_EQ(0, at[2 * PAGE]);
	ASSERT_EQ(0, munmap(at, 3 * PAGE));
}

static volatile bool stop;

static void *read_loop(void *argument)
{
	int fd = *(int *)argument;
	char bytes[16];

	while (!stop)
		if (read(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			return "read";
	return NULL;
}

/* Pages are dropped after each call of one thread while another thread maps them. */
TEST_F_TIMEOUT(zero, drops_beside_faults, 120)
{
	const unsigned int times = getenv("VGPU_TIMES") ? 15 : 50;
	pthread_t thread;
	void *failed;
	unsigned int i, j;

	stop = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_loop, &self->fd));
	for (i = 0; i < times; i++) {
		char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd, 0);

		ASSERT_NE(MAP_FAILED, at);
		for (j = 0; j < 8; j++)
			EXPECT_EQ(0, at[j * PAGE]);
		for (j = 0; j < 8; j += 2)
			at[j * PAGE] = j + 1;
		for (j = 0; j < 8; j++)
			EXPECT_EQ(j % 2 ? 0 : j + 1, at[j * PAGE]);
		ASSERT_EQ(0, munmap(at, 8 * PAGE));
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
}

TEST_HARNESS_MAIN
