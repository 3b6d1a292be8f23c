// SPDX-License-Identifier: GPL-2.0-only
/*
 * mock_state DEVICE: prints what is alive on a mock device, in one line: files (without this
 * program's), objects, buffers, their pages, VMAs.
 *
 * mock_state DEVICE busy: prints the same once there are a file for each of guest_load's calls
 * and a VMA. Exit status 1 if they do not come within a minute.
 *
 * mock_state DEVICE locked: prints the time in ms that it took to get the mutex.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vgpu_mock.h"

#define BUSY_FILES	4
#define POLL_MS		20
#define LIMIT_MS	60000

static int take_mutex(int fd)
{
	struct vgpu_mock_locked locked = { };

	if (ioctl(fd, VGPU_MOCK_IOC_LOCKED, &locked))
		err(1, "VGPU_MOCK_IOC_LOCKED");
	printf("%llu\n", (unsigned long long)locked.out_waited_us / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	struct vgpu_mock_counters counters;
	bool busy = argc == 3 && !strcmp(argv[2], "busy");
	bool locked = argc == 3 && !strcmp(argv[2], "locked");
	int fd, ms;

	if (argc != 2 && !busy && !locked)
		errx(2, "usage: mock_state DEVICE [busy|locked]");
	fd = open(argv[1], O_RDWR);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (locked)
		return take_mutex(fd);
	for (ms = 0; ms < LIMIT_MS; ms += POLL_MS) {
		if (ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters) < 0)
			err(1, "VGPU_MOCK_IOC_COUNTERS");
		busy &= counters.out_files - 1 < BUSY_FILES || !counters.out_maps;
		if (!busy)
			break;
		usleep(POLL_MS * 1000);
	}
	printf("files %llu objects %llu bufs %llu pages %llu maps %llu\n",
	       (unsigned long long)counters.out_files - 1,
	       (unsigned long long)counters.out_objects, (unsigned long long)counters.out_bufs,
	       (unsigned long long)counters.out_buf_pages, (unsigned long long)counters.out_maps);
	return busy;
}
