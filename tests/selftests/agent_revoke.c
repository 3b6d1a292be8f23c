// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests take exports back while programs have files open: with the files, or without. They
 * need the host in the same machine: the tiers loopback and user.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent_exports.h"

#include "vgpu_mock.h"

/* Size of a buffer: the guest does not fetch the last page together with the first. */
#define MEMORY	(1 << 22)
#define WAIT_MS	60000

static sigjmp_buf bus_jump;

static void bus_error(int signal)
{
	siglongjmp(bus_jump, signal);
}

/* Return: true if reading the byte causes SIGBUS. */
static bool is_gone(const volatile unsigned char *byte)
{
	struct sigaction action = { .sa_handler = bus_error };
	volatile bool gone = true;

	sigaction(SIGBUS, &action, NULL);
	if (!sigsetjmp(bus_jump, 1)) {
		(void)*byte;
		gone = false;
	}
	signal(SIGBUS, SIG_DFL);
	return gone;
}

static int try(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

/**
 * struct program - a program of the guest, which uses a device until it is told to look again
 * @pid: ID of the process
 * @ready: pipe by which the program says that it uses the device
 * @again: pipe by which the program is told to look again; it then exits
 */
struct program {
	pid_t pid;
	int ready[2];
	int again[2];
};

/* Exit statuses of programs, as bits of what they found when they looked again. */
#define FOUND_WORKS	(1 << 0)	/* an ioctl succeeded */
#define FOUND_GONE	(1 << 1)	/* it failed with ENODEV */
#define FOUND_BUS	(1 << 2)	/* memory that was not accessed before is gone */
#define FOUND_ENDED	(1 << 3)	/* the call that waited has ended with ENODEV */
#define FOUND_DERIVED	(1 << 4)	/* a file that the device had made fails with ENODEV */
#define FOUND_NOT_READY	(1 << 7)

static void *wait_for_event(void *data)
{
	struct vgpu_mock_wait wait = { .target = 1 };

	return (void *)(intptr_t)try(*(int *)data, VGPU_MOCK_IOC_WAIT, &wait);
}

static bool has_waiter(int fd)
{
	struct vgpu_mock_wait wake = {};
	uint64_t end = tool_now_ms() + WAIT_MS;

	while (!wake.out_waiters && tool_now_ms() < end && !try(fd, VGPU_MOCK_IOC_WAKE, &wake))
		usleep(10000);
	return wake.out_waiters;
}

static int program_run(const struct program *program, const char *name)
{
	struct vgpu_mock_buf_create create = { .size = MEMORY, .flavour = VGPU_MOCK_BUF_PFN };
	struct vgpu_mock_fd_out object = { .flags = O_CLOEXEC };
	struct vgpu_mock_obj_info info = {};
	int fd = tool_open_export(name), ret, found = 0;
	volatile unsigned char *memory;
	pthread_t waiter;
	void *ended;
	char byte;

	if (fd < 0 || try(fd, VGPU_MOCK_IOC_BUF_CREATE, &create) ||
	    try(fd, VGPU_MOCK_IOC_FD_OUT, &object) ||
	    try(object.out_fd, VGPU_MOCK_IOC_OBJ_INFO, &info))
		return FOUND_NOT_READY;
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (memory == MAP_FAILED || is_gone(memory) ||
	    pthread_create(&waiter, NULL, wait_for_event, &fd) || !has_waiter(fd))
		return FOUND_NOT_READY;
	if (write(program->ready[1], "", 1) != 1 || read(program->again[0], &byte, 1) != 1)
		return FOUND_NOT_READY;

	ret = try(fd, VGPU_MOCK_IOC_NOOP, NULL);
	found |= !ret ? FOUND_WORKS : ret == ENODEV ? FOUND_GONE : 0;
	if (is_gone(memory + MEMORY - 1))
		found |= FOUND_BUS;
	if (try(object.out_fd, VGPU_MOCK_IOC_OBJ_INFO, &info) == ENODEV)
		found |= FOUND_DERIVED;
	if (ret && !pthread_join(waiter, &ended) && (intptr_t)ended == ENODEV)
		found |= FOUND_ENDED;
	return found;
}

/* Starts a program, and waits until it uses the export. Return: true if it does. */
static bool program_start(struct program *program, const char *name)
{
	char byte;

	if (pipe(program->ready) || pipe(program->again))
		return false;
	program->pid = fork();
	if (!program->pid) {
		close(program->ready[0]);
		close(program->again[1]);
		_exit(program_run(program, name));
	}
	close(program->ready[1]);
	close(program->again[0]);
	return program->pid > 0 && read(program->ready[0], &byte, 1) == 1;
}

/* Has a program look again. Return: what it found. */
static int program_end(struct program *program)
{
	int status = -1;

	if (write(program->again[1], "", 1) != 1 ||
	    waitpid(program->pid, &status, 0) != program->pid || !WIFEXITED(status))
		return -1;
	close(program->ready[0]);
	close(program->again[1]);
	return WEXITSTATUS(status);
}

/* Returns the number of open files of the host's device. */
static uint64_t files_of_host(void)
{
	struct vgpu_mock_counters counters = {};
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);

	if (fd < 0 || try(fd, VGPU_MOCK_IOC_COUNTERS, &counters))
		counters.out_files = 0;
	close(fd);
	return counters.out_files;
}

