// SPDX-License-Identifier: MIT
/* Sizes of the vsock buffers of guests' connections. */
#include <stdbool.h>
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include "config/config.h"
#include "guest/buffer.h"

/*
 * Size of a small buffer in bytes. The kernel uses up to twice as much for a socket. A lane has a
 * thread and buffers of some 128 KiB, which are charged to the guest's control group.
 */
#define BUFFER_SMALL	16384

/* Bytes of the large buffers of all guests' lanes. */
static uint64_t all_used;

/* Set the size of a buffer. Connections inherit it, and the largest size, from a listener. */
static bool buffer_set(int fd, unsigned long long size)
{
	return !setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &size, sizeof(size));
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

uint64_t buffer_take(int fd, uint64_t *used)
{
	const uint64_t size = settings.buffer_size;

	if (*used + size > settings.buffers || all_used + size > settings.all_buffers)
		return 0;
	if (!buffer_set(fd, size))
		return 0;
	*used += size;
	all_used += size;
	return size;
}

void buffer_return(uint64_t bytes, uint64_t *used)
{
	*used -= bytes;
	all_used -= bytes;
}
