// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "export.h"
#include "loop.h"
#include "notify.h"

/* Devices come in bursts: look once, when it is quiet. */
#define SETTLE_MS	200

void notify_manager(const char *state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len;
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@'))
		return;
	len = strlen(path);
	if (len >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';	/* the abstract name space */

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
	       offsetof(struct sockaddr_un, sun_path) + len);
	close(fd);
}

static void settled(struct timer *timer)
{
	(void)timer;
	exports_rescan();
}

static struct timer settle = { .expired = settled };

static void uevent_ready(struct source *source, uint32_t events)
{
	struct sockaddr_nl addr = { .nl_pid = ~0U };
	socklen_t addr_len = sizeof(addr);
	char text[256];
	ssize_t len;

	(void)events;
	len = recvfrom(source->fd, text, sizeof(text) - 1, MSG_DONTWAIT,
		       (struct sockaddr *)&addr, &addr_len);
	/* Messages lost (ENOBUFS) are a reason to look as well. */
	if (len < 0 && errno != ENOBUFS)
		return;
	if (len >= 0) {
		text[len] = '\0';
		/* Only the kernel's; "add@/devices/..." is at the beginning. */
		if (addr.nl_pid || (strncmp(text, "add@", 4) && strncmp(text, "remove@", 7)))
			return;
	}
	timer_set(&settle, SETTLE_MS);
}

static struct source uevents = { .fd = -1, .ready = uevent_ready };

int notify_devices_init(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	uevents.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    NETLINK_KOBJECT_UEVENT);
	if (uevents.fd < 0)
		return -errno;
	if (bind(uevents.fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return source_add(&uevents, EPOLLIN);
}
