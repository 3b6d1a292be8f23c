// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device is closed when close() returns: a program that opens it exclusively afterwards
 * finds it free.
 */
#include <sys/prctl.h>

#include "tool.h"
#include "vgpu_diff.h"

#define TIMES		10000
#define TIMES_PAIR	2000	/* rounds for two machines, where a round takes longer */

/*
 * Waits until no process has the device open, as opens are exclusive here. A process of an
 * earlier test may not have closed it yet.
 */
static void await_idle(void)
{
	int fd, i;

	for (i = 0; i < 500; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0)
			break;
		sleep_ms(10);
	}
	MUST(fd >= 0);
	MUST(!close(fd));
}

DIFF_TEST_LIMIT(close_then_open_exclusively, 500)
{
	const char *tier = getenv("VGPU_TIER");
	int times = diff_times(tier && !strcmp(tier, "pair") ? TIMES_PAIR : TIMES);
	unsigned int failed = 0;
	__u64 start;
	int fd, i;

	await_idle();
	start = now_ms();
	for (i = 0; i < times && failed < 3; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd < 0) {
			failed++;
			log_line("open %d: %s", i, strerror(errno));
			continue;
		}
		if (close(fd)) {
			failed++;
			log_line("close %d: %s", i, strerror(errno));
		}
	}
	CHECK(!failed);
	printf("# %s: %d times in %llu ms\n", forwarded ? "forwarded" : "real", i,
	       now_ms() - start);
	fflush(stdout);
}

/* Calls before the close, each made by a lane's thread of the shadow, do not delay it. */
DIFF_TEST_LIMIT(use_close_open, 120)
{
	struct vgpu_mock_inout io = { };
	__u32 data[50] = { };
	struct vgpu_mock_array array = { .ptr = (uintptr_t)data, .count = 50 };
	int times = diff_times(500);
	int fd, i;

	await_idle();
	for (i = 0; i < times; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		MUST(fd >= 0);
		MUST(!ioctl(fd, VGPU_MOCK_IOC_INOUT, &io));
		MUST(!ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT), &array));
		MUST(!close(fd));
	}
	log_bytes("io", &io, sizeof(io));
	log_bytes("data", data, sizeof(data));
}

DIFF_TEST(busy)
{
	int fd, again;

	await_idle();
	fd = open_device(O_RDWR | O_EXCL);
	LOG_CALL(open(path, O_RDWR));
	LOG_CALL(open(path, O_RDWR | O_EXCL));
	again = dup(fd);
	LOG_CALL(close(fd));
	LOG_CALL(open(path, O_RDWR));
	LOG_CALL(close(again));
	fd = open_device(O_RDWR);
	LOG_CALL(open(path, O_RDWR | O_EXCL));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_EXCLUSIVE, 1));
	LOG_CALL(open(path, O_RDWR));
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_EXCLUSIVE, 0));
	again = open_device(O_RDWR);
	LOG_CALL(ioctl(fd, VGPU_MOCK_IOC_EXCLUSIVE, 1));
	LOG_CALL(ioctl(again, VGPU_MOCK_IOC_EXCLUSIVE, 2));
}

/* The last reference belongs to a mapping, a child, or a killed process. */
DIFF_TEST(last_reference)
{
	struct vgpu_mock_buf_create create = { .size = 4096 };
	void *memory;
	int fd, i;
	int status;
	pid_t pid;

	await_idle();
	fd = open_device(O_RDWR | O_EXCL);
	MUST(!ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create));
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	MUST(memory != MAP_FAILED);
	*(char *)memory = 1;
	LOG_CALL(close(fd));
	LOG_CALL(open(path, O_RDWR | O_EXCL));
	LOG_CALL(munmap(memory, 4096));
	/* The end of a mapping may reach the host after munmap() has returned. */
	for (i = 0; i < 1000; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0 || !forwarded)
			break;
		sleep_ms(10);
	}
	MUST(fd >= 0);

	fflush(NULL);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	LOG_CALL(close(fd));
	LOG_CALL(open(path, O_RDWR | O_EXCL));
	LOG_CALL(kill(pid, SIGKILL));
	LOG_CALL(waitpid(pid, &status, 0) == pid);
	/* A dying process does not wait for the host. */
	for (i = 0; i < 1000; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0 || !forwarded)
			break;
		sleep_ms(10);
	}
	CHECK(fd >= 0);
}

/* --- programs that are killed in close() ------------------------------------ */

/*
 * The closing program has a name of its own, by which its shadow is found: a shadow of an
 * earlier test may still exist.
 */
#define CLOSER		"closer%d"
#define PATIENCE_MS	30000
/*
 * SLOW_MS: time for which a driver delays the closing program; SOON_MS: limit for other programs
 */
#define SLOW_MS		8000
#define SOON_MS		5000

/* A program that has the device open */
struct closer {
	pid_t pid;
	int go;
};

/*
 * Starts a program that opens the device and closes it when notified. The driver's ->flush does
 * what @flush says.
 */
static struct closer closer_start(int flags, __u32 flush)
{
	int go[2], ready[2];
	struct closer closer;
	char byte, name[16];

