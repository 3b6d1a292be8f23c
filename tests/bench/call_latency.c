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
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "../mock/vgpu_mock.h"

#define ROUNDS		7
#define CALLS		1000
#define WARM_UP		200
#define MSG_LEN		64
#define BUFFER_LEN	(1ULL << 20)

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int vsock_socket(void)
{
	unsigned long long len = BUFFER_LEN;
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "AF_VSOCK socket");
	if (setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE, &len, sizeof(len)) ||
	    setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &len, sizeof(len)))
		err(1, "vsock buffer size");
	return fd;
}

static int read_all(int fd, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)buf + done, len - done);

		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

static void pong(int listener)
{
	char buf[MSG_LEN];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		err(1, "accept");
	while (!read_all(fd, buf, sizeof(buf))) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			err(1, "pong");
	}
	_exit(0);
}

static int ping_connect(void)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = VMADDR_PORT_ANY,
	};
	socklen_t len = sizeof(addr);
	int listener = vsock_socket();
	int fd = vsock_socket();
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		err(1, "vsock listen");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd);
		pong(listener);
	}
	addr.svm_cid = VMADDR_CID_LOCAL;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err(1, "vsock connect");
	close(listener);
	return fd;
}

static void ping(int fd, int count)
{
	char buf[MSG_LEN] = "ping";

	while (count--) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf) || read_all(fd, buf, sizeof(buf)))
			err(1, "ping");
	}
}

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
	sock = ping_connect();
	ping(sock, WARM_UP);
	call(dev, WARM_UP);

	before = calls_arrived(dev);
	for (i = 0; i < ROUNDS; i++) {
		double t0 = now_us(), t1;

		ping(sock, CALLS);
		t1 = now_us();
		call(dev, CALLS);
		call_us[i] = (now_us() - t1) / CALLS;
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
