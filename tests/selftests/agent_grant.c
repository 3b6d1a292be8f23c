// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests have the host's engine refuse exports that vgpud grants. They need the host in the
 * same machine: the tiers loopback and user.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/vgpu_host.h>

#include "agent_exports.h"
#include "hostile_peer.h"

/* This is the result of the calls below: a negative errno, or 0 to let the call through. */
static volatile int *refusal;

/*
 * Installs a filter. The process that holds the filter's file answers the calls by which the
 * module is notified of a grant, or by which an engine's guest gets the device's node. Return:
 * the file, or -1.
 */
static int filter_install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mknodat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, VGPU_HOST_GRANT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       &program);
}

static void filter_serve(int fd)
{
	for (;;) {
		struct seccomp_notif_resp answer = {};
		struct seccomp_notif call = {};

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
			continue;
		answer.id = call.id;
		answer.error = *refusal;
		answer.flags = *refusal ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/*
 * Starts vgpud so that its grants can fail. Return: the process that answers the calls until it
 * is killed, or -1.
 */
static pid_t agent_run_filtered(void)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = filter_install();
	if (fd < 0)
		_exit(1);
	agent_run(NULL);
	filter_serve(fd);
	_exit(0);
}

#define NEWCOMER_PORT	22604

/* Connects as a guest and leaves, until it was accepted @times times. Return: true if it was. */
static bool newcomer_comes(unsigned int times)
{
	struct vgpu_hello hello = peer_hello_msg();
	char answer[VGPU_CONTROL_MSG_MAX];
	unsigned int tries;
	int fd;

	for (tries = 0; times && tries < 200; tries++) {
		fd = peer_connect(1, NEWCOMER_PORT, true);
		if (fd < 0)
			return false;
		/* The host may not have finished with the connection before. */
		if (peer_send(fd, &hello, sizeof(hello)) &&
		    peer_recv(fd, answer, sizeof(answer), 20000) > 0 &&
		    peer_type(answer) == VGPU_MSG_WELCOME)
			times--;
		/* vgpud grants the guest its exports before it answers this command. */
		tool_run("vgpuctl status");
		close(fd);
	}
	return !times;
}

/*
 * If a grant fails, a connected guest does not get the export, and the user who asked for it is
 * told why.
 */
TEST_F_TIMEOUT(files, grant_refused, 240)
{
	const char *words = "refused to let guest 1:22586 use config-", *name = getenv("VGPU_NAME");
	struct tool_run *run;
	uint64_t start;
	pid_t filter;
	int fd, lines;

	refusal = mmap(NULL, sizeof(*refusal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ASSERT_NE(MAP_FAILED, refusal);
	ASSERT_TRUE(agent_keep_exports());
	ASSERT_TRUE(agent_end(name, SIGTERM));
	filter = agent_run_filtered();
	ASSERT_GT(filter, 0);
	fd = agent_await(name);
	ASSERT_GE(fd, 0);
	close(fd);

	*refusal = -ENOMEM;
	run = tool_run("vgpuctl export %s --to 66 --to 1 --name config-w", getenv("VGPU_REAL"));
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, words)) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, strerror(ENOMEM))) TH_LOG("%s", run->out);
	EXPECT_FALSE(listed("^config-w "));
	run = tool_run("vgpuctl export %s --to 1 --name config-w --json", getenv("VGPU_REAL"));
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, "\"reason\":\"failed\"")) TH_LOG("%s", run->out);

	/* Other guests get the export, and other files are read, all the same. */
	ASSERT_TRUE(write_export(CONF, "config-a", "66, 1, 67", ""));
	ASSERT_TRUE(write_export(OTHER_CONF, "config-b", "67", ""));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, CONF ":1: [config-a]: ")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, words)) TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66, 67$"));
	EXPECT_TRUE(listed("^config-b .* 67$"));
	/* The error is reported as long as it lasts. */
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, words)) TH_LOG("%s", run->out);
	*refusal = 0;
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "config-a: guest 1:22586 may use it\n")) TH_LOG("%s", run->out);
	fd = tool_open_export("config-a");
	EXPECT_GE(fd, 0);
	close(fd);

	/* The guest does not keep the export on its former terms, either. */
	*refusal = -ENOMEM;
	ASSERT_TRUE(write_export(CONF, "config-a", "66, 1, 67", "read-only = yes\n"));
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(1, run->status);
	EXPECT_NE(NULL, strstr(run->out, CONF ":1: [config-a]: ")) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, words)) TH_LOG("%s", run->out);
	EXPECT_TRUE(listed("^config-a .* 66 read-only, 67 read-only$"));
	*refusal = 0;
	run = tool_run("vgpuctl reload");
	EXPECT_EQ(0, run->status) TH_LOG("%s", run->out);
	EXPECT_NE(NULL, strstr(run->out, "config-a: guest 1:22586 may use it\n")) TH_LOG("%s", run->out);

	/*
	 * The log has at most twenty lines in ten seconds of a guest that connects again and
	 * again.
	 */
	ASSERT_TRUE(write_export(CONF, "config-a", "1:22604", ""));
	ASSERT_EQ(0, tool_run("vgpuctl reload")->status);
	*refusal = -ENOMEM;
	start = tool_now_ms();
	EXPECT_TRUE(newcomer_comes(30));
	lines = logged("refused to let guest 1:22604 use config-a");
	EXPECT_LE(1, lines);
	EXPECT_GE(20 * (1 + (tool_now_ms() - start) / 10000), lines);
	*refusal = 0;

	EXPECT_TRUE(agent_end(name, SIGTERM));
	EXPECT_EQ(0, kill(filter, SIGKILL));
	EXPECT_EQ(filter, waitpid(filter, NULL, 0));
	fd = agent_start(name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_write_env());
}

TEST_HARNESS_MAIN
