/* SPDX-License-Identifier: MIT */
/*
 * UNIX sockets of guests whose vsock device is a process of the host, such as
 * vhost-device-vsock. A connection of such a guest to CID 2, port P, arrives at the socket
 * PATH_P.
 */
#ifndef VGPUD_UNIXSOCK_H
#define VGPUD_UNIXSOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/un.h>

/**
 * struct unixsock_guest - a line of [sockets]
 * @node: entry of unixsock_guests
 * @cid: context ID of the guest
 * @path: beginning of the paths of the guest's sockets
 */
struct unixsock_guest {
	LIST_ENTRY(unixsock_guest) node;
	uint32_t cid;
	/* The array leaves room for _PORT in sun_path. */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) - 11];
};

LIST_HEAD(unixsock_guest_list, unixsock_guest);
extern struct unixsock_guest_list unixsock_guests;

/* Add a guest. Return: 0, or a negative errno with the reason in @words. */
int unixsock_add(uint32_t cid, const char *path, const char **words);
/* Set the user who owns the sockets; NULL: see user_find_owner(). Return: 0 or a negative errno. */
int unixsock_owner(const char *user);
/* Check whether a guest connects by sockets. */
bool unixsock_guest(uint32_t cid);

/* Listen for the guest's connections to a port. Return: the socket, or a negative errno. */
int unixsock_listen(const struct unixsock_guest *guest, uint32_t port);
/* Remove the name of a listening socket, before the socket is closed. */
void unixsock_remove(const struct unixsock_guest *guest, uint32_t port);
/*
 * Keep peers from sending files by connections of a listening socket. vgpud would have to close
 * such a file, and its last close may wait for its driver or for a peer in the network.
 */
void unixsock_refuse_files(int fd);
/* Let the peer of a connection, which the listening socket kept from it, send files. */
void unixsock_accept_files(int fd);

#endif /* VGPUD_UNIXSOCK_H */
