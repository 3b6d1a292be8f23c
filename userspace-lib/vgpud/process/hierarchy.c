// SPDX-License-Identifier: MIT
/* Hierarchy of control groups: vgpud's place in it, controllers, and the group of all guests. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "config/config.h"
#include "process/hierarchy.h"
#include "shared/log.h"

/* Group below the root that has the group of all guests where there is no systemd. */
#define BELOW_ROOT	"vgpu"
/* Group in which systemd runs commands of a unit beside its main process. */
#define COMMANDS	".control"

#define CONTROL		"cgroup.subtree_control"

static const char why_none[] = "there is no cgroup v2 at " CGROUP_ROOT " that vgpud may change: mount it there (mount -t cgroup2 none " CGROUP_ROOT ")";
static const char why_systemd[] = "systemd has not delegated the group that vgpud runs in: start vgpud by 'systemctl start vgpud', or by 'systemd-run --scope -p Delegate=yes vgpud'";
static const char why_busy[] = "other processes are in the group that vgpud runs in: start vgpud in a group of its own";
static const char why_controller[] = "the group that vgpud runs in lacks the controller memory or pids: have its parents enable both in " CONTROL;

/**
 * struct controller - a controller of the groups of guests
 * @name: name of the controller, after a +
 * @needed: true if a guest without it could use up the machine
 * @common: true if its absence is worth a message
 */
static const struct controller {
	const char *name;
	bool needed;
	bool common;
} controllers[] = {
	{ "+memory", true, true },
	{ "+pids", true, true },
	{ "+cpu", false, true },
	{ "+io", false, true },
	/* Linux 6.14; systemd does not know this controller. */
	{ "+dmem", false, false },
};

int group_write(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int group_open(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Make a child group unless it is there. Return: its fd or a negative errno. */
static int group_make(int dir_fd, const char *name)
{
	if (mkdirat(dir_fd, name, 0755) && errno != EEXIST)
		return -errno;
	return group_open(dir_fd, name);
}

/* Find the path of vgpud's group in the hierarchy; "/" is the root group. */
static int own_group(char *path, size_t size)
{
	char line[PATH_MAX + 16];
	FILE *file = fopen("/proc/self/cgroup", "re");
	int ret = -ENOENT;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, size, CGROUP_ROOT "%s", line + 3);
		ret = 0;
	}
	if (file)
		fclose(file);
	return ret;
}

/* Check for the root group. The root of a cgroup namespace has the files of an ordinary group. */
static bool is_root(int fd)
{
	return faccessat(fd, "cgroup.type", F_OK, 0);
}

/* Check whether systemd manages the groups of this machine, also from other mount namespaces. */
static bool has_systemd(void)
{
	return !access(CGROUP_ROOT "/init.scope", F_OK) || !access("/run/systemd/system", F_OK);
}

/* Check the mark that systemd sets on groups with Delegate= (CGROUP_DELEGATION.md in systemd). */
static bool is_delegated(int fd)
{
	char value[2];

	return fgetxattr(fd, "trusted.delegate", value, sizeof(value)) == 1 && *value == '1';
}

/*
 * Check whether systemd has started this process in the child group @name of a group that it has
 * delegated. If so, *@path is set to that group.
 */
static bool leave_subgroup(char *path, const char *name)
{
	char *slash = strrchr(path, '/');
	bool delegated;
	int fd;

	if (!slash || strcmp(slash + 1, name))
		return false;
	*slash = '\0';
	fd = group_open(AT_FDCWD, path);
	delegated = fd >= 0 && is_delegated(fd);
	if (fd >= 0)
		close(fd);
	if (!delegated)
		*slash = '/';
	return delegated;
}

bool hierarchy_may_last(void)
{
	char path[PATH_MAX + sizeof(CGROUP_ROOT)];

	/* vgpud.service has DelegateSubgroup=, which systemd has from version 254 on. */
	return !has_systemd() || (!own_group(path, sizeof(path)) &&
				  leave_subgroup(path, HIERARCHY_AGENT));
}

