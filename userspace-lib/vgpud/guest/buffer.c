// SPDX-License-Identifier: MIT
/* Sizes of the vsock buffers of guests' connections. */
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include "config/config.h"
#include "guest/buffer.h"
#include "guest/sockets.h"

/* Size of a small buffer in bytes. The kernel uses up to twice as much for a socket. */
#define BUFFER_SMALL	16384

/* Set the size of a buffer. Connections inherit it, and the largest size, from a listener. */
static void buffer_set(int fd, unsigned long long size)
{
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &size, sizeof(size));
}

void buffer_listen(int fd)
{
	unsigned long long most = settings.buffer_size;

	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE, &most, sizeof(most));
	buffer_set(fd, BUFFER_SMALL);
}

void buffer_enlarge(int fd)
{
	buffer_set(fd, settings.buffer_size);
}

void buffer_take(int fd, struct sockets *sockets)
{
	const uint64_t size = settings.buffer_size;
	socklen_t len = sizeof(int);
	int domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || domain != AF_VSOCK)
		return;
	if (!sockets_charge(sockets, fd, size, settings.buffers.guest, settings.buffers.all))
		buffer_set(fd, size);
}
