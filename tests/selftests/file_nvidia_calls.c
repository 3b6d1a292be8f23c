// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests use the stand-in for NVIDIA's driver in a guest: its events, the numbers that it
 * gives processes, and calls that no schema describes.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "../../drivers/common/nvidia_rm.h"
#include "vgpu_mock_nvidia.h"
#include "agent.h"
#include "host_played.h"
#include "nvidia_node.h"

#include "kselftest_harness.h"

/*
 * The host is a real one here, and its driver is the stand-in. As the stand-in is in this
 * machine, the guest has no nodes of NVIDIA's names, and its files are /dev/vgpuN.
 */
FIXTURE(stand_in) {
	int control;
	int card;
};

static int shown_as(const char *name)
{
	int fd = tool_open_export(name);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : tool_find_export(name);
}

static bool export_stand_in(FIXTURE_DATA(stand_in) *self)
{
	if (tool_run("vgpuctl export /dev/nvidiactl --to 1 --name stand-in-control && "
		     "vgpuctl export /dev/nvidia0 --to 1 --name stand-in-card")->status)
		return false;
	self->control = shown_as("stand-in-control");
	self->card = shown_as("stand-in-card");
	return self->control >= 0 && self->card >= 0;
}

static void unexport_stand_in(void)
{
	tool_run("vgpuctl unexport stand-in-control --force; vgpuctl unexport stand-in-card --force");
}

