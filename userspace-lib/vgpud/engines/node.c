// SPDX-License-Identifier: MIT
/* Device nodes of the exports of guests, by which shadows open devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engines/node.h"
#include "shared/log.h"

/*
 * Mount point of a tmpfs that allows device nodes. Each guest has a directory there with the
 * nodes of its exports.
 */
#define NODES_DIR	"/run/vgpu/nodes"

int nodes_init(void)
{
	if (mkdir(NODES_DIR, 0700) && errno != EEXIST)
		goto err;
	/* Detach the mount that a vgpud before this one left behind, with its nodes. */
	umount2(NODES_DIR, MNT_DETACH);
	if (mount("vgpu", NODES_DIR, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0700,size=1m"))
		goto err;
	return 0;
err:
	log_error("%s: %s", NODES_DIR, strerror(errno));
	return -errno;
}

void node_remove(int nodes_fd, uint32_t number)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	unlinkat(nodes_fd, name, 0);
}

bool node_exists(int nodes_fd, uint32_t number)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	return !faccessat(nodes_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool node_is(int nodes_fd, const char *name, dev_t rdev)
{
	struct stat st;

	return !fstatat(nodes_fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == rdev;
}

int node_make(int nodes_fd, uint32_t number, dev_t rdev, bool read_only)
{
	mode_t mode = read_only ? 0444 : 0666;
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	/* A guest that was taken over may have the node. */
	if (mknodat(nodes_fd, name, S_IFCHR | mode, rdev) &&
	    (errno != EEXIST || !node_is(nodes_fd, name, rdev)))
		return -errno;
	return fchmodat(nodes_fd, name, mode, 0) ? -errno : 0;
}

int node_open(int nodes_fd, uint32_t number)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%u", number);
	fd = openat(nodes_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void nodes_close(int nodes_fd, uint32_t cid, uint32_t port)
{
	char path[64];

	if (nodes_fd >= 0)
		close(nodes_fd);
	snprintf(path, sizeof(path), NODES_DIR "/%u-%u", cid, port);
	rmdir(path);
}

int nodes_open(uint32_t cid, uint32_t port)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), NODES_DIR "/%u-%u", cid, port);
	if (mkdir(path, 0711) && errno != EEXIST)
		return -errno;
	fd = syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