int hierarchy_unit(void)
{
	char path[PATH_MAX + sizeof(CGROUP_ROOT)];

	/* systemd sets this variable for ExecStop= and ExecStopPost= alone. */
	if (!getenv("SERVICE_RESULT") || own_group(path, sizeof(path)))
		return -EPERM;
	/* Without Delegate= the command is in the unit's own group. */
	leave_subgroup(path, COMMANDS);
	return group_open(AT_FDCWD, path);
}

int hierarchy_enter(int dir_fd, const char *name)
{
	int fd = group_make(dir_fd, name), ret;

	if (fd < 0)
		return fd;
	ret = group_write(fd, "cgroup.procs", "0");
	close(fd);
	return ret;
}

/*
 * Make a group below the root group, in which vgpud stays. Beside it each other process in the root
 * group counts as if it had a group of its own, so this one gets a weight for each processor.
 */
static int below_root(int root)
{
	long weight = 100 * sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i;
	char text[16];
	int fd;

	for (i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		group_write(root, CONTROL, controllers[i].name);
	fd = group_make(root, BELOW_ROOT);
	if (fd < 0)
		return fd;
	snprintf(text, sizeof(text), "%ld", weight < 100 ? 100 : weight > 10000 ? 10000 : weight);
	group_write(fd, "cpu.weight", text);
	return fd;
}

/*
 * Enable the controller dmem in all groups above vgpud's, where that is allowed. Device memory
 * would otherwise have no limit below systemd, which does not enable the controller.
 */
static void enable_above(const char *path)
{
	char name[PATH_MAX + sizeof(CGROUP_ROOT)], list[512] = "";
	size_t len;

	if (!sysfs_read(CGROUP_ROOT, "cgroup.controllers", list, sizeof(list) - 1) ||
	    !strstr(list, "dmem"))
		return;
	for (len = strlen(CGROUP_ROOT); path[len]; len += 1 + strcspn(path + len + 1, "/")) {
		snprintf(name, sizeof(name), "%.*s/" CONTROL, (int)len, path);
		if (group_write(AT_FDCWD, name, "+dmem"))
			return;
	}
}

/* Find the place of the groups. @path: vgpud's own group. Return: its fd or a negative errno. */
static int place_open(const char *path, const char **why)
{
	int fd = group_open(AT_FDCWD, path), below, ret;

	*why = why_none;
	if (fd < 0)
		return fd;
	if (faccessat(fd, "cgroup.controllers", F_OK, 0)) {
		ret = -ENOENT;
		goto err_close;
	}
	if (has_systemd() && !is_delegated(fd)) {
		*why = why_systemd;
		ret = -EPERM;
		goto err_close;
	}
	if (is_root(fd)) {
		below = below_root(fd);
		close(fd);
		return below;
	}
	enable_above(path);
	/* A group with children holds no processes, except the root. */
	ret = hierarchy_enter(fd, HIERARCHY_AGENT);
	if (!ret)
		return fd;

err_close:
	close(fd);
	return ret;
}

/*
 * Give the children of a group all controllers that can be had. @say: log which cannot. Return: 0
 * or a negative errno, and *@why says what to do.
 */
static int enable(int fd, bool say, const char **why)
{
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		ret = group_write(fd, CONTROL, controllers[i].name);
		if (ret && controllers[i].needed) {
			*why = ret == -EBUSY ? why_busy : why_controller;
			return ret;
		}
		if (ret && controllers[i].common && say)
			log_info("groups of guests lack the controller %s, which the kernel or a parent group does not have",
				 controllers[i].name + 1);
	}
	return 0;
}

int hierarchy_open(const char **why)
{
	char path[PATH_MAX + sizeof(CGROUP_ROOT)];
	int place, all, ret;

	*why = why_none;
	ret = own_group(path, sizeof(path));
	if (ret)
		return ret;
	leave_subgroup(path, HIERARCHY_AGENT);
	place = place_open(path, why);
	if (place < 0)
		return place;
	ret = enable(place, false, why);
	all = ret ? ret : group_make(place, HIERARCHY_GUESTS);
	close(place);
	if (all < 0)
		return all;
	ret = enable(all, true, why);
	if (!ret)
		return all;
	close(all);
	return ret;
}
