// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the counters of ioctls that no schema describes: sysfs and vgpuctl show them by command.
 * The number of commands that are shown does not depend on the numbers that programs choose.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

/* The number is that of drivers/guest/base/stats.h. */
#define ROOM		16
#define CALLS		5
#define FLOOD		100

FIXTURE(unknown) {
	int fd;
	char file[64];
};

FIXTURE_SETUP(unknown)
{
	const char *tier = getenv("VGPU_TIER");
	struct stat st;

	self->fd = -1;
	if (!tier || !strcmp(tier, "native") || !getenv("VGPU_FWD"))
		SKIP(return, "nothing is forwarded");
	self->fd = open(getenv("VGPU_FWD"), O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, fstat(self->fd, &st));
	snprintf(self->file, sizeof(self->file), "/sys/dev/char/%u:%u/unknown_ioctls",
		 major(st.st_rdev), minor(st.st_rdev));
	ASSERT_EQ(0, access(self->file, R_OK));
}

FIXTURE_TEARDOWN(unknown)
{
	if (self->fd >= 0)
		close(self->fd);
}

struct counts {
	unsigned int lines;
	unsigned long long all;		/* number of calls of all commands */
	unsigned long long one;		/* number of calls of one command */
};

static struct counts count(const char *path, unsigned int cmd)
{
	struct counts counts = { 0 };
	FILE *file = fopen(path, "r");
	unsigned long long calls;
	unsigned int number;
	char line[64];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "others %llu", &calls) == 1) {
			counts.all += calls;
			continue;
		}
		if (sscanf(line, "0x%x %llu\n", &number, &calls) != 2)
			abort();
		counts.lines++;
		counts.all += calls;
		if (number == cmd)
			counts.one = calls;
	}
	if (file)
		fclose(file);
	return counts;
}

TEST_F(unknown, by_command)
{
	const unsigned int cmd = VGPU_MOCK_IOC_NOOP | VGPU_MOCK_UNDESCRIBED_BIT;
	struct counts before, after;
	unsigned int i;
	char text[32];

	before = count(self->file, cmd);
	for (i = 0; i < CALLS; i++) {
		EXPECT_EQ(0, ioctl(self->fd, cmd, NULL));
		/* A schema describes this ioctl. */
		EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, NULL));
	}
	after = count(self->file, cmd);
	EXPECT_EQ(before.all + CALLS, after.all);
	EXPECT_EQ(before.one + CALLS, after.one);
	EXPECT_EQ(0, count(self->file, VGPU_MOCK_IOC_NOOP).one);
	snprintf(text, sizeof(text), "%#010x (%llu)", cmd, after.one);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl list")->out, text))
		TH_LOG("no %s", text);
	snprintf(text, sizeof(text), "\"command\":\"%#010x\"", cmd);
	EXPECT_NE(NULL, strstr(tool_run("vgpuctl list --json")->out, text))
		TH_LOG("no %s", text);
}

/* A command that is called often stays in the list, whatever commands are called once. */
TEST_F(unknown, bounded)
{
	const unsigned int often = _IO('y', 0);
	struct counts before = count(self->file, often), after;
	unsigned int i;

	/* The command is called more often than other tests have called most of their commands. */
	for (i = 0; i < 3 * FLOOD; i++)
		EXPECT_EQ(-1, ioctl(self->fd, often, NULL));
	for (i = 1; i <= FLOOD; i++)
		EXPECT_EQ(-1, ioctl(self->fd, _IO('y', i), NULL));
	after = count(self->file, often);
	EXPECT_EQ(ROOM, after.lines);
	EXPECT_EQ(before.all + 4 * FLOOD, after.all);
	EXPECT_LE(3 * FLOOD, after.one);
}

TEST_HARNESS_MAIN
