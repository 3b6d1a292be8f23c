// SPDX-License-Identifier: MIT
/* Pairs of connected sockets between programs of guests, and between them and vgpud. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/pair.h"

int pair_open(int pair[2])
{
	const int room = 16 << 20;
	unsigned int i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	for (i = 0; i < 2; i++)
		setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return 0;
}

int pair_mute(int pair[2])
{
	int ret;

	if (!shutdown(pair[0], SHUT_RD))
		return 0;
	ret = -errno;
	close(pair[0]);
	close(pair[1]);
	return ret;
}

int pair_make(int pair[2])
{
	int ret = pair_open(pair);

	return ret ? ret : pair_mute(pair);
}
