// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "config.h"
#include "handshake.h"
#include "listener.h"
#include "log.h"
#include "loop.h"

struct listener {
	LIST_ENTRY(listener) node;
	struct source source;
	uint32_t port;
	unsigned int users;
};

static LIST_HEAD(, listener) listeners = LIST_HEAD_INITIALIZER(listeners);

static void listener_ready(struct source *source, uint32_t events)
{
	struct listener *listener = container_of(source, struct listener, source);
	struct sockaddr_vm addr;
	socklen_t len = sizeof(addr);
	int fd;

	(void)events;
	memset(&addr, 0, sizeof(addr));
	fd = accept4(source->fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			log_guest("accept: %s", strerror(errno));
		return;
	}
	if (addr.svm_family != AF_VSOCK) {
		close(fd);
		return;
	}
	handshake_start(fd, addr.svm_cid, addr.svm_port, listener->port);
}

/* Connections inherit the size; both ends have to be large for one to help. */
static void enlarge(int fd)
{
	unsigned long long size = settings.buffer_size;

	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE, &size, sizeof(size));
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &size, sizeof(size));
}

int listener_get(uint32_t port)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = port,
	};
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
	listener->port = port;
	listener->users = 1;
	listener->source.ready = listener_ready;
	listener->source.fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->source.fd < 0) {
		ret = -errno;
		goto err_free;
	}
	enlarge(listener->source.fd);
	if (bind(listener->source.fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener->source.fd, 256)) {
		ret = -errno;
		goto err_close;
	}
	ret = source_add(&listener->source, EPOLLIN);
	if (ret)
		goto err_close;
	LIST_INSERT_HEAD(&listeners, listener, node);
	return 0;

err_close:
	close(listener->source.fd);
err_free:
	free(listener);
	return ret;
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
	source_close(&listener->source);
	free(listener);
}
