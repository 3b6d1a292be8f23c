/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts that tests of the setting 'lasting' share: vgpud with this setting, and programs that need
 * it. The tests need the host in the same machine: the tiers loopback and user.
 */
#ifndef AGENT_LASTING_H
#define AGENT_LASTING_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

/* Default of vgpud's setting lasting-timeout-ms. */
#define LASTING_MS	60000

/* Starts a program that opens the device and makes a call. Return: its pid; it exits with errno. */
static inline pid_t newcomer(const char *node)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "newcomer");
	fd = open(node, O_RDWR);
	_exit(fd < 0 || ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) ? errno : 0);
}

static inline int result_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits for the answer of vgpud to @want, which begins a part of its status. */
static inline bool await_status(const char *want)
{
	uint64_t end = tool_now_ms() + 40000;

	while (!strstr(tool_status(), want)) {
		if (tool_now_ms() >= end)
			return false;
		usleep(50000);
	}
	return true;
}

static inline bool await_agent(void)
{
	return await_status("\"sessions\"");
}

/* A test that looks at what the module keeps defines this as true, before it includes this file. */
#ifndef LASTING_NEEDS_MODULE
#define LASTING_NEEDS_MODULE	false
#endif

static inline bool lasting_can_run(void)
{
	return tool_has_host() && !(LASTING_NEEDS_MODULE && tool_user_engine());
}

FIXTURE(lasting) {
	char node[64];
	int fd;
};

FIXTURE_SETUP(lasting)
{
	self->fd = -1;
	if (!lasting_can_run())
		SKIP(return, "needs the host, or the host's module, in the same machine");
	ASSERT_TRUE(agent_keep_exports());
	/* The exports are those of the file from here on, as they have to be there again. */
	ASSERT_TRUE(agent_start_with(getenv("VGPU_NAME"), "[agent]\nlasting = yes\n"));
	self->fd = agent_open(getenv("VGPU_NAME"));
	ASSERT_GE(self->fd, 0);
	ASSERT_TRUE(agent_node(getenv("VGPU_NAME"), self->node));
}

FIXTURE_TEARDOWN(lasting)
{
	close(self->fd);
	if (!lasting_can_run())
		return;
	EXPECT_TRUE(agent_start_with(getenv("VGPU_NAME"), ""));
	EXPECT_TRUE(agent_write_env());
}

#endif /* AGENT_LASTING_H */
