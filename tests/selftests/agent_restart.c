// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpud is killed and started again. Open files fail with plain errors at once, no shadow
 * stays, and new opens work. Another test has vgpud serve with small limits. The tests need the
 * host in the same machine: the tiers loopback and user.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent.h"
#include "vgpu_mock.h"

#include "kselftest_harness.h"

#define PAGE	4096
/* The part is more than half of what a guest may map. */
#define PART	(10 * PAGE)

/*
 * Makes a call that sleeps in the driver until its connection is gone. Return: address of its
 * errno.
 */
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

/* Reads lost memory in a child. Return: the signal that killed the child, or 0. */
static int touch(volatile char *byte)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		signal(SIGBUS, SIG_DFL);
		_exit(*byte & 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void restart(struct __test_metadata *_metadata, int signal)
{
	const char *name = getenv("VGPU_NAME");
	struct vgpu_mock_buf_create create = { .size = 3 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	struct pollfd pfd = { .events = POLLIN };
	int fd, new_fd, pidfd, i, status;
	pid_t bystander;
	pthread_t thread;
	uint64_t start;
	void *result;
	char *memory;

	fd = agent_open(name);
	ASSERT_GE(fd, 0);
	/* The first page is read, the second is written, and the third is not accessed. */
	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	ASSERT_NE(MAP_FAILED, memory);
	EXPECT_EQ(0, touch(memory));
	memory[PAGE] = memory[0] + 1;
	/* A process that has the file and the mapping, but does not use them, is not affected. */
	bystander = fork();
	if (!bystander) {
		pause();
		_exit(1);
	}
	pfd.fd = fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, blocked_call, &fd));
	usleep(300000);
	EXPECT_GT(tool_processes(tool_shadow(), NULL), 0);

	pidfd = agent_kill(signal);
	ASSERT_GE(pidfd, 0);
	start = tool_now_ms();
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(ENODEV, *(long *)result);
	/* The call is over long before the driver's sleep. */
	EXPECT_LT(tool_now_ms() - start, 20000);
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(POLLHUP | POLLERR, pfd.revents & (POLLHUP | POLLERR));
	EXPECT_TRUE(agent_await_none(tool_shadow(), start + 20000));
	EXPECT_TRUE(agent_gone(pidfd));

	for (i = 0; i < 3; i++)
		EXPECT_EQ(SIGBUS, touch(memory + i * PAGE)) TH_LOG("page %d", i);
	EXPECT_EQ(0, waitpid(bystander, &status, WNOHANG));
	kill(bystander, SIGKILL);
	waitpid(bystander, &status, 0);

	new_fd = agent_start(name);
	EXPECT_GE(new_fd, 0);
	/* Lost files and memory stay lost after the restart. */
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_IOC_NOOP, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(SIGBUS, touch(memory));
	munmap(memory, 3 * PAGE);
	close(new_fd);
	close(fd);
}

FIXTURE(agent) {
};

FIXTURE_SETUP(agent)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_TRUE(agent_keep_exports());
}

FIXTURE_TEARDOWN(agent)
{
	EXPECT_TRUE(agent_write_env());
}

TEST_F_TIMEOUT(agent, killed, 60)
{
	restart(_metadata, SIGKILL);
}

TEST_F_TIMEOUT(agent, terminated, 60)
{
	restart(_metadata, SIGTERM);
}

/* Opens the device in another process. Return: 0, or the errno. */
static int open_elsewhere(const char *node)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(open(node, O_RDWR) < 0 ? errno : 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Each limit fails with its errno, is counted, and no longer applies when enough was given
 * back.
 */
TEST_F_TIMEOUT(agent, limits, 120)
{
	struct vgpu_mock_buf_create create = { .size = 64 * PAGE, .flavour = VGPU_MOCK_BUF_PFN };
	static unsigned char bytes[20 * PAGE];
	struct vgpu_mock_large large = { .ptr = (uintptr_t)bytes, .length = sizeof(bytes) };
	struct vgpu_mock_fds fds = { .count = 3 };
	int fd, i, opened[16], numbers[3];
	char node[64], *mapped[3];
	pid_t holder;
	long before;

	ASSERT_TRUE(agent_start_with(getenv("VGPU_NAME"), "[limits]\nsessions = 2\nobjects = 10\nfds-per-call = 2\n"
			       "pages = 16\nmappings = 2\nmapped-bytes = 65536\n"));
	snprintf(node, sizeof(node), "/dev/vgpu%d", tool_find_export(getenv("VGPU_NAME")));
	fd = open(node, O_RDWR);
	ASSERT_GE(fd, 0);
	before = tool_counter("refused");
	EXPECT_GE(before, 0);

	for (i = 0; i < 16; i++) {
		opened[i] = open(node, O_RDWR);
		if (opened[i] < 0)
			break;
	}
	EXPECT_EQ(9, i);
	EXPECT_EQ(EMFILE, errno);
	EXPECT_EQ(before + 1, tool_counter("refused"));
	while (i--)
		close(opened[i]);

	fds.ptr = (uintptr_t)numbers;
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	EXPECT_EQ(EMFILE, errno);
	fds.count = 2;
	EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_FDS_OUT, &fds));
	close(numbers[0]);
	close(numbers[1]);

	before = tool_counter("refused");
	EXPECT_EQ(-1, ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));
	EXPECT_EQ(ENOBUFS, errno);
	EXPECT_EQ(before + 1, tool_counter("refused"));
	large.length = 8 * PAGE;
	EXPECT_EQ(0, ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LARGE_IN), &large));

	ASSERT_EQ(0, ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	before = tool_counter("refused");
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 17 * PAGE, PROT_READ, MAP_SHARED, fd, create.out_offset));
	EXPECT_EQ(ENOMEM, errno);
	for (i = 0; i < 3; i++)
		mapped[i] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, create.out_offset);
	EXPECT_NE(MAP_FAILED, mapped[1]);
	EXPECT_EQ(MAP_FAILED, mapped[2]);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(before + 2, tool_counter("refused"));
	munmap(mapped[0], PAGE);
	mapped[0] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, create.out_offset);
	EXPECT_NE(MAP_FAILED, mapped[0]);

	/* This process has one of the two sessions. */
	holder = fork();
	if (!holder) {
		open(node, O_RDWR);
		pause();
		_exit(0);
	}
	for (i = 0; tool_processes(tool_shadow(), NULL) < 2 && i < 500; i++)
		usleep(20000);
	EXPECT_EQ(EMFILE, open_elsewhere(node));
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	for (i = 0; open_elsewhere(node) && i < 500; i++)
		usleep(20000);
	EXPECT_LT(i, 500);
	close(fd);
	EXPECT_TRUE(agent_start_with(getenv("VGPU_NAME"), ""));
}

