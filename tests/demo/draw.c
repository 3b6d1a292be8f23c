// SPDX-License-Identifier: GPL-2.0-only
/*
 * draw: does the first steps of a program with a DRM device, with nothing but libdrm: asks for
 * its name and its capabilities, makes a buffer, writes a pattern to it through one mapping,
 * and finds the pattern in a second one and in the dma-buf's.
 *
 *	draw /dev/dri/cardN
 *
 * Exit status: 0 all as it should be, 1 not (and why).
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#define WIDTH	320
#define HEIGHT	200

static uint32_t pixel(uint32_t x, uint32_t y)
{
	return (x * 2654435761u) ^ (y * 40503u) ^ (x << 16 | y);
}

static void paint(uint8_t *map, uint32_t pitch)
{
	uint32_t x, y;

	for (y = 0; y < HEIGHT; y++)
		for (x = 0; x < WIDTH; x++)
			((uint32_t *)(map + (size_t)y * pitch))[x] = pixel(x, y);
}

static void compare(const char *what, const uint8_t *map, uint32_t pitch)
{
	uint32_t x, y, got;

	for (y = 0; y < HEIGHT; y++) {
		for (x = 0; x < WIDTH; x++) {
			got = ((const uint32_t *)(map + (size_t)y * pitch))[x];
			if (got != pixel(x, y))
				errx(1, "%s: pixel %u,%u is %08x, not %08x", what, x, y, got,
				     pixel(x, y));
		}
	}
	printf("%s: %u pixels as painted\n", what, WIDTH * HEIGHT);
}

static void *map_buffer(int fd, uint64_t offset, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (map == MAP_FAILED)
		err(1, "mmap");
	return map;
}

static void tell(int fd)
{
	static const struct {
		const char *name;
		uint64_t cap;
	} caps[] = {
		{ "dumb buffers", DRM_CAP_DUMB_BUFFER },
		{ "PRIME", DRM_CAP_PRIME },
		{ "sync objects", DRM_CAP_SYNCOBJ },
	};
	drmVersionPtr version = drmGetVersion(fd);
	uint64_t value;
	size_t i;

	if (!version)
		err(1, "drmGetVersion");
	printf("driver %s %d.%d.%d: %s\n", version->name, version->version_major,
	       version->version_minor, version->version_patchlevel, version->desc);
	drmFreeVersion(version);
	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		if (drmGetCap(fd, caps[i].cap, &value))
			printf("%s: %s\n", caps[i].name, strerror(errno));
		else
			printf("%s: %llu\n", caps[i].name, (unsigned long long)value);
	}
}

int main(int argc, char **argv)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };
	uint32_t handle, pitch;
	uint64_t size, offset;
	uint8_t *first, *second, *shared;
	int fd, dmabuf;

	if (argc != 2)
		errx(2, "usage: draw /dev/dri/cardN");
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	tell(fd);

	if (drmModeCreateDumbBuffer(fd, WIDTH, HEIGHT, 32, 0, &handle, &pitch, &size))
		err(1, "create a dumb buffer");
	if (drmModeMapDumbBuffer(fd, handle, &offset))
		err(1, "map a dumb buffer");
	printf("buffer: %u x %u, %llu bytes\n", WIDTH, HEIGHT, (unsigned long long)size);
	first = map_buffer(fd, offset, size);
	paint(first, pitch);

	second = map_buffer(fd, offset, size);
	compare("second mapping", second, pitch);

	if (drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, &dmabuf))
		err(1, "export as a dma-buf");
	shared = map_buffer(dmabuf, 0, size);
	if (ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync))
		err(1, "DMA_BUF_IOCTL_SYNC");
	compare("mapping of the dma-buf", shared, pitch);

	munmap(first, size);
	munmap(second, size);
	if (drmModeDestroyDumbBuffer(fd, handle))
		err(1, "destroy the buffer");
	/* The dma-buf keeps the buffer alive. */
	compare("dma-buf, after its handle is gone", shared, pitch);
	munmap(shared, size);
	close(dmabuf);
	if (close(fd))
		err(1, "close");
	puts("ok");
	return 0;
}
