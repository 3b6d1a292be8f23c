// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test files of exports (EXPORT_FILE) with an agent that passes many and large ones to the host
 * module. The test is the agent, and a guest.
 */
#include <errno.h>

#include "agent.h"
#include "agent_played.h"

#include "kselftest_harness.h"

#define EXPORT		1
#define FILES_MAX	512
#define ROUND		64
/* All rounds together have more names than there may be files. */
#define ROUNDS		(FILES_MAX / ROUND + 2)
#define PATIENCE_MS	20000

FIXTURE(files) {
	const char *name;
	int agent;
	int control[2];
};

FIXTURE_SETUP(files)
{
	int shadow;

	if (!tool_has_host() || tool_user_engine())
		SKIP(return, "needs the host module in the same machine: loopback");
	self->name = getenv("VGPU_NAME");
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(self->name, SIGTERM));
	self->agent = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_TRUE(connect_ends(self->control));
	shadow = begin_agent(self->agent, self->control[1]);
	EXPECT_GE(shadow, 0);
	close(shadow);
}

FIXTURE_TEARDOWN(files)
{
	int fd;

	if (!self->name)
		return;
	close(self->control[0]);
	close(self->control[1]);
	close(self->agent);
	fd = agent_start(self->name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

/* Passes a file of @len zeros. Return: 0, or the errno. */
static int pass(FIXTURE_DATA(files) *self, const char *name, uint32_t len)
{
	static const char zeros[VGPU_FILE_MAX];
	struct vgpu_host_export_file file = {
		.size = sizeof(file), .export = EXPORT, .len = len, .data = (uintptr_t)zeros,
	};

	snprintf(file.name, sizeof(file.name), "%s", name);
	return ioctl(self->agent, VGPU_HOST_EXPORT_FILE, &file) ? errno : 0;
}

/* Ends a round: files that were not passed in it are gone. Return: 0, or the errno. */
static int end_round(FIXTURE_DATA(files) *self)
{
	struct vgpu_host_export_file file = {
		.size = sizeof(file), .export = EXPORT, .flags = VGPU_HOST_FILE_LAST,
	};

	return ioctl(self->agent, VGPU_HOST_EXPORT_FILE, &file) ? errno : 0;
}

/*
 * Reads the guest's messages up to the file @last. Return: how often the guest was told that the
 * file @name is gone; -1: it did not get @last.
 */
static int gone_before(FIXTURE_DATA(files) *self, const char *name, const char *last)
{
	union {
		struct vgpu_export_file file;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	int nr = 0;

	while (peer_recv(self->control[0], &msg, sizeof(msg), PATIENCE_MS) > 0) {
		if (peer_type(&msg) != VGPU_MSG_EXPORT_FILE)
			continue;
		if (!strcmp((char *)msg.file.name, last))
			return nr;
		nr += !strcmp((char *)msg.file.name, name) &&
		      (le32toh(msg.file.flags) & VGPU_FILE_GONE);
	}
	return -1;
}

/* Files that are gone leave room for as many new ones. */
TEST_F_TIMEOUT(files, come_and_go, 120)
{
	unsigned int round, i, failed = 0;
	char name[32];

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < ROUND; i++) {
			snprintf(name, sizeof(name), "file-%u-%u", round, i);
			failed += !!pass(self, name, 1);
		}
		/* The guest has these files before they go. */
		if (!round)
			EXPECT_EQ(0, gone_before(self, "file-0-0", name));
		EXPECT_EQ(0, end_round(self));
	}
	EXPECT_EQ(0, failed);
	EXPECT_EQ(0, pass(self, "last", 1));
	EXPECT_EQ(1, gone_before(self, "file-0-0", "last"));
}

/* A file has its old contents while there is no room for its new ones, and is not gone. */
TEST_F_TIMEOUT(files, grows_too_much, 120)
{
	unsigned int round, i;
	char name[32];

	for (round = 0; round < 2; round++) {
		EXPECT_EQ(round ? ENOSPC : 0, pass(self, "grows", round ? VGPU_FILE_MAX : 1));
		for (i = 0; i < 15; i++) {
			snprintf(name, sizeof(name), "file-%u", i);
			EXPECT_EQ(0, pass(self, name, VGPU_FILE_MAX));
		}
		EXPECT_EQ(0, pass(self, "half", VGPU_FILE_MAX / 2));
		EXPECT_EQ(0, end_round(self));
	}
	EXPECT_EQ(0, pass(self, "last", 1));
	EXPECT_EQ(0, gone_before(self, "grows", "last"));
	/* It is gone once the agent does not pass it any more. */
	EXPECT_EQ(0, end_round(self));
	EXPECT_EQ(0, pass(self, "very-last", 1));
	EXPECT_EQ(1, gone_before(self, "grows", "very-last"));
}

TEST_HARNESS_MAIN
