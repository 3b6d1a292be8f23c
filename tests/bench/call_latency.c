// SPDX-License-Identifier: GPL-2.0-only
/*
 * call_latency: what one forwarded ioctl costs, against a raw 64-byte ping-pong
 * over vsock between two blocking processes of the same VM, with the buffer
 * sizes that vgpu uses. Rounds of both alternate, so that a noisy machine
 * disturbs both alike. The mock device's own counter proves that every ioctl
 * arrived.
 *
 *	VGPU_FWD=/dev/vgpuN call_latency
 *
 * Exit status: 0 measured (whatever the figures), 1 calls are missing or
 * something failed, 4 no forwarded mock device.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "../mock/vgpu_mock.h"
#include "raw.h"

#define ROUNDS		7
#define CALLS		1000
#define WARM_UP		200

static void call(int fd, int count)
{
	while (count--) {
		if (ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) < 0)
			err(1, "VGPU_MOCK_IOC_NOOP");
	}
}

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
	printf("%-24s median %8.2f us   least %8.2f   most %8.2f\n", what, us[ROUNDS / 2], us[0],
	       us[ROUNDS - 1]);
	return us[ROUNDS / 2];
}

int main(void)
{
	const char *path = getenv("VGPU_FWD");
	double raw_us[ROUNDS], call_us[ROUNDS];
	uint32_t before, after;
	double raw, fwd;
	int dev, sock;
	int i;

	if (!path) {
		fprintf(stderr, "VGPU_FWD names no device: set it to a forwarded mock device\n");
		return 4;
	}
	dev = open(path, O_RDWR | O_CLOEXEC);
	if (dev < 0)
		err(1, "%s", path);
	sock = raw_connect();
	raw_ping(sock, WARM_UP);
	call(dev, WARM_UP);

	before = calls_arrived(dev);
	for (i = 0; i < ROUNDS; i++) {
		double t0 = raw_now_us(), t1;

		raw_ping(sock, CALLS);
		t1 = raw_now_us();
		call(dev, CALLS);
		call_us[i] = (raw_now_us() - t1) / CALLS;
		raw_us[i] = (t1 - t0) / CALLS;
	}
	after = calls_arrived(dev);

	printf("%d rounds of %d, alternating\n", ROUNDS, CALLS);
	raw = report("raw vsock ping-pong", raw_us);
	fwd = report("forwarded no-op ioctl", call_us);
	printf("ratio %.3f\n", fwd / raw);
	printf("calls made %d, arrived %u\n", ROUNDS * CALLS, after - before);
	return after - before == ROUNDS * CALLS ? 0 : 1;
}
