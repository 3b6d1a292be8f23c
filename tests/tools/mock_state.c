// SPDX-License-Identifier: GPL-2.0-only
/*
 * mock_state DEVICE: what is alive on a mock device, in one line: files (not
 * counting this program's), objects, buffers, their pages, VMAs.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "vgpu_mock.h"

int main(int argc, char **argv)
{
	struct vgpu_mock_counters counters;
	int fd;

	if (argc != 2)
		errx(2, "usage: mock_state DEVICE");
	fd = open(argv[1], O_RDWR);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters) < 0)
		err(1, "VGPU_MOCK_IOC_COUNTERS");
	printf("files %llu objects %llu bufs %llu pages %llu maps %llu\n",
	       (unsigned long long)counters.out_files - 1,
	       (unsigned long long)counters.out_objects, (unsigned long long)counters.out_bufs,
	       (unsigned long long)counters.out_buf_pages, (unsigned long long)counters.out_maps);
	return 0;
}
