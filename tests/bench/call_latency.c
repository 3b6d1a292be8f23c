// SPDX-License-Identifier: GPL-2.0-only
/*
 * call_latency: measures the cost of forwarded operations on files, against a raw 64-byte
 * ping-pong over vsock between two blocking processes of the same VM, with vgpu's buffer sizes.
 * Rounds of all alternate, so that a noisy machine disturbs all alike. The mock device's own
 * counter proves that every no-op ioctl arrived.
 *
 *	VGPU_FWD=/dev/vgpuN call_latency
 *
 * Exit status: 0 measured (whatever the figures), 1 calls are missing or something failed, 4 no
 * forwarded mock device.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../mock/vgpu_mock.h"
#include "raw.h"

#define ROUNDS		7
#define CALLS		1000
/* Longer operations are measured with fewer calls. */
#define FEWER		100
#define WARM_UP		200
#define PAGE		4096
#define PAGES		16

static const char *device;
/* This is the buffer's offset for mmap(). */
static off_t buffer;

static void call(int fd, int count)
{
	while (count--) {
		if (ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) < 0)
			err(1, "VGPU_MOCK_IOC_NOOP");
	}
}

static void open_close(int fd, int count)
{
	while (count--) {
		fd = open(device, O_RDWR | O_CLOEXEC);
		if (fd < 0 || close(fd))
			err(1, "%s", device);
	}
}

/* No schema describes the argument, so the host fetches the page that the driver accesses. */
static void fetch(int fd, int count)
{
	static const char text[] = "nothing that anybody has described";
	struct vgpu_mock_string string = { .ptr = (uintptr_t)text };

	while (count--) {
		if (ioctl(fd, VGPU_MOCK_IOC_STRING, &string) || string.out_length != strlen(text))
			err(1, "VGPU_MOCK_IOC_STRING");
	}
}

/* The first access to each page of a mapping is a fault that the host resolves. */
static void map_pages(int fd, int touched)
{
	volatile char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				     buffer);
	int i;

	if (memory == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < touched; i++)
		(void)memory[i * PAGE];
	if (munmap((void *)memory, PAGES * PAGE))
		err(1, "munmap");
}

static void map(int fd, int count)
{
	while (count--)
		map_pages(fd, 0);
}

static void map_and_touch(int fd, int count)
{
	while (count--)
		map_pages(fd, PAGES);
}

static const struct {
	const char *name;
	void (*run)(int fd, int count);
	int count;
} ops[] = {
	{ "raw vsock ping-pong", raw_ping, CALLS },
	{ "no-op ioctl", call, CALLS },
	{ "ioctl without a schema", fetch, CALLS },
	{ "open and close", open_close, FEWER },
	{ "mmap and munmap", map, FEWER },
	{ "the same, 16 pages read", map_and_touch, FEWER },
};

#define NR_OPS (sizeof(ops) / sizeof(ops[0]))

static uint32_t calls_arrived(int fd)
{
	struct vgpu_mock_counters counters;

	if (ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters) < 0)
		err(1, "VGPU_MOCK_IOC_COUNTERS");
	return counters.out_calls[_IOC_NR(VGPU_MOCK_IOC_NOOP)];
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double report(const char *what, double *us)
{
	qsort(us, ROUNDS, sizeof(*us), by_value);
	printf("%-24s median %8.2f us   least %8.2f   most %8.2f", what, us[ROUNDS / 2], us[0],
	       us[ROUNDS - 1]);
	return us[ROUNDS / 2];
}

int main(void)
{
	struct vgpu_mock_buf_create create = { .size = PAGES * PAGE, .flavour = VGPU_MOCK_BUF_PAGE };
	double us[NR_OPS][ROUNDS], raw = 0, t0;
	unsigned int i, round;
	int dev, sock, fd;
	uint32_t arrived;

	device = getenv("VGPU_FWD");
	if (!device) {
		fprintf(stderr, "VGPU_FWD names no device: set it to a forwarded mock device\n");
		return 4;
	}
	dev = open(device, O_RDWR | O_CLOEXEC);
	if (dev < 0)
		err(1, "%s", device);
	if (ioctl(dev, VGPU_MOCK_IOC_BUF_CREATE, &create))
		err(1, "VGPU_MOCK_IOC_BUF_CREATE");
	buffer = create.out_offset;
	sock = raw_connect();
	raw_ping(sock, WARM_UP);
	call(dev, WARM_UP);

	arrived = calls_arrived(dev);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < NR_OPS; i++) {
			fd = ops[i].run == raw_ping ? sock : dev;
			t0 = raw_now_us();
			ops[i].run(fd, ops[i].count);
			us[i][round] = (raw_now_us() - t0) / ops[i].count;
		}
	}
	arrived = calls_arrived(dev) - arrived;

	printf("%d rounds of each, alternating\n", ROUNDS);
	for (i = 0; i < NR_OPS; i++) {
		double median = report(ops[i].name, us[i]);

		raw = raw ?: median;
		printf("   ratio %.3f\n", median / raw);
	}
	printf("no-op calls made %d, arrived %u\n", ROUNDS * CALLS, arrived);
	return arrived == ROUNDS * CALLS ? 0 : 1;
}
