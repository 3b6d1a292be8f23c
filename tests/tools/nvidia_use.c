// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_use DEVICE: uses a node of the stand-in for NVIDIA's driver (ioctl with a pointer,
 * write, read), and says what that calls it; exit status 1 where anything is wrong.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vgpu_mock_nvidia.h"

int main(int argc, char **argv)
{
	const char text[] = "written by nvidia_use";
	char name[VGPU_MOCK_NVIDIA_NAME] = "", back[sizeof(text)] = "";
	struct vgpu_mock_nvidia call = { .value = 0x1122334455667788, .name = (unsigned long)name };
	int fd;

	if (argc != 2)
		errx(2, "usage: nvidia_use DEVICE");
	fd = open(argv[1], O_RDWR);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (ioctl(fd, VGPU_MOCK_NVIDIA_IOC, &call))
		err(1, "%s: ioctl", argv[1]);
	if (~call.value != 0x1122334455667788)
		errx(1, "%s: ioctl gave %llx", argv[1], (unsigned long long)call.value);
	if (write(fd, text, sizeof(text)) != sizeof(text) || lseek(fd, 0, SEEK_SET) ||
	    read(fd, back, sizeof(back)) != sizeof(back))
		err(1, "%s: write and read", argv[1]);
	if (memcmp(text, back, sizeof(text)))
		errx(1, "%s: read something else than was written", argv[1]);
	puts(name);
	return 0;
}
