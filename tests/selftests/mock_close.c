// SPDX-License-Identifier: GPL-2.0-only
/*
 * close() is done when it returns: who opens the device exclusively next finds
 * it free.
 */
#include "vgpu_diff.h"

#define TIMES		10000
#define TIMES_PAIR	2000	/* two machines take longer, and prove no more */

/*
 * Opens are exclusive here, so nobody else may have the device open: not even a
 * process of an earlier test, whose close is still on its way.
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

/* Calls before the close, by threads of their own lanes, do not delay it. */
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

/* The last reference is a mapping, a child's, or a killed process's. */
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
	/* A mapping's end may travel by itself. */
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
	/* A dying process does not wait for the other side. */
	for (i = 0; i < 1000; i++) {
		fd = open(path, O_RDWR | O_EXCL);
		if (fd >= 0 || !forwarded)
			break;
		sleep_ms(10);
	}
	CHECK(fd >= 0);
}

TEST_HARNESS_MAIN
