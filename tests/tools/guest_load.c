// SPDX-License-Identifier: GPL-2.0-only
/*
 * guest_load EXPORT: runs processes that keep a forwarded mock device busy in ways that a lost
 * connection can hit: calls that follow each other, a blocked one, page fetches, mappings with
 * unwritten bytes, objects. A process that loses the device begins again when it is back,
 * whatever its number is then. Runs until it is killed.
 *
 * guest_load EXPORT lost: makes calls until one fails, and prints its error. Exit status 0 if
 * that was ENODEV.
 *
 * guest_load EXPORT held: writes to a mapping until the mapping is lost, and keeps it. Then
 * creates /run/load.lost.
 *
 * guest_load EXPORT locked: makes calls whose memory is fetched again and again while the
 * driver holds its mutex.
 *
 * guest_load EXPORT once: waits for the device and makes one call.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpu_mock.h"

#define BUF_LEN		(1UL << 20)
#define COUNT		5000		/* array that spans several pages */

static const char *export;
static sigjmp_buf lost;

static void on_sigbus(int sig)
{
	(void)sig;
	siglongjmp(lost, 1);
}

/* Opens the device if the export of this directory has the wanted name. Return: fd, or -1. */
static int try_name(const char *path)
{
	char name[64] = "", device[64];
	FILE *file = fopen(path, "r");
	unsigned int number;

	if (!file)
		return -1;
	if (!fgets(name, sizeof(name), file))
		name[0] = 0;
	fclose(file);
	name[strcspn(name, "\n")] = 0;
	if (strcmp(name, export) || sscanf(path, "/sys/class/vgpu/vgpu%u", &number) != 1)
		return -1;
	snprintf(device, sizeof(device), "/dev/vgpu%u", number);
	return open(device, O_RDWR | O_CLOEXEC);
}

static int open_device(void)
{
	int fd = -1;

	for (;;) {
		glob_t names;
		size_t i;

		if (!glob("/sys/class/vgpu/*/name", 0, NULL, &names))
			for (i = 0; fd < 0 && i < names.gl_pathc; i++)
				fd = try_name(names.gl_pathv[i]);
		globfree(&names);
		if (fd >= 0)
			return fd;
		usleep(20000);
	}
}

static void calls(void)
{
	int fd = open_device();

	while (!ioctl(fd, VGPU_MOCK_IOC_NOOP, 0))
		;
	close(fd);
}

static void blocked(void)
{
	struct vgpu_mock_sleep sleep = { .ms = 3600 * 1000 };
	int fd = open_device();

	ioctl(fd, VGPU_MOCK_IOC_SLEEP, &sleep);
	close(fd);
}

static void fetches(void)
{
	static unsigned char bytes[COUNT];
	struct vgpu_mock_array array = {
		.ptr = (uintptr_t)bytes, .count = COUNT / 4,
	};
	int fd = open_device();

	while (ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_ARRAY_INOUT), &array) >= 0)
		;
	close(fd);
}

static void mappings(void)
{
	struct vgpu_mock_buf_create create = { .size = BUF_LEN, .flavour = VGPU_MOCK_BUF_PFN };
	int fd = open_device();
	volatile unsigned char *map;
	unsigned long i;

	signal(SIGBUS, on_sigbus);
	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create) >= 0) {
		map = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   create.out_offset);
		if (map != MAP_FAILED) {
			if (!sigsetjmp(lost, 1)) {
				for (i = 0; !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0); i += 4097)
					map[i % BUF_LEN]++;
			}
			munmap((void *)map, BUF_LEN);
		}
	}
	close(fd);
}

static void held(void)
{
	struct vgpu_mock_buf_create create = { .size = BUF_LEN, .flavour = VGPU_MOCK_BUF_PFN };
	int fd = open_device();
	volatile unsigned char *map;
	unsigned long i;

	unlink("/run/load.lost");
	signal(SIGBUS, on_sigbus);
	if (ioctl(fd, VGPU_MOCK_IOC_BUF_CREATE, &create))
		err(1, "VGPU_MOCK_IOC_BUF_CREATE");
	map = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, create.out_offset);
	if (map == MAP_FAILED)
		err(1, "mmap");
	if (!sigsetjmp(lost, 1))
		for (i = 0;; i += 4097)
			map[i % BUF_LEN]++;
	close(open("/run/load.lost", O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
}

static void objects(void)
{
	struct vgpu_mock_fd_out out;
	int fd = open_device();

	for (;;) {
		memset(&out, 0, sizeof(out));
		if (ioctl(fd, VGPU_MOCK_IOC_FD_OUT, &out) < 0)
			break;
		close(out.out_fd);
	}
	close(fd);
}

static void locked(void)
{
	static unsigned char in[COUNT], out[COUNT];
	struct vgpu_mock_locked locked = {
		.in_ptr = (uintptr_t)in, .out_ptr = (uintptr_t)out, .length = COUNT,
	};
	int fd = open_device();

	/* EFAULT means that a fetch came too late. */
	while (!ioctl(fd, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_LOCKED), &locked) || errno == EFAULT)
		;
	close(fd);
}

static void (*const jobs[])(void) = { calls, blocked, fetches, mappings, objects };

static int until_lost(void)
{
	int fd = open_device();

	printf("open\n");
	fflush(stdout);
	while (!ioctl(fd, VGPU_MOCK_IOC_NOOP, 0))
		;
	printf("lost: %s\n", strerrorname_np(errno));
	return errno == ENODEV ? 0 : 1;
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 2)
		errx(2, "usage: guest_load EXPORT [lost|held|locked|once]");
	export = argv[1];
	if (argc > 2 && !strcmp(argv[2], "held"))
		held();
	while (argc > 2 && !strcmp(argv[2], "locked"))
		locked();
	if (argc > 2 && !strcmp(argv[2], "once"))
		return ioctl(open_device(), VGPU_MOCK_IOC_NOOP, 0) ? 1 : 0;
	if (argc > 2)
		return until_lost();
	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				jobs[i]();
		}
	}
	for (;;)
		wait(NULL);
}