TEST_F_TIMEOUT(files, files_stay_open, 120)
{
	struct program program;

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(reload());
	ASSERT_TRUE(program_start(&program, "config-a"));
	EXPECT_EQ(6, tool_run("vgpuctl unexport config-a")->status);
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --force")->status);
	EXPECT_EQ(FOUND_WORKS, program_end(&program));
}

/*
 * All files of the export and those that it made are closed, in all programs, also where calls
 * wait. Programs that use another export of the same device notice nothing.
 */
TEST_F_TIMEOUT(files, files_are_taken, 240)
{
	struct program program, other;
	uint64_t before, end;
	int a, b;

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(write_export(OTHER_CONF, "config-b", "1", ""));
	ASSERT_TRUE(reload());
	before = files_of_host();
	ASSERT_GT(before, 0);
	ASSERT_TRUE(program_start(&program, "config-a"));
	ASSERT_TRUE(program_start(&other, "config-b"));
	/* This process has a file that it has made no call on. */
	a = tool_open_export("config-a");
	b = tool_open_export("config-b");
	ASSERT_GE(a, 0);
	ASSERT_GE(b, 0);
	EXPECT_EQ(before + 4, files_of_host());
	EXPECT_EQ(0, try(b, VGPU_MOCK_IOC_NOOP, NULL));

	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --now")->status);
	EXPECT_FALSE(listed("^config-a "));
	for (end = tool_now_ms() + WAIT_MS; files_of_host() > before + 2 && tool_now_ms() < end;)
		usleep(20000);
	/* The programs still have their files open. */
	EXPECT_EQ(before + 2, files_of_host());
	EXPECT_EQ(ENODEV, try(a, VGPU_MOCK_IOC_NOOP, NULL));
	EXPECT_EQ(0, try(b, VGPU_MOCK_IOC_NOOP, NULL));
	EXPECT_EQ(FOUND_GONE | FOUND_BUS | FOUND_ENDED | FOUND_DERIVED, program_end(&program));
	EXPECT_EQ(FOUND_WORKS, program_end(&other));
	EXPECT_EQ(0, close(a));
	EXPECT_EQ(0, close(b));

	/* The guest can be given the device again. */
	ASSERT_TRUE(write_export(CONF, "config-c", "1", ""));
	ASSERT_TRUE(reload());
	a = tool_open_export("config-c");
	ASSERT_GE(a, 0);
	EXPECT_EQ(0, try(a, VGPU_MOCK_IOC_NOOP, NULL));
	close(a);
}

/* A guest that is evicted loses its files, and gets the devices again when it has connected anew. */
TEST_F_TIMEOUT(files, a_guest_is_evicted, 240)
{
	uint64_t end;
	int fd;

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(reload());
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try(fd, VGPU_MOCK_IOC_NOOP, NULL));
	EXPECT_EQ(6, tool_run("vgpuctl evict 1")->status);
	EXPECT_EQ(0, try(fd, VGPU_MOCK_IOC_NOOP, NULL));
	EXPECT_EQ(0, tool_run("vgpuctl evict 1 --force")->status);
	for (end = tool_now_ms() + WAIT_MS; !try(fd, VGPU_MOCK_IOC_NOOP, NULL) && tool_now_ms() < end;)
		usleep(20000);
	EXPECT_EQ(ENODEV, try(fd, VGPU_MOCK_IOC_NOOP, NULL));
	EXPECT_EQ(0, close(fd));

	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, try(fd, VGPU_MOCK_IOC_NOOP, NULL));
	close(fd);
}

/* --- sleepers ------------------------------------------------------------------------- */