FIXTURE_SETUP(stand_in)
{
	/* The teardown does not run after a SKIP here. */
	if (!native() && !tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_EQ(tool_run("modprobe " STAND_IN)->status, 0);
	ASSERT_EQ(tool_run("mknod /dev/nvidiactl c 195 255 && mknod /dev/nvidia0 c 195 0")->status, 0);
	if (native())
		return;
	/* The guest module may still have this test as its host, from tests that play a host. */
	if (guest_is_ours() || access("/sys/module/vgpu_guest", F_OK))
		ASSERT_TRUE(restore());
	ASSERT_TRUE(export_stand_in(self));
}

FIXTURE_TEARDOWN(stand_in)
{
	unexport_stand_in();
	tool_run("rm -f /dev/nvidiactl /dev/nvidia0");
	/* The module stays until the last file is closed. */
	EXPECT_EQ(tool_run("for i in $(seq 600); do rmmod " STAND_IN " 2>/dev/null && exit 0; "
			   "busybox usleep 50000; done; exit 1")->status, 0);
}

/*
 * Has nvidia_events.c use OS events, which the driver finds by numbers of files, natively and
 * forwarded.
 */
static void use_events(struct __test_metadata *_metadata, const FIXTURE_DATA(stand_in) *self,
		       const char *what)
{
	static const char tool[] = "timeout 100 /usr/lib/vgpu-test/tools/nvidia_events";
	struct tool_run *run;

	/* Native runs are left out where time is short: they are the same in all machines. */
	if (native() || !getenv("VGPU_TIMES")) {
		run = tool_run("%s /dev/nvidiactl /dev/nvidia0 %s", tool, what);
		EXPECT_EQ(run->status, 0)
			TH_LOG("natively: %s", run->out);
		if (run->status || native())
			return;
	}
	run = tool_run("%s /dev/vgpu%d /dev/vgpu%d %s", tool, self->control, self->card, what);
	EXPECT_EQ(run->status, 0)
		TH_LOG("forwarded: %s", run->out);
}

TEST_F_TIMEOUT(stand_in, events, 240)
{
	use_events(_metadata, self, "plain");
}

TEST_F_TIMEOUT(stand_in, events_of_threads, 240)
{
	use_events(_metadata, self, "threads");
}

TEST_F_TIMEOUT(stand_in, events_of_closed_files, 240)
{
	use_events(_metadata, self, "closes");
}

TEST_F_TIMEOUT(stand_in, events_of_clients, 240)
{
	use_events(_metadata, self, "clients");
}

TEST_F_TIMEOUT(stand_in, events_of_a_child, 240)
{
	if (tool_user_engine())
		SKIP(return, "each process of this engine has numbers of its own");
	use_events(_metadata, self, "child");
}

/* Returns the state of a process as in /proc, or 0 if there is none of that number. */
static char state_of(pid_t pid)
{
	char path[32], line[256];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	tool_read_line(path, line, sizeof(line));
	end = strrchr(line, ')');
	return end && end[1] ? end[2] : 0;
}

static bool state_becomes(pid_t pid, char state)
{
	uint64_t deadline = tool_now_ms() + 30000;

	while (state_of(pid) != state && tool_now_ms() < deadline)
		usleep(20000);
	return state_of(pid) == state;
}

/* The test and its child processes share these files. */
enum { CONTROL = 200, REGISTERED, OTHER };

static bool open_as(const char *path, int fd)
{
	int opened = open(path, O_RDWR);

	return opened >= 0 && dup2(opened, fd) == fd && !close(opened);
}

/*
 * Has a process make a client on the file @fd, which the process opens if it is not open, and
 * registers with the file @control unless that is -1. The process shares the test's files, but
 * not its memory. Return: the pid of its shadow, which has ended and is a zombie, or 0 if
 * something failed.
 */
static pid_t make_client(const char *path, int fd, int control)
{
	struct rm_alloc args = { .class = RM_CLASS_CLIENT };
	struct rm_register tie = { .control = control };
	struct pollfd ready = { .events = POLLIN };
	int made[2], status;
	pid_t pid, shadow;
	char byte;

	if (pipe2(made, O_CLOEXEC))
		return 0;
	ready.fd = made[0];
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		prctl(PR_SET_NAME, "makes-a-client");
		byte = (fcntl(fd, F_GETFD) >= 0 || open_as(path, fd)) &&
			(control < 0 || !ioctl(fd, RM_IOCTL_REGISTER, &tie)) &&
			!ioctl(fd, RM_IOCTL_ALLOC, &args) && !args.status;
		if (write(made[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	if (pid < 0 || poll(&ready, 1, 60000) != 1 || read(made[0], &byte, 1) != 1)
		byte = 0;
	shadow = byte ? tool_shadow_of("makes-a-client") : 0;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	close(made[0]);
	close(made[1]);
	return shadow && state_becomes(shadow, 'Z') ? shadow : 0;
}

/*
 * Makes a client on one more file, closes the file, and waits until that client's shadow, a
 * zombie, is reaped. Earlier zombies that could be reaped are gone by then. Return: true if it was.
 */
static bool others_are_reaped(const char *path)
{
	pid_t shadow = make_client(path, OTHER, -1);

	return shadow && !close(OTHER) && state_becomes(shadow, 0);
}

/*
 * The driver knows the owner of a client by its pid alone, so no other process gets the pid
 * while the client's file is open.
 */
TEST_F_TIMEOUT(stand_in, number_of_a_process, 240)
{
	char path[32];
	pid_t opened, used;

	if (native())
		SKIP(return, "nothing is forwarded");
	snprintf(path, sizeof(path), "/dev/vgpu%d", self->control);
	ASSERT_NE(opened = make_client(path, CONTROL, -1), 0);
	/* This process has not opened the file. */
	ASSERT_NE(used = make_client(path, CONTROL, -1), 0);
	ASSERT_TRUE(others_are_reaped(path));
	EXPECT_EQ(state_of(opened), 'Z');
	EXPECT_EQ(state_of(used), 'Z');
	ASSERT_EQ(close(CONTROL), 0);
	EXPECT_TRUE(state_becomes(opened, 0));
	EXPECT_TRUE(state_becomes(used, 0));
}

/* A client of a file that is registered with another file lives as long as that other file. */
TEST_F_TIMEOUT(stand_in, number_of_a_process_by_a_registered_file, 240)
{
	pid_t registers, uses;
	char path[32];

	if (native())
		SKIP(return, "nothing is forwarded");
	snprintf(path, sizeof(path), "/dev/vgpu%d", self->control);
	ASSERT_TRUE(open_as(path, CONTROL));
	ASSERT_NE(registers = make_client(path, REGISTERED, CONTROL), 0);
	ASSERT_NE(uses = make_client(path, REGISTERED, -1), 0);
	ASSERT_EQ(close(REGISTERED), 0);
	ASSERT_TRUE(others_are_reaped(path));
	EXPECT_EQ(state_of(registers), 'Z');
	EXPECT_EQ(state_of(uses), 'Z');
	ASSERT_EQ(close(CONTROL), 0);
	EXPECT_TRUE(state_becomes(registers, 0));
	EXPECT_TRUE(state_becomes(uses, 0));
}

/* A guest with too many zombies can start no further session until it closes files. */
TEST_F_TIMEOUT(stand_in, numbers_of_many_processes, 240)
{
	const char *mock = getenv("VGPU_NAME");
	pid_t shadow = 0;
	char path[32];
	int i;

	if (native())
		SKIP(return, "nothing is forwarded");
	unexport_stand_in();
	ASSERT_TRUE(agent_keep_exports());
	EXPECT_TRUE(agent_start_with(mock, "[limits]\nsessions = 3\nsession-rate = 2\n"));
	EXPECT_TRUE(export_stand_in(self));
	snprintf(path, sizeof(path), "/dev/vgpu%d", self->control);
	for (i = 0; i < 16; i++)
		EXPECT_NE(shadow = make_client(path, CONTROL, -1), 0)
			TH_LOG("%d", i);
	EXPECT_NE(tool_run("grep -q 'cannot start a shadow: 16 ended ones still have open files' /run/vgpud.log")->status, 0);
	EXPECT_EQ(make_client(path, CONTROL, -1), 0);
	EXPECT_EQ(tool_run("grep -q 'cannot start a shadow: 16 ended ones still have open files' /run/vgpud.log")->status, 0);
	EXPECT_EQ(close(CONTROL), 0);
	EXPECT_TRUE(state_becomes(shadow, 0));
	EXPECT_TRUE(others_are_reaped(path));
	unexport_stand_in();
	EXPECT_TRUE(agent_start_with(mock, ""));
	EXPECT_TRUE(agent_write_env());
	EXPECT_TRUE(export_stand_in(self));
}

static bool one_vgpud(void)
{
	uint64_t end = tool_now_ms() + 60000;

	while (tool_processes("/vgpud", NULL) != 1) {
		if (tool_now_ms() >= end)
			return false;
		usleep(20000);
	}
	return true;
}

/*
 * vgpud forks for shadows while one of its threads, which has the card open as long as a guest
 * has it, starts or ends.
 */
TEST_F_TIMEOUT(stand_in, shadows_beside_a_thread, 300)
{
	const char *mock = getenv("VGPU_NAME");
	int i;

	if (native())
		SKIP(return, "nothing is forwarded");
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, tool_run("for i in 1 2 3 4; do sh -c ': </dev/vgpu%d' & done\n"
				      "vgpuctl unexport stand-in-card --force && "
				      "vgpuctl export /dev/nvidia0 --to 1 --name stand-in-card\n"
				      "done=$?; wait; exit $done", tool_find_export(mock))->status);
	EXPECT_TRUE(one_vgpud());
}

/*
 * Returns how often an object of that class was made with parameters for which there is no
 * schema.
 */
static int unknown_classes(int node, unsigned int class)
{
	return atoi(tool_run("sed -n 's/^%#010x class %#010x //p' /sys/class/vgpu/vgpu%d/unknown_ioctls",
			     (unsigned int)RM_IOCTL_ALLOC, class, node)->out);
}

/* Unknown classes are counted if a program gives parameters. */
TEST_F_TIMEOUT(stand_in, unknown_classes, 120)
{
	static const struct {
		unsigned int class;
		bool params;
		int counted;
	} cases[] = {
		{ 0xc1d0, true, 1 }, { 0xc1d0, true, 2 }, { 0xc1d0, false, 2 }, { 0xc1d1, false, 0 },
		/* known classes */
		{ RM_CLASS_CLIENT, true, 0 }, { RM_CLASS_DEVICE, true, 0 }, { 0xd1fa, true, 0 },
	};
	char params[64] = "", path[32], words[80];
	struct rm_alloc args;
	struct tool_run *run;
	int fd;
	size_t i;

	if (native())
		SKIP(return, "nothing is forwarded");
	snprintf(path, sizeof(path), "/dev/vgpu%d", self->control);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		args = (struct rm_alloc) {
			.class = cases[i].class,
			.params = cases[i].params ? (uintptr_t)params : 0,
		};
		EXPECT_EQ(ioctl(fd, RM_IOCTL_ALLOC, &args), 0);
		EXPECT_EQ(unknown_classes(self->control, cases[i].class), cases[i].counted)
			TH_LOG("%zu: class %#x", i, cases[i].class);
	}
	close(fd);
	run = tool_run("vgpuctl list | grep '^%s:'", path);
	snprintf(words, sizeof(words), "ioctls without a schema: %#010x class 0x0000c1d0 (2)",
		 (unsigned int)RM_IOCTL_ALLOC);
	EXPECT_NE(strstr(run->out, words), NULL)
		TH_LOG("%s", run->out);
	run = tool_run("vgpuctl list --json | grep -A1 %#010x", (unsigned int)RM_IOCTL_ALLOC);
	EXPECT_NE(strstr(run->out, "\"class\":\"0x0000c1d0\""), NULL)
		TH_LOG("%s", run->out);
}

static int unknown_commands(int node, unsigned int command)
{
	return atoi(tool_run("sed -n 's/^%#010x command %#010x //p' /sys/class/vgpu/vgpu%d/unknown_ioctls",
			     (unsigned int)VGPU_MOCK_NVIDIA_CONTROL, command, node)->out);
}

/* Commands of RM_CONTROL that have a pointer and no schema work, and are counted. */
TEST_F_TIMEOUT(stand_in, unknown_commands, 120)
{
	struct vgpu_mock_nvidia_follow follow = { 0 };
	struct vgpu_mock_nvidia_control args = {
		.cmd = VGPU_MOCK_NVIDIA_FOLLOW, .size = sizeof(follow), .params = (uintptr_t)&follow,
	};
	__u32 number = 0x76677075;
	struct tool_run *run;
	char path[32], words[80];
	int fd, times;

	follow.number = (uintptr_t)&number;
	snprintf(path, sizeof(path), native() ? "/dev/nvidiactl" : "/dev/vgpu%d", self->control);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	for (times = 1; times <= 2; times++) {
		follow.out_number = 0;
		EXPECT_EQ(ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &args), 0);
		EXPECT_EQ(follow.out_number, number);
		if (!native())
			EXPECT_EQ(unknown_commands(self->control, args.cmd), times);
	}
	follow.number = 8;
	EXPECT_EQ(ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &args), -1);
	EXPECT_EQ(errno, EFAULT);
	/* A command without a pointer is not counted. */
	args.cmd = 0x2080fff1;
	EXPECT_EQ(ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &args), 0);
	if (!native())
		EXPECT_EQ(unknown_commands(self->control, args.cmd), 0);
	close(fd);
	if (native())
		return;
	run = tool_run("vgpuctl list | grep '^%s:'", path);
	snprintf(words, sizeof(words), "%#010x command 0x2080fff0 (",
		 (unsigned int)VGPU_MOCK_NVIDIA_CONTROL);
	EXPECT_NE(strstr(run->out, words), NULL)
		TH_LOG("%s", run->out);
	run = tool_run("vgpuctl list --json | grep 0x2080fff0");
	EXPECT_NE(strstr(run->out, "\"command_inside\":\"0x2080fff0\""), NULL)
		TH_LOG("%s", run->out);
}

PLAYED_MAIN
