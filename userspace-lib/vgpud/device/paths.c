// SPDX-License-Identifier: MIT
/*
 * Watches for paths of exports: inotify reports changes of their directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "device/paths.h"
#include "shared/log.h"
#include "shared/loop.h"

/* Most symlinks that are followed from one path. */
#define LINKS_MAX	8

static void (*changed)(void);

/* Read all events. The names in them do not matter. Return: true if there was an event. */
static bool events_read(int fd)
{
	char buffer[4096] __attribute__((aligned(8)));
	bool any = false;

	while (read(fd, buffer, sizeof(buffer)) > 0)
		any = true;
	return any;
}

static void paths_ready(struct source *source, uint32_t events)
{
	(void)events;
	events_read(source->fd);
	changed();
}

static struct source watches = { .fd = -1, .ready = paths_ready };
/* File of the watches that are being replaced, from paths_begin() to paths_end(); -1: none. */
static int earlier_fd = -1;

/* Watch the directory of a file, or the nearest directory above that exists. */
static void watch_above(const char *path)
{
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	while ((slash = strrchr(dir, '/'))) {
		/* The root directory's name is the slash itself. */
		slash[slash == dir] = '\0';
		if (inotify_add_watch(watches.fd, dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) >= 0)
			return;
		if (slash == dir || (errno != ENOENT && errno != ENOTDIR))
			break;
	}
	log_warning("%s: vgpud cannot watch for this path to appear: %s", path, strerror(errno));
}

/* Read the target of the link @path into @target. Return: false if @path is no link. */
static bool follow_link(const char *path, char target[PATH_MAX])
{
	char link[PATH_MAX];
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	int dir = strrchr(path, '/') + 1 - path;

	if (len <= 0)
		return false;
	link[len] = '\0';
	return snprintf(target, PATH_MAX, "%.*s%s", link[0] == '/' ? 0 : dir, path, link) < PATH_MAX;
}

void paths_init(void (*on_change)(void))
{
	changed = on_change;
}

void paths_changed(void)
{
	changed();
}

void paths_begin(void)
{
	if (watches.fd >= 0)
		earlier_fd = fcntl(watches.fd, F_DUPFD_CLOEXEC, 0);
	source_close(&watches);
	watches.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watches.fd < 0 || source_add(&watches, EPOLLIN)) {
		log_warning("vgpud cannot watch for devices that appear later: %s",
			    strerror(errno));
		if (watches.fd >= 0)
			close(watches.fd);
		watches.fd = -1;
	}
}

void paths_watch(const char *first, bool missing)
{
	char path[PATH_MAX], target[PATH_MAX];
	bool is_link;
	int i;

	if (watches.fd < 0)
		return;
	snprintf(path, sizeof(path), "%s", first);
	for (i = 0; i < LINKS_MAX; i++) {
		is_link = follow_link(path, target);
		if (is_link || missing)
			watch_above(path);
		if (!is_link)
			return;
		memcpy(path, target, sizeof(path));
	}
}

void paths_end(void)
{
	bool any;

	if (earlier_fd < 0)
		return;
	any = events_read(earlier_fd);
	close(earlier_fd);
	earlier_fd = -1;
	if (any)
		changed();
}
