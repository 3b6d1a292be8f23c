/* SPDX-License-Identifier: MIT */
/*
 * Sockets of guests' connections that vgpud has handed to the host module or to programs of guests.
 *
 * vgpud closes its own descriptor of such a socket. A shadow that was taken over can keep the
 * socket, whose buffers the kernel charges to no control group. So vgpud puts each socket into an
 * epoll instance of its guest before it hands the socket out. An entry of an epoll instance lasts
 * as long as the file is open anywhere, and /proc/self/fdinfo lists the entries.
 */
#ifndef VGPUD_SOCKETS_H
#define VGPUD_SOCKETS_H

#include <stdint.h>
#include <sys/queue.h>

/**
 * struct sockets - sockets of a guest that were handed out
 * @node: entry of the list of all struct sockets
 * @epoll_fd: epoll instance with the sockets; vgpud waits for none of its events
 * @nr: number of sockets, with those that were closed since the last count
 * @bytes: bytes of large buffers of these sockets (buffer.h)
 * @added: number of sockets added since the last count
 * @counted_ms: time of the last count on now_ms()'s clock
 */
struct sockets {
	LIST_ENTRY(sockets) node;
	int epoll_fd;
	unsigned int nr;
	uint64_t bytes;
	unsigned int added;
	uint64_t counted_ms;
};

/* Return: 0 or a negative errno. */
int sockets_open(struct sockets *sockets);
/* As sockets_open(), with the file of an earlier vgpud, which is taken over. */
void sockets_adopt(struct sockets *sockets, int epoll_fd);
/* Forget all sockets. The guest's processes have ended, so the sockets are closed. */
void sockets_close(struct sockets *sockets);
/*
 * Add a socket, which counts as long as it is open anywhere. @most: number of sockets that the
 * guest may have; @all_most: number of those that all guests may have. Return: 0; -EMFILE: there
 * are too many; or another negative errno.
 */
int sockets_add(struct sockets *sockets, int fd, unsigned int most, unsigned int all_most);
/*
 * Charge @bytes of a large buffer to a socket that was added. @most: bytes that the guest may have;
 * @all_most: bytes that all guests may have. Return: 0; -ENOBUFS: there are too many; or another
 * negative errno.
 */
int sockets_charge(struct sockets *sockets, int fd, uint64_t bytes, uint64_t most,
		   uint64_t all_most);

#endif /* VGPUD_SOCKETS_H */