/* Calls that a program sleeps in until its device is taken. */
enum sleep { POLL, POLL_INHERITED, POLL_DERIVED, EPOLL, EPOLL_EDGE, READ, WRITE, SLEEPS };

static const char *const sleep_names[] = {
	"poll", "poll of an inherited file", "poll of a file that the device has made", "epoll",
	"epoll for edges", "read", "write",
};

static bool sleep_in_poll(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, -1) == 1 && pollfd.revents == (POLLERR | POLLHUP);
}

static bool sleep_in_epoll(int fd, uint32_t flags)
{
	struct epoll_event event = { .events = EPOLLIN | flags };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) &&
	       epoll_wait(epoll, &event, 1, -1) == 1 && event.events == (EPOLLERR | EPOLLHUP);
}

/* Sleeps in the call. Return: the call has ended as when a device is removed. */
static bool sleep_in(enum sleep call, int inherited, const char *name)
{
	int fd = call == POLL_INHERITED ? inherited : tool_open_export(name);
	struct vgpu_mock_io queue = { .mode = VGPU_MOCK_IO_QUEUE };
	static char bytes[VGPU_MOCK_QUEUE_BYTES];
	struct vgpu_mock_fd_out object = {};

	/* The queue is empty, so the file is not ready to be read. */
	if (fd < 0 || (fd != inherited && try(fd, VGPU_MOCK_IOC_IO_MODE, &queue)))
		return false;
	switch (call) {
	case POLL_DERIVED:
		return !try(fd, VGPU_MOCK_IOC_FD_OUT, &object) && sleep_in_poll(object.out_fd);
	case EPOLL:
		return sleep_in_epoll(fd, 0);
	case EPOLL_EDGE:
		return sleep_in_epoll(fd, EPOLLET);
	case READ:
		return read(fd, bytes, sizeof(bytes)) < 0 && errno == ENODEV;
	case WRITE:
		return write(fd, bytes, sizeof(bytes)) == sizeof(bytes) &&
		       write(fd, bytes, sizeof(bytes)) < 0 && errno == ENODEV;
	default:
		return sleep_in_poll(fd);
	}
}

/* Names, or parts of them, of functions in which kernels let programs sleep in poll and epoll. */
static const char *const polls[] = { "sys_poll", "poll_schedule", "ep_poll", "poll_wait", NULL };
/* Names of functions of vgpu_guest in which a program waits for the host. */
static const char *const calls[] = { "vgpu", "conn_", NULL };

/* Waits until a process sleeps in a function with one of these names. Return: it does. */
static bool is_asleep(pid_t pid, const char *const names[])
{
	uint64_t end = tool_now_ms() + WAIT_MS;
	char path[32], function[128];
	int i;

	snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	do {
		tool_read_line(path, function, sizeof(function));
		for (i = 0; names[i]; i++)
			if (strstr(function, names[i]))
				return true;
		usleep(10000);
	} while (tool_now_ms() < end);
	fprintf(stderr, "# sleeps in %s\n", function);
	return false;
}

/* Returns the exit status of a process; -1: it did not end in time, and was killed. */
static int status_of(pid_t pid)
{
	uint64_t end = tool_now_ms() + WAIT_MS;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (tool_now_ms() >= end) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return -1;
		}
		usleep(10000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Programs that sleep on a file which is taken are woken, and learn that the device is gone. */
TEST_F_TIMEOUT(files, sleepers_are_woken, 240)
{
	struct vgpu_mock_io queue = { .mode = VGPU_MOCK_IO_QUEUE };
	pid_t pids[SLEEPS];
	int fd, i;

	ASSERT_TRUE(write_export(CONF, "config-a", "1", ""));
	ASSERT_TRUE(reload());
	fd = tool_open_export("config-a");
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, try(fd, VGPU_MOCK_IOC_IO_MODE, &queue));
	for (i = 0; i < SLEEPS; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(!sleep_in(i, fd, "config-a"));
	}
	for (i = 0; i < SLEEPS; i++) {
		EXPECT_TRUE(is_asleep(pids[i], i < READ ? polls : calls))
			TH_LOG("%s", sleep_names[i]);
	}
	EXPECT_EQ(0, tool_run("vgpuctl unexport config-a --now")->status);
	for (i = 0; i < SLEEPS; i++) {
		EXPECT_EQ(0, status_of(pids[i]))
			TH_LOG("%s", sleep_names[i]);
	}
	close(fd);
}

TEST_HARNESS_MAIN
