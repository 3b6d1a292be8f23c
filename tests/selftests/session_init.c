// SPDX-License-Identifier: GPL-2.0-only
/*
 * Init of the guest's module connects to no host before nothing of it can fail any more: a program
 * that had opened a device would run the module's code, which the kernel frees when init fails.
 * The test is the first of two hosts, and init has no memory for the second one's thread.
 */
#include <errno.h>
#include <poll.h>

#include "host_played.h"
#include "slow.h"

#include "kselftest_harness.h"

#define PATIENCE_MS	30000
/* Time in ms for which a guest that connects too early may do so. */
#define EARLY_MS	3000

/* Starts to load the module for two hosts, in another process. Return: the process, or -1. */
static pid_t load(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	_exit(tool_run("modprobe vgpu_guest cid=1,1 port=%d,%d", PORT, PORT + 1)->status);
}

static bool await_slow(void)
{
	uint64_t end = tool_now_ms() + PATIENCE_MS;

	while (!slow_waits() && tool_now_ms() < end)
		usleep(20000);
	return slow_waits();
}

TEST(fails_before_it_connects)
{
	struct pollfd pfd = { .events = POLLIN };
	int status;
	pid_t pid;

	if (native())
		SKIP(return, "nothing is forwarded");
	if (geteuid())
		SKIP(return, "needs root");
	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	tool_run("modprobe -q vsock_loopback");
	ASSERT_TRUE(host_listen(PORT));
	ASSERT_EQ(0, tool_run("rmmod vgpu_guest")->status);
	ASSERT_TRUE(slow_start_with("kthread_create_on_node", "comm=modprobe skip=1 error=12"));
	pid = load();
	ASSERT_GT(pid, 0);
	ASSERT_TRUE(await_slow());
	pfd.fd = listener;
	EXPECT_EQ(0, poll(&pfd, 1, EARLY_MS));
	ASSERT_TRUE(tool_write(SLOW_GO, "1"));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status));
	EXPECT_NE(0, access("/sys/module/vgpu_guest", F_OK));
	EXPECT_TRUE(slow_stop());
	/* Both hosts are connected by an init that succeeds. */
	close(listener);
	ASSERT_EQ(0, hosts_begin());
	host_end();
}

PLAYED_MAIN
