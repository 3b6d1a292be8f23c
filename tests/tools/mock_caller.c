// SPDX-License-Identifier: GPL-2.0-only
/*
 * mock_caller FD: a 64-bit program that calls the mock device FD by 64-bit and by 32-bit system
 * calls in turn. Exit status 0 if the driver could tell the two apart.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "vgpu_mock.h"

_Static_assert(sizeof(long) == 8, "a 64-bit program");

#define NR_IOCTL_32	54

static int ioctl_32(int fd, unsigned int cmd, void *arg)
{
	int ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(NR_IOCTL_32), "b"(fd), "c"(cmd), "d"(arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

int main(int argc, char **argv)
{
	struct vgpu_mock_info *info;
	int fd, i;

	if (argc != 2)
		errx(2, "usage: mock_caller FD");
	fd = atoi(argv[1]);
	info = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		    -1, 0);
	if (info == MAP_FAILED)
		err(3, "mmap");
	for (i = 0; i < 10; i++) {
		memset(info, 0xff, sizeof(*info));
		if (ioctl(fd, VGPU_MOCK_IOC_INFO, info))
			err(4, "VGPU_MOCK_IOC_INFO");
		if (info->out_compat != 0)
			return 5;
		memset(info, 0xff, sizeof(*info));
		if (ioctl_32(fd, VGPU_MOCK_IOC_INFO, info))
			return 6;
		if (info->out_compat != 1)
			return 7;
	}
	return 0;
}
