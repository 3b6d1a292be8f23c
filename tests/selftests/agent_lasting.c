// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpud with the setting 'lasting' ends without an order to end its guests, by a crash or for an
 * upgrade, and is started again. Programs go on and notice nothing. The tests need the host in the
 * same machine: the tiers loopback and user.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent_lasting.h"

#define PAGE		4096
/* Signal that ends vgpud and leaves its guests to the next one. */
#define LEAVE_SIGNAL	SIGUSR2

/* Makes a call that sleeps in the driver until another call wakes it. Return: 0, or its errno. */
static void *blocked_call(void *data)
{
	struct vgpu_mock_wait wait = { .slot = 1, .target = 1 };

	return (void *)(long)(ioctl(*(int *)data, VGPU_MOCK_IOC_WAIT, &wait) ? errno : 0);
}

/* Waits until the file is ready. Return: the events, or -1. */
static void *pending_poll(void *data)
{
	struct pollfd pfd = { .fd = *(int *)data, .events = POLLIN };

	return (void *)(long)(poll(&pfd, 1, 60000) == 1 ? pfd.revents : -1);
}

static int arm(int fd, __u32 events)
{
	struct vgpu_mock_poll argument = { .events = events };

	return ioctl(fd, VGPU_MOCK_IOC_POLL_ARM, &argument);
}

/* Return: the driver has a call that waits on this file. */
static bool await_waiter(int fd)
{
	struct vgpu_mock_wait wake = { .slot = 1 };
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (!ioctl(fd, VGPU_MOCK_IOC_WAKE, &wake) && wake.out_waiters == 1)
			return true;
		usleep(10000);
	}
	return false;
}

static void one_restart(struct __test_metadata *_metadata, int fd, int poll_fd, const char *node,
			volatile char *memory, int signal)
{
	struct vgpu_mock_wait wake = { .slot = 1, .target = 1 };
	struct vgpu_mock_wait reset = { .slot = 1, .target = -1U };
	pthread_t caller, poller;
	pid_t shadow, early, other;
	int pidfd, opened;
	void *result;
	char was;

	ASSERT_EQ(0, arm(poll_fd, 0));
	ASSERT_EQ(0, pthread_create(&poller, NULL, pending_poll, &poll_fd));
	ASSERT_EQ(0, pthread_create(&caller, NULL, blocked_call, &fd));
	ASSERT_TRUE(await_waiter(fd));
	shadow = tool_shadow_of("agent_lasting");
	EXPECT_GT(shadow, 0);
	was = memory[PAGE];

	pidfd = agent_kill(signal);
	ASSERT_GE(pidfd, 0);
	/* A program may begin at any moment: while vgpud ends, and while there is none. */
	early = newcomer(node);
	ASSERT_TRUE(agent_gone(pidfd));
	other = newcomer(node);
	EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	opened = open(node, O_RDWR);
	EXPECT_GE(opened, 0);
	EXPECT_EQ(was, memory[PAGE]);
	memory[PAGE] = was + 1;

	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(0, result_of(early));
	EXPECT_EQ(0, result_of(other));
	EXPECT_EQ(0, ioctl(opened, VGPU_MOCK_IOC_NOOP, 0));
	close(opened);
	EXPECT_EQ(was + 1, memory[PAGE]);
	EXPECT_EQ(shadow, tool_shadow_of("agent_lasting"));

	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_WAKE, &wake));
	ASSERT_EQ(0, pthread_join(caller, &result));
	EXPECT_EQ(0, (long)result);
	EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_WAKE, &reset));
	ASSERT_EQ(0, arm(poll_fd, EPOLLIN));
	ASSERT_EQ(0, pthread_join(poller, &result));
	EXPECT_EQ(POLLIN, (long)result);
}

/*
 * A program with open files, memory of a device, a call that waits in the driver and a poll goes
 * on, with the same shadow, and new programs wait until vgpud is back.
 */
TEST_F_TIMEOUT(lasting, programs_go_on, 280)
{
	struct vgpu_mock_buf_create create = { .size = 3 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	const unsigned int nr = getenv("VGPU_TIMES") ? 20 : 100;
	unsigned int i;
	int poll_fd;
	char *memory;

	ASSERT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		      create.out_offset);
	ASSERT_NE(MAP_FAILED, memory);
	poll_fd = open(self->node, O_RDWR);
	ASSERT_GE(poll_fd, 0);
	for (i = 0; i < nr && !_metadata->exit_code; i++)
		one_restart(_metadata, self->fd, poll_fd, self->node, memory,
			    i % 2 ? LEAVE_SIGNAL : SIGKILL);
	TH_LOG("%u restarts", i);
	munmap(memory, 3 * PAGE);
	close(poll_fd);
}

