// SPDX-License-Identifier: MIT
/* Listeners: sockets on which vgpud accepts connections of guests. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/unixsock.h"
#include "config/config.h"
#include "guest/buffer.h"
#include "guest/listener.h"
#include "shared/log.h"
#include "shared/loop.h"

/**
 * struct door - a socket of a listener
 * @node: entry of struct listener's list of doors
 * @source: socket that listens
 * @full: timer after which the socket accepts again when there was no room for a file
 * @port: port of the listener
 * @guest: guest that connects here by a UNIX socket; NULL: all guests that use vsock
 */
struct door {
	LIST_ENTRY(door) node;
	struct source source;
	struct timer full;
	uint32_t port;
	const struct unixsock_guest *guest;
};

struct listener {
	LIST_ENTRY(listener) node;
	LIST_HEAD(, door) doors;
	uint32_t port;
	unsigned int users;
};

static LIST_HEAD(, listener) listeners = LIST_HEAD_INITIALIZER(listeners);
static void (*take)(int fd, uint32_t cid, uint32_t remote_port, uint32_t port);

void listeners_init(void (*taker)(int fd, uint32_t cid, uint32_t remote_port, uint32_t port))
{
	take = taker;
}

static void door_reopen(struct timer *timer)
{
	source_set(&container_of(timer, struct door, full)->source, EPOLLIN);
}

static void vsock_take(struct door *door, int fd, const struct sockaddr_vm *addr)
{
	if (addr->svm_family != AF_VSOCK) {
		close(fd);
	} else if (unixsock_guest(addr->svm_cid)) {
		log_guest(addr->svm_cid, door->port, "came by vsock, but [sockets] has a path for this guest: only connections by that path are accepted");
		close(fd);
	} else {
		take(fd, addr->svm_cid, addr->svm_port, door->port);
	}
}

/* Accept a connection. Return: true if there was one. */
static bool door_accept(struct door *door)
{
	struct sockaddr_vm addr = { 0 };
	socklen_t len = sizeof(addr);
	int fd;

	fd = source_accept(&door->source, &door->full,
			   door->guest ? NULL : (struct sockaddr *)&addr, door->guest ? NULL : &len,
			   SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && door->full.set)
		log_seldom("vgpud cannot accept connections of guests at the moment: %s%s",
			   strerror(errno),
			   errno == EMFILE ? " (raise LimitNOFILE of vgpud.service)" : "");
	if (fd < 0)
		return false;
	if (door->guest) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &settings.buffer_size,
			   sizeof(settings.buffer_size));
		take(fd, door->guest->cid, VMADDR_PORT_ANY, door->port);
	} else {
		vsock_take(door, fd, &addr);
	}
	return true;
}

static void door_ready(struct source *source, uint32_t events)
{
	struct door *door = container_of(source, struct door, source);
	unsigned int i;

	(void)events;
	for (i = 0; i < LOOP_ACCEPTS && door_accept(door); i++)
		;
}

static int vsock_listen(uint32_t port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = port,
	};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret;

	if (fd < 0)
		return -errno;
	buffer_listen(fd);
	if (!bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, SOMAXCONN))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

/* Add a socket to a listener, and take over @fd. */
static int door_add(struct listener *listener, int fd, const struct unixsock_guest *guest)
{
	struct door *door = calloc(1, sizeof(*door));
	int ret = door ? 0 : -ENOMEM;

	if (door) {
		door->source.fd = fd;
		door->source.ready = door_ready;
		door->full.expired = door_reopen;
		door->port = listener->port;
		door->guest = guest;
		ret = source_add(&door->source, EPOLLIN);
	}
	if (!ret) {
		LIST_INSERT_HEAD(&listener->doors, door, node);
		return 0;
	}
	if (guest)
		unixsock_remove(guest, listener->port);
	close(fd);
	free(door);
	return ret;
}

static void listener_end(struct listener *listener)
{
	struct door *door;

	while ((door = LIST_FIRST(&listener->doors))) {
		if (door->guest)
			unixsock_remove(door->guest, door->port);
		LIST_REMOVE(door, node);
		timer_cancel(&door->full);
		source_close(&door->source);
		free(door);
	}
	free(listener);
}

static int listener_open(struct listener *listener)
{
	const struct unixsock_guest *guest;
	int fd, ret = 0, failed = 0;

	if (settings.vsock) {
		fd = vsock_listen(listener->port);
		ret = fd < 0 ? fd : door_add(listener, fd, NULL);
	}
	LIST_FOREACH(guest, &unixsock_guests, node) {
		if (ret)
			break;
		fd = unixsock_listen(guest, listener->port);
		/*
		 * The error was logged. A user who can write to one guest's directory must not
		 * shut out other guests.
		 */
		if (fd < 0)
			failed = fd;
		else
			ret = door_add(listener, fd, guest);
	}
	if (!ret && LIST_EMPTY(&listener->doors))
		ret = failed;
	return ret;
}

int listener_get(uint32_t port)
{
	struct listener *listener;
	int ret;

	LIST_FOREACH(listener, &listeners, node)
		if (listener->port == port) {
			listener->users++;
			return 0;
		}

	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	LIST_INIT(&listener->doors);
	listener->port = port;
	listener->users = 1;
	ret = listener_open(listener);
	if (ret) {
		listener_end(listener);
		return ret;
	}
	LIST_INSERT_HEAD(&listeners, listener, node);
	return 0;
}

void listener_put(uint32_t port)
{
	struct listener *listener;

	LIST_FOREACH(listener, &listeners, node)
		if (listener->port == port)
			break;
	if (!listener || --listener->users)
		return;
	LIST_REMOVE(listener, node);
	listener_end(listener);
}

void listener_exit(void)
{
	struct listener *listener;

	while ((listener = LIST_FIRST(&listeners))) {
		LIST_REMOVE(listener, node);
		listener_end(listener);
	}
}