/* Returns the number of mmaps of the device that have come to the driver. */
static uint64_t mmaps(void)
{
	static struct vgpu_mock_counters counters;
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	uint64_t count = 0;

	if (fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters))
		count = counters.out_mmaps;
	close(fd);
	return count;
}

/*
 * Starts a program that maps a buffer, which takes the driver @delay_ms, and stops; or exits
 * with an errno.
 */
static pid_t program_maps(const char *node, int delay_ms)
{
	struct vgpu_mock_buf_create create = { .size = PART, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_buf_range slow = { .seed = VGPU_MOCK_SLOW_MMAP, .delay_ms = delay_ms };
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = open(node, O_RDWR);
	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		_exit(255);
	slow.id = create.out_id;
	if (ioctl(fd, VGPU_MOCK_IOC_BUF_SLOW, &slow))
		_exit(255);
	if (mmap(NULL, PART, PROT_READ, MAP_SHARED, fd, create.out_offset) == MAP_FAILED)
		_exit(errno);
	raise(SIGSTOP);
	_exit(0);
}

/* Ends a program. Return: its errno, or 0 if it has mapped the buffer. */
static int program_result(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid)
		return -1;
	if (!WIFSTOPPED(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid ? 0 : -1;
}

/*
 * Memory counts while a driver is still mapping it: only one of two programs of a guest can map
 * a buffer at a time, as the two buffers exceed the limit. Unmapped memory does not count any
 * more.
 */
TEST_F_TIMEOUT(agent, mapped_bytes_of_two_programs, 120)
{
	uint64_t before, end;
	char node[64];
	pid_t first;
	int error;

	ASSERT_TRUE(agent_start_with(getenv("VGPU_NAME"), "[limits]\nmapped-bytes = 65536\n"));
	ASSERT_TRUE(agent_node(getenv("VGPU_NAME"), node));
	before = mmaps();
	end = tool_now_ms() + 20000;
	first = program_maps(node, 3000);
	while (mmaps() == before && tool_now_ms() < end)
		usleep(10000);
	EXPECT_LT(before, mmaps());
	EXPECT_EQ(ENOMEM, program_result(program_maps(node, 0)));
	EXPECT_EQ(0, program_result(first));
	end = tool_now_ms() + 20000;
	do {
		error = program_result(program_maps(node, 0));
	} while (error == ENOMEM && tool_now_ms() < end);
	EXPECT_EQ(0, error);
	EXPECT_TRUE(agent_start_with(getenv("VGPU_NAME"), ""));
}

/*
 * vgpud without the right to raise limits does not start if the process for a guest's window could
 * not have its files. The shadows of the module could have theirs.
 */
TEST_F_TIMEOUT(agent, files_of_keepers, 120)
{
	const char *name = getenv("VGPU_NAME");
	struct tool_run *run;
	int fd;

	ASSERT_TRUE(agent_start_with(name, "[limits]\nobjects = 100\n"));
	ASSERT_TRUE(agent_end(name, SIGTERM));
	run = tool_run("timeout 20 prlimit --nofile=2048 --memlock=unlimited --nproc=unlimited "
		       "setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource vgpud");
	EXPECT_EQ(3, run->status);
	EXPECT_NE(NULL, strstr(run->out, "open files, but the limit of vgpud is 2048 and vgpud may not raise it"))
		TH_LOG("%s", run->out);
	fd = agent_start(name);
	EXPECT_GE(fd, 0);
	close(fd);
	EXPECT_TRUE(agent_start_with(name, ""));
}

/*
 * vgpud is killed while it starts a child, which has vgpud's files until it executes its program.
 * The next vgpud waits for that. A process that has the lock stands for the child.
 */
TEST_F_TIMEOUT(agent, child_has_the_lock, 120)
{
	const char *name = getenv("VGPU_NAME");
	int fd, status;
	pid_t child;

	if (!tool_user_engine())
		SKIP(return, "needs the user-space engine: the module has no lock");
	ASSERT_TRUE(agent_end(name, SIGKILL));
	child = fork();
	if (!child) {
		fd = open("/run/vgpu/engine.lock", O_RDWR | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, WUNTRACED));
	EXPECT_TRUE(WIFSTOPPED(status));
	agent_run(NULL);
	usleep(2000000);
	EXPECT_EQ(1, tool_processes("/vgpud", NULL));
	EXPECT_EQ(0, kill(child, SIGKILL));
	EXPECT_EQ(child, waitpid(child, &status, 0));
	fd = agent_await(name);
	EXPECT_GE(fd, 0);
	close(fd);
}

TEST_HARNESS_MAIN