	MUST(!pipe2(go, O_CLOEXEC) && !pipe2(ready, O_CLOEXEC));
	fflush(NULL);
	closer.pid = fork();
	MUST(closer.pid >= 0);
	if (!closer.pid) {
		int fd;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(name, sizeof(name), CLOSER, getpid());
		prctl(PR_SET_NAME, name);
		close(go[1]);
		fd = open(path, flags);
		if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_FLUSH, flush) ||
		    write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		close(fd);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(go[0]);
	close(ready[1]);
	closer.go = go[1];
	MUST(read(ready[0], &byte, 1) == 1);
	return closer;
}

/* Makes the program close the file. If @waits is set, waits until the program is in close(). */
static void closer_close(const struct closer *closer, bool waits)
{
	char file[64], line[256] = "";
	__u64 start = now_ms();

	MUST(write(closer->go, "", 1) == 1);
	snprintf(file, sizeof(file), "/proc/%d/syscall", closer->pid);
	while (waits && strncmp(line, "3 ", 2)) {
		MUST(now_ms() - start < PATIENCE_MS);
		sleep_ms(10);
		tool_read_line(file, line, sizeof(line));
	}
}

static void closer_kill(const struct closer *closer)
{
	int status;

	MUST(!kill(closer->pid, SIGKILL));
	MUST(waitpid(closer->pid, &status, 0) == closer->pid);
	close(closer->go);
}

/* Return: the program's shadow on the host. */
static pid_t closer_shadow(const struct closer *closer)
{
	char name[16];
	pid_t pid;

	snprintf(name, sizeof(name), CLOSER, closer->pid);
	pid = tool_shadow_of(name);
	MUST(pid);
	return pid;
}

/* Stops all threads of the shadow, so they read nothing from now on. */
static void shadow_stop(pid_t pid)
{
	char folder[64], file[400], line[256];
	__u64 start = now_ms();
	struct dirent *entry;
	bool runs = true;
	DIR *tasks;
	char *end;

	MUST(!kill(pid, SIGSTOP));
	snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
	while (runs) {
		MUST(now_ms() - start < PATIENCE_MS);
		sleep_ms(10);
		tasks = opendir(folder);
		MUST(tasks);
		runs = false;
		while ((entry = readdir(tasks))) {
			snprintf(file, sizeof(file), "%s/%s/stat", folder, entry->d_name);
			tool_read_line(file, line, sizeof(line));
			end = strrchr(line, ')');
			runs |= end && end[2] != 'T' && end[2] != 't';
		}
		closedir(tasks);
	}
}

/* Returns true if the device can be opened exclusively within @ms. */
static bool is_closed_in(unsigned int ms)
{
	__u64 start = now_ms();
	int fd;

	do {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0)
			return !close(fd);
		sleep_ms(10);
	} while (now_ms() - start < ms);
	return false;
}

/* The program is killed before the host has begun to close the file. */
DIFF_TEST_LIMIT(killed_closer, 150)
{
	bool stops = forwarded && diff_one_machine();
	struct closer closer;

	await_idle();
	closer = closer_start(O_RDWR | O_EXCL, 0);
	if (stops)
		shadow_stop(closer_shadow(&closer));
	closer_close(&closer, stops);
	closer_kill(&closer);
	CHECK(is_closed_in(PATIENCE_MS));
}

/* The shadow is killed instead of the program; close() reports no error for that. */
DIFF_TEST_LIMIT(closer_without_shadow, 150)
{
	bool stops = forwarded && diff_one_machine();
	struct closer closer;
	pid_t shadow = 0;

	await_idle();
	closer = closer_start(O_RDWR | O_EXCL, 0);
	if (stops) {
		shadow = closer_shadow(&closer);
		shadow_stop(shadow);
	}
	closer_close(&closer, stops);
	if (stops)
		MUST(!kill(shadow, SIGKILL));
	CHECK(is_closed_in(PATIENCE_MS));
	closer_kill(&closer);
}

/* The close waits on the host for a file that was closed earlier, and whose driver is slow. */
DIFF_TEST_LIMIT(killed_behind_a_slow_close, 150)
{
	struct closer closer, slow;

	await_idle();
	closer = closer_start(O_RDWR, 0);
	slow = closer_start(O_RDWR, VGPU_MOCK_FLUSH_DEAF | SLOW_MS);
	closer_kill(&slow);
	closer_close(&closer, forwarded);
	closer_kill(&closer);
	CHECK(is_closed_in(SLOW_MS + PATIENCE_MS));
}

/* The program is killed while its driver is in ->flush: other programs are not delayed. */
DIFF_TEST_LIMIT(killed_in_flush, 150)
{
	struct closer closer;
	__u64 start;
	int fd, i;

	await_idle();
	closer = closer_start(O_RDWR, VGPU_MOCK_FLUSH_DEAF | SLOW_MS);
	fd = open_device(O_RDWR);
	closer_close(&closer, true);
	/* The host's driver is in ->flush by now. If it is not, the same must hold. */
	sleep_ms(300);
	start = now_ms();
	MUST(!kill(closer.pid, SIGKILL));
	for (i = 0; i < 5; i++) {
		MUST(!ioctl(fd, VGPU_MOCK_IOC_NOOP));
		sleep_ms(100);
	}
	CHECK(now_ms() - start < SOON_MS);
	closer_kill(&closer);
	MUST(!close(fd));
	CHECK(is_closed_in(SLOW_MS + PATIENCE_MS));
}

TEST_HARNESS_MAIN
