// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that kernel memory which a program's calls take is charged to the program's control
 * group.
 */
#include <sys/mount.h>

#include "vgpu_diff.h"

#define MIB		(1UL << 20)
/* A call may take 16 MiB of memory (call-bytes). */
#define REPLY		(8 * MIB)

static char group[64] = "/tmp/vgpu-group-XXXXXX";

static bool write_to(const char *name, const char *text)
{
	char file[128];
	int fd, ret;

	snprintf(file, sizeof(file), "%s/%s", group, name);
	fd = open(file, O_WRONLY);
	if (fd < 0)
		return false;
	ret = write(fd, text, strlen(text));
	close(fd);
	return ret == (int)strlen(text);
}

static long read_from(const char *name)
{
	char file[128];
	long value = -1;
	FILE *stream;

	snprintf(file, sizeof(file), "%s/%s", group, name);
	stream = fopen(file, "r");
	if (!stream)
		return -1;
	if (fscanf(stream, "%ld", &value) != 1)
		value = -1;
	fclose(stream);
	return value;
}

/*
 * Makes a call in the control group. Return: growth of the group's peak memory by the call in
 * MiB, or 201 to 203 on errors.
 */
static int reply_takes(void)
{
	void *data = mmap(NULL, REPLY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vgpu_mock_large large = { .ptr = (uintptr_t)data, .length = 4096, .seed = 3 };
	int fd = open(getenv("VGPU_FWD"), O_RDWR);
	long before, now;

	if (fd < 0 || data == MAP_FAILED)
		return 201;
	memset(data, 1, REPLY);
	/* The first call takes memory that is kept, so it is not counted. */
	if (ioctl(fd, VGPU_MOCK_IOC_LARGE_OUT, &large))
		return 202;
	large.length = REPLY;
	before = read_from("new/memory.peak");
	if (ioctl(fd, VGPU_MOCK_IOC_LARGE_OUT, &large))
		return 203;
	now = read_from("new/memory.peak");
	printf("# peak %ld, then %ld\n", before, now);
	fflush(stdout);
	return (now - before) / MIB;
}

FIXTURE(account) {
	bool mounted;
};

FIXTURE_SETUP(account)
{
	char *node = getenv("VGPU_FWD"), *real = getenv("VGPU_REAL");
	char name[128];

	if (!node || !real || !diff_forwarded(real, node) || geteuid())
		SKIP(return, "needs a forwarded device, and root");
	ASSERT_NE(NULL, mkdtemp(group));
	if (mount("none", group, "cgroup2", 0, NULL))
		SKIP(return, "no cgroup2 here");
	self->mounted = true;
	snprintf(name, sizeof(name), "%s/new", group);
	if (!write_to("cgroup.subtree_control", "+memory") || mkdir(name, 0700) ||
	    read_from("new/memory.peak") < 0)
		SKIP(return, "no memory.peak here");
}

FIXTURE_TEARDOWN(account)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/new", group);
	rmdir(name);
	if (self->mounted)
		umount(group);
	rmdir(group);
}

TEST_F(account, replies)
{
	int status;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(write_to("new/cgroup.procs", "0") ? reply_takes() : 200);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	TH_LOG("%d MiB more", WEXITSTATUS(status));
	EXPECT_LE((int)(REPLY / MIB) - 1, WEXITSTATUS(status));
	EXPECT_GT(100, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
