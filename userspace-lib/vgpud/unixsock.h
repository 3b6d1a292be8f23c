/* SPDX-License-Identifier: MIT */
/*
 * UNIX sockets of guests whose vsock device is a process of this machine, as vhost-device-vsock:
 * what such a guest connects to as CID 2, port P, arrives at PATH_P.
 */
#ifndef VGPUD_UNIXSOCK_H
#define VGPUD_UNIXSOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/un.h>

/**
 * struct unixsock_guest - a line of [sockets]
 * @node: in unixsock_guests
 * @cid: who comes that way
 * @path: what the sockets' names begin with
 */
struct unixsock_guest {
	LIST_ENTRY(unixsock_guest) node;
	uint32_t cid;
	/* There is room for _PORT. */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) - 11];
};

LIST_HEAD(unixsock_guest_list, unixsock_guest);
extern struct unixsock_guest_list unixsock_guests;

/* Adds a guest. 0, or a negative errno and a reason in @words. */
int unixsock_add(uint32_t cid, const char *path, const char **words);
/* Sockets are to be that user's; NULL: root's. 0 or -ENOENT. */
int unixsock_owner(const char *user);
/* Whether that guest comes by sockets. */
bool unixsock_guest(uint32_t cid);

/* A socket that listens for the guest's connections to the port, or a negative errno. */
int unixsock_listen(const struct unixsock_guest *guest, uint32_t port);
/* Removes its name, before it is closed. */
void unixsock_remove(const struct unixsock_guest *guest, uint32_t port);
/*
 * Lets nobody send files to those that a listening socket will accept. We would close them, and
 * the last close of one may wait, for its driver or for a peer in the network.
 */
void unixsock_refuse_files(int fd);
/* Makes room in one that was accepted. */
void unixsock_enlarge(int fd);

#endif /* VGPUD_UNIXSOCK_H */
