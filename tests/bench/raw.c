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

#define MSG_LEN		64
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

static void write_all(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n <= 0)
			err(1, "write");
		done += n;
	}
}

/* Takes as many bytes as it was told, then answers with one. */
static void sink(int fd, uint64_t len)
{
	static char buf[CHUNK];

	while (len) {
		size_t part = len < CHUNK ? len : CHUNK;

		if (read_all(fd, buf, part))
			return;
		len -= part;
	}
	write_all(fd, buf, 1);
}

static void pong(int listener)
{
	uint64_t msg[MSG_LEN / 8];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		err(1, "accept");
	while (!read_all(fd, msg, sizeof(msg))) {
		if (msg[0])
			sink(fd, msg[0]);
		else
			write_all(fd, msg, sizeof(msg));
	}
	_exit(0);
}

int raw_connect(void)
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

void raw_ping(int fd, int count)
{
	char buf[MSG_LEN] = "";

	while (count--) {
		if (write(fd, buf, sizeof(buf)) != sizeof(buf) || read_all(fd, buf, sizeof(buf)))
			err(1, "ping");
	}
}

void raw_stream(int fd, size_t len)
{
	static char buf[CHUNK];
	uint64_t msg[MSG_LEN / 8] = { len };
	size_t done, part;

	write_all(fd, msg, sizeof(msg));
	for (done = 0; done < len; done += part) {
		part = len - done < CHUNK ? len - done : CHUNK;
		write_all(fd, buf, part);
	}
	if (read_all(fd, buf, 1))
		err(1, "stream");
}
