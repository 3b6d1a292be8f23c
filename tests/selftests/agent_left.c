// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpud with the setting 'lasting' crashes, and leaves processes that cannot be taken over. The
 * next vgpud ends them, and gives their user to no other guest before.
 */
#include <linux/vgpu_host.h>
#include <sys/syscall.h>

#define LASTING_NEEDS_MODULE	true
#include "agent_lasting.h"

/* Control group of the guest's programs. */
#define GROUP		"/sys/fs/cgroup/vgpu/guests/vgpu-guest-1-22586"
/* Range that vgpud reserves, which the next agent has to name (userspace-lib/shadow/layout.h). */
#define RESERVED_BASE	0x3e0000000000UL
#define RESERVED_SIZE	0x000100000000UL

/* Finds the guest's process that has not executed its program yet. Return: its pid; 0: none. */
static pid_t find_child(void)
{
	FILE *file = fopen(GROUP "/cgroup.procs", "r");
	char path[64], exe[4096];
	pid_t pid, found = 0;
	ssize_t len;

	while (file && !found && fscanf(file, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/exe", pid);
		len = readlink(path, exe, sizeof(exe) - 1);
		exe[len > 0 ? len : 0] = '\0';
		if (len > 6 && !strcmp(exe + len - 6, "/vgpud"))
			found = pid;
	}
	if (file)
		fclose(file);
	return found;
}

/* Waits for that process. Return: its pidfd, or -1. */
static int await_child(void)
{
	uint64_t end = tool_now_ms() + 40000;
	pid_t pid;

	while (!(pid = find_child()) && tool_now_ms() < end)
		usleep(20000);
	return pid ? syscall(SYS_pidfd_open, pid, 0) : -1;
}

/*
 * vgpud crashes while a child of it has not executed the shadow's program yet, and cannot: its
 * control group is frozen, as if the guest's limits kept it from running. The next vgpud does not
 * wait for the child, and ends it. The guest's program gets another one.
 */
TEST_F_TIMEOUT(lasting, child_is_slow, 120)
{
	struct pollfd child = { .events = POLLIN };
	pid_t program;
	int pidfd;

	if (!tool_write(GROUP "/cgroup.freeze", "1"))
		SKIP(return, "needs control groups of guests");
	program = newcomer(self->node);
	child.fd = await_child();
	EXPECT_GE(child.fd, 0);
	pidfd = agent_kill(SIGKILL);
	EXPECT_GE(pidfd, 0);
	EXPECT_TRUE(agent_gone(pidfd));
	/* The child lives on without its parent. */
	EXPECT_EQ(0, poll(&child, 1, 0));
	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(1, poll(&child, 1, 20000));
	EXPECT_TRUE(tool_write(GROUP "/cgroup.freeze", "0"));
	EXPECT_EQ(0, result_of(program));
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	close(child.fd);
}

/* Reads a number in a line of /proc/PID/status that begins with @word. */
static unsigned long status_of(pid_t pid, const char *word, char *letter)
{
	char path[64], line[256];
	unsigned long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word))) {
			*letter = line[strlen(word) + 1];
			value = strtoul(line + strlen(word), NULL, 10);
		}
	if (file)
		fclose(file);
	return value;
}

/*
 * Starts a process in the guest's control group, as the guest's user: a shadow that its guest has
 * taken over and that no longer is the module's. @ms: time for which it is in a call of a driver
 * that no signal ends. Return: its pid.
 */
static pid_t stranger(unsigned int ms)
{
	struct vgpu_mock_sleep sleep = { .ms = ms, .mode = VGPU_MOCK_SLEEP_UNINTERRUPTIBLE };
	pid_t shadow = tool_shadow_of("agent_left"), pid;
	uint64_t end = tool_now_ms() + 20000;
	unsigned long uid;
	char letter = ' ';
	int fd;

	uid = status_of(shadow, "Uid:", &letter);
	pid = fork();
	if (!pid) {
		fd = open(getenv("VGPU_REAL"), O_RDWR);
		if (fd < 0 || !tool_write(GROUP "/cgroup.procs", "0") || setresuid(uid, uid, uid))
			_exit(1);
		if (ms)
			ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
		else
			raise(SIGSTOP);
		pause();
	}
	while (status_of(pid, "State:", &letter), letter != (ms ? 'D' : 'T'))
		if (tool_now_ms() >= end || letter == 'Z')
			return -1;
	return pid;
}

/* A process that is no shadow, but has the user of a guest that is taken over, is ended. */
TEST_F_TIMEOUT(lasting, stranger_is_ended, 120)
{
	uint64_t end = tool_now_ms() + 60000;
	int pidfd, status = 0;
	pid_t pid;

	pid = stranger(0);
	ASSERT_GT(pid, 0);
	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	agent_run(NULL);
	EXPECT_TRUE(await_agent());
	while (waitpid(pid, &status, WNOHANG) != pid && tool_now_ms() < end)
		usleep(20000);
	EXPECT_TRUE(WIFSIGNALED(status));
	kill(pid, SIGKILL);
	EXPECT_EQ(0, ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(0, result_of(newcomer(self->node)));
}

/* Replaces the note of the guest by one of a version that vgpud does not know. */
static bool spoil_note(void)
{
	struct vgpu_host_agent agent = {
		.size = sizeof(agent), .flags = VGPU_HOST_AGENT_ADOPT,
		.reserved_base = RESERVED_BASE, .reserved_size = RESERVED_SIZE,
		.fetch_timeout_ms = 2000, .lasting_ms = LASTING_MS,
	};
	struct vgpu_host_note_find find = { .size = sizeof(find), .out_fd = -1 };
	__u32 version = 999;
	struct vgpu_host_note note = {
		.size = sizeof(note), .data = (uintptr_t)&version, .len = sizeof(version),
		.fd = -1,
	};
	int fd = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	bool done = !ioctl(fd, VGPU_HOST_AGENT, &agent) && !ioctl(fd, VGPU_HOST_NOTE_FIND, &find);

	close(find.out_fd);
	note.peer = find.out_peer;
	note.key = find.out_key;
	done &= !note.key && !ioctl(fd, VGPU_HOST_NOTE, &note);
	close(fd);
	return done;
}

/*
 * A guest whose note is of another version is disconnected. It returns when all processes of its
 * user have ended, and not before: another guest could get this user.
 */
TEST_F_TIMEOUT(lasting, unknown_note, 120)
{
	uint64_t end = tool_now_ms() + 60000;
	char letter = ' ';
	int pidfd, fd;
	pid_t pid;

	pid = stranger(4000);
	ASSERT_GT(pid, 0);
	pidfd = agent_kill(SIGKILL);
	ASSERT_GE(pidfd, 0);
	ASSERT_TRUE(agent_gone(pidfd));
	ASSERT_TRUE(spoil_note());
	agent_run(NULL);
	while (!ioctl(self->fd, VGPU_MOCK_IOC_NOOP, 0) && tool_now_ms() < end)
		usleep(20000);
	EXPECT_EQ(ENODEV, errno);
	fd = agent_await(getenv("VGPU_NAME"));
	EXPECT_GE(fd, 0);
	status_of(pid, "State:", &letter);
	EXPECT_NE('D', letter);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(self->fd);
	self->fd = fd;
}

TEST_HARNESS_MAIN
