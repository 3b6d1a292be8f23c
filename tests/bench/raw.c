// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "raw.h"

#define CHUNK		65536
#define BUFFER_LEN	(1ULL << 20)

double raw_now_us(void)
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

int raw_read(int fd, void *buf, size_t len)
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

void raw_write(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n <= 0)
			err(1, "write");
		done += n;
	}
}

/* Receives as many bytes as announced, then answers with one. */
static void sink(int fd, uint64_t len)
{
	static char buf[CHUNK];

	while (len) {
		size_t part = len < CHUNK ? len : CHUNK;

		if (raw_read(fd, buf, part))
			return;
		len -= part;
	}
	raw_write(fd, buf, 1);
}

static void pong(int fd)
{
	uint64_t msg[RAW_LEN / 8];

	while (!raw_read(fd, msg, sizeof(msg))) {
		if (msg[0])
			sink(fd, msg[0]);
		else
			raw_write(fd, msg, sizeof(msg));
	}
	_exit(0);
}

void raw_pair(int ends[2])
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = VMADDR_PORT_ANY,
	};
	socklen_t len = sizeof(addr);
	int listener = vsock_socket();

	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		err(1, "vsock listen");
	addr.svm_cid = VMADDR_CID_LOCAL;
	ends[0] = vsock_socket();
	if (connect(ends[0], (struct sockaddr *)&addr, sizeof(addr)))
		err(1, "vsock connect");
	ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (ends[1] < 0)
		err(1, "accept");
	close(listener);
}

int raw_connect(void)
{
	int ends[2];
	pid_t pid;

	raw_pair(ends);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		pong(ends[1]);
	}
	close(ends[1]);
	return ends[0];
}

void raw_ping(int fd, int count)
{
	char buf[RAW_LEN] = "";

	while (count--) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf) || raw_read(fd, buf, sizeof(buf)))
			err(1, "ping");
	}
}

void raw_stream(int fd, size_t len)
{
	static char buf[CHUNK];
	uint64_t msg[RAW_LEN / 8] = { len };
	size_t done, part;

	raw_write(fd, msg, sizeof(msg));
	for (done = 0; done < len; done += part) {
		part = len - done < CHUNK ? len - done : CHUNK;
		raw_write(fd, buf, part);
	}
	if (raw_read(fd, buf, 1))
		err(1, "stream");
}
