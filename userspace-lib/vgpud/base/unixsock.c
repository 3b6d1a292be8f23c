// SPDX-License-Identifier: MIT
/* UNIX sockets of guests whose vsock device is a process of the host. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/unixsock.h"
#include "base/users.h"
#include "shared/log.h"

/* Old versions of asm-generic/socket.h lack this number. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83
#endif

struct unixsock_guest_list unixsock_guests = LIST_HEAD_INITIALIZER(unixsock_guests);

static uint32_t owner_uid, owner_gid;

int unixsock_add(uint32_t cid, const char *path, const char **words)
{
	struct unixsock_guest *guest;

	*words = "give an absolute path of at most 96 characters";
	if (path[0] != '/' || strlen(path) >= sizeof(guest->path))
		return -EINVAL;
	LIST_FOREACH(guest, &unixsock_guests, node) {
		*words = "this guest has a path already";
		if (guest->cid == cid)
			return -EEXIST;
		*words = "this path is another guest's";
		if (!strcmp(guest->path, path))
			return -EEXIST;
	}
	guest = calloc(1, sizeof(*guest));
	*words = "out of memory";
	if (!guest)
		return -ENOMEM;
	guest->cid = cid;
	strcpy(guest->path, path);
	LIST_INSERT_HEAD(&unixsock_guests, guest, node);
	return 0;
}

int unixsock_owner(const char *user)
{
	return user_find_owner(user, &owner_uid, &owner_gid);
}

bool unixsock_guest(uint32_t cid)
{
	const struct unixsock_guest *guest;

	LIST_FOREACH(guest, &unixsock_guests, node)
		if (guest->cid == cid)
			return true;
	return false;
}

static void name_of(const struct unixsock_guest *guest, uint32_t port, struct sockaddr_un *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%s_%u", guest->path, port);
}

/*
 * Take the owner's rights to look at, make or remove a name: in a directory of the owner's the name
 * can lead to any file, and no file that the owner may not change must be harmed.
 */
static bool become_owner(void)
{
	return rights_take(owner_uid, owner_gid);
}

/*
 * Check whether the name is that of a socket of the owner's on which no process listens. A user
 * who can write to the directory can change the name's meaning at any moment, so the check uses
 * one open file throughout. No socket of another user is connected to.
 */
static bool is_stale(const struct sockaddr_un *addr)
{
	struct sockaddr_un found = { .sun_family = AF_UNIX };
	int file = open(addr->sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	bool stale = false;
	struct stat st;

	if (file < 0)
		return false;
	if (!fstat(file, &st) && S_ISSOCK(st.st_mode) && st.st_uid == owner_uid)
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		snprintf(found.sun_path, sizeof(found.sun_path), "/proc/self/fd/%d", file);
		stale = connect(fd, (const struct sockaddr *)&found, sizeof(found)) &&
			errno == ECONNREFUSED;
		close(fd);
	}
	close(file);
	return stale;
}

static int bind_as_owner(int fd, const struct sockaddr_un *addr)
{
	int ret = -EPERM;

	if (become_owner())
		ret = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
	rights_return();
	return ret;
}

static int unlink_as_owner(const struct sockaddr_un *addr)
{
	int ret = -EPERM;

	if (become_owner())
		ret = unlink(addr->sun_path) ? -errno : 0;
	rights_return();
	return ret;
}

static bool is_stale_for_owner(const struct sockaddr_un *addr)
{
	bool stale = become_owner() && is_stale(addr);

	rights_return();
	return stale;
}

static int bind_name(int fd, const struct sockaddr_un *addr)
{
	int ret = bind_as_owner(fd, addr);

	if (ret != -EADDRINUSE || !is_stale_for_owner(addr))
		return ret;
	ret = unlink_as_owner(addr);
	return ret ? ret : bind_as_owner(fd, addr);
}

int unixsock_listen(const struct unixsock_guest *guest, uint32_t port)
{
	struct sockaddr_un addr;
	int fd, ret;

	name_of(guest, port, &addr);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unixsock_refuse_files(fd);
	/* bind() gives the name this mode, so that other users cannot connect at any moment. */
	ret = fchmod(fd, 0600) ? -errno : bind_name(fd, &addr);
	if (!ret && listen(fd, SOMAXCONN)) {
		ret = -errno;
		unixsock_remove(guest, port);
	}
	if (!ret)
		return fd;
	log_error("%s: %s", addr.sun_path, ret == -EADDRINUSE ?
		  "a file of that name exists, or a process listens on the socket" :
		  ret == -EROFS ?
		  "vgpud may not write to this directory: name it in ReadWritePaths= of a drop-in of vgpud.service" :
		  strerror(-ret));
	close(fd);
	return ret;
}

void unixsock_remove(const struct unixsock_guest *guest, uint32_t port)
{
	struct sockaddr_un addr;

	name_of(guest, port, &addr);
	unlink_as_owner(&addr);
}

void unixsock_refuse_files(int fd)
{
	const int no = 0;

	/* Linux before 6.16 lacks this option, and has no other way. */
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

void unixsock_accept_files(int fd)
{
	const int yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes));
}
