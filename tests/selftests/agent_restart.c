// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpud is killed and started again: what was open is lost with plain errors
 * and at once, no shadow stays, and new opens work. Needs the host in the same
 * machine: the loopback tier.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "tool.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define CONF	"/etc/vgpu/exports.d/agent_restart.conf"

/* Exports made by vgpuctl end with the agent: write those that are there down. */
static bool keep_exports(void)
{
	char *line, *rest = tool_run("vgpuctl list --json")->out, *at;
	char name[64] = "", path[128], cid[32] = "", port[32] = "";
	FILE *file;

	if (system("mkdir -p /etc/vgpu/exports.d"))
		return false;
	file = fopen(CONF, "w");
	if (!file)
		return false;
	/* Pretty-printed JSON: one member a line, in a fixed order. */
	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "\"guest\""))
			break;
		if ((at = strstr(line, "\"name\":")))
			sscanf(at, "\"name\":\"%63[^\"]", name);
		else if ((at = strstr(line, "\"path\":")) &&
			 sscanf(at, "\"path\":\"%127[^\"]", path) == 1)
			fprintf(file, "[%s]\npath = %s\n", name, path);
		else if (name[0] && strstr(line, "\"master\":true"))
			fputs("master = yes\n", file);
		else if (name[0] && (at = strstr(line, "\"cid\":")))
			sscanf(at, "\"cid\":%31[0-9]", cid);
		else if (name[0] && (at = strstr(line, "\"port\":")) &&
			 sscanf(at, "\"port\":%31[0-9]", port) == 1)
			fprintf(file, "to = %s:%s\n", cid, port);
		else if (name[0] && strstr(line, "\"any_port\":true"))
			fputs("any-port = yes\n", file);
	}
	return !fclose(file) && name[0];
}

/* The forwarded device may come back under another number. */
static int open_forwarded(const char *name)
{
	struct tool_run *run;
	char node[64] = "";
	int fd;

	run = tool_run("for d in /sys/class/vgpu/*; do [ \"$(cat $d/name)\" = %s ] && echo /dev/${d##*/}; done",
		       name);
	sscanf(run->out, "%63s", node);
	fd = open(node, O_RDWR);
	if (fd >= 0 && ioctl(fd, VGPU_MOCK_IOC_NOOP, 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static pid_t start_agent(void)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		setsid();
		fd = open("/run/vgpud.log", O_WRONLY | O_APPEND | O_CREAT, 0644);
		dup2(fd, 1);
		dup2(fd, 2);
		close_range(3, ~0U, 0);
		execlp("vgpud", "vgpud", NULL);
		_exit(127);
	}
	return pid;
}

/* A call that blocks in the driver until its connection is gone. */
static void *blocked_call(void *data)
{
	struct vgpu_mock_sleep sleep = {
		.ms = 30000,
		.mode = VGPU_MOCK_SLEEP_INTERRUPTIBLE,
	};
	static long result;

	result = ioctl(*(int *)data, VGPU_MOCK_IOC_SLEEP, &sleep) ? errno : 0;
	return &result;
}

static void restart(struct __test_metadata *_metadata, int signal)
{
	const char *name = getenv("VGPU_NAME");
	struct pollfd pfd = { .events = POLLIN };
	pthread_t thread;
	uint64_t start;
	void *result;
	pid_t pid;
	int fd, new_fd = -1;

	fd = open_forwarded(name);
	ASSERT_GE(fd, 0);
	pfd.fd = fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, blocked_call, &fd));
	usleep(300000);
	EXPECT_GT(tool_processes("/vgpu-shadow", NULL), 0);

	ASSERT_EQ(1, tool_processes("/vgpud", &pid));
	ASSERT_EQ(0, kill(pid, signal));
	start = tool_now_ms();
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(ENODEV, *(long *)result);
	EXPECT_LT(tool_now_ms() - start, 1500);
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(POLLHUP | POLLERR, pfd.revents & (POLLHUP | POLLERR));
	while (tool_processes("/vgpu-shadow", NULL) && tool_now_ms() - start < 3000)
		usleep(20000);
	EXPECT_EQ(0, tool_processes("/vgpu-shadow", NULL));

	start_agent();
	while ((new_fd = open_forwarded(name)) < 0 && tool_now_ms() - start < 30000)
		usleep(100000);
	EXPECT_GE(new_fd, 0);
	/* What was lost stays lost. */
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(ENODEV, errno);
	close(new_fd);
	close(fd);
}

FIXTURE(agent) {
};

FIXTURE_SETUP(agent)
{
	const char *tier = getenv("VGPU_TIER");

	if (!tier || strcmp(tier, "loopback"))
		SKIP(return, "needs the host in the same machine: loopback");
	ASSERT_TRUE(keep_exports());
}

FIXTURE_TEARDOWN(agent)
{
	/* Numbers may have changed: the tests that follow look there. */
	if (!access("/usr/lib/vgpu-test/setup", X_OK))
		EXPECT_EQ(0, tool_run("/usr/lib/vgpu-test/setup env")->status);
}

TEST_F_TIMEOUT(agent, killed, 60)
{
	restart(_metadata, SIGKILL);
}

TEST_F_TIMEOUT(agent, terminated, 60)
{
	restart(_metadata, SIGTERM);
}

TEST_HARNESS_MAIN