/* A shadow that dies while there is no vgpud is cleaned up by the next one, and only it is lost. */
TEST_F_TIMEOUT(lasting, shadow_dies_meanwhile, 120)
{
	pid_t child, shadow;
	int pidfd, pipes[2];
	uint64_t end;
	char byte;

	ASSERT_EQ(0, pipe(pipes));
	child = fork();
	if (!child) {
		int fd;

		prctl(PR_SET_NAME, "short_lived");
		fd = open(self->node, O_RDWR);
		close(pipes[1]);
		while (!ioctl(fd, VGPU_MOCK_IOC_NOOP, 0))
			usleep(20000);
		_exit(errno);
	}
	close(pipes[1]);
	EXPECT_EQ(0, read(pipes[0], &byte, 1));
	close(pipes[0]);
	shadow = tool_shadow_of("short_lived");
	ASSERT_GT(shadow, 0);
	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	ASSERT_EQ(0, kill(shadow, SIGKILL));
	EXPECT_EQ(ENODEV, result_of(child));
	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	for (end = tool_now_ms() + 20000; tool_counter("sessions") != 1; usleep(20000))
		ASSERT_LT(tool_now_ms(), end);
	EXPECT_EQ(0, result_of(newcomer(self->node)));
}

/* If no vgpud comes, everything ends when the time of the settings is over, and not before. */
TEST_F_TIMEOUT(lasting, time_is_over, 120)
{
	const char *name = getenv("VGPU_NAME");
	uint64_t start;
	int pidfd;

	close(self->fd);
	ASSERT_TRUE(agent_start_with(name, "[agent]\nlasting = yes\nlasting-timeout-ms = 8000\n"));
	self->fd = agent_open(name);
	ASSERT_GE(self->fd, 0);
	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	start = tool_now_ms();
	while (!ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0) && tool_now_ms() < start + LASTING_MS - 10000)
		usleep(20000);
	EXPECT_EQ(ENODEV, errno);
	EXPECT_GE(tool_now_ms(), start + 7000);
	EXPECT_TRUE(agent_await_none(tool_shadow(), tool_now_ms() + 20000));
	close(self->fd);
	self->fd = agent_start(name);
	EXPECT_GE(self->fd, 0);
}

/*
 * No process takes connections while there is no vgpud: a guest that connects again and again is
 * reset, and the next vgpud finds none of its connections.
 */
TEST_F_TIMEOUT(lasting, flood_meanwhile, 120)
{
	const struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_LOCAL, .svm_port = 22586,
	};
	int pidfd, sock, i, refused = 0;

	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	for (i = 0; i < 200; i++) {
		sock = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ASSERT_GE(sock, 0);
		refused += connect(sock, (const struct sockaddr *)&addr, sizeof(addr)) < 0;
		close(sock);
	}
	EXPECT_EQ(200, refused);
	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(0, result_of(newcomer(self->node)));
}

/* Waits for a uevent of a forwarded card about its displays. Return: it came. */
static bool await_hotplug(int uevents)
{
	struct pollfd pfd = { .fd = uevents, .events = POLLIN };
	uint64_t end = tool_now_ms() + 20000;
	bool ours, hotplug;
	char text[8192];
	ssize_t len, at;

	while (tool_now_ms() < end) {
		if (poll(&pfd, 1, 1000) != 1)
			continue;
		len = recv(uevents, text, sizeof(text) - 1, 0);
		text[len > 0 ? len : 0] = '\0';
		ours = !strncmp(text, "change@", 7) && strstr(text, "vgpu");
		for (hotplug = false, at = 0; at < len; at += strlen(text + at) + 1)
			hotplug |= !strcmp(text + at, "HOTPLUG=1");
		if (ours && hotplug)
			return true;
	}
	return false;
}

/* The uevents of the time without vgpud are lost, so guests with a card look at its displays. */
TEST_F_TIMEOUT(lasting, displays_meanwhile, 120)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int pidfd, uevents;

	if (tool_run("vgpuctl list --json | grep -q '\"path\":.*/dev/dri/card'")->status)
		SKIP(return, "no card is exported");
	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	ASSERT_EQ(0, bind(uevents, (struct sockaddr *)&addr, sizeof(addr)));
	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	EXPECT_TRUE(await_hotplug(uevents));
	close(uevents);
}

TEST_HARNESS_MAIN
