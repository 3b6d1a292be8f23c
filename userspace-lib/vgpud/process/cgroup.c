// SPDX-License-Identifier: MIT
/* Control groups of guests and keepers, and their limits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "config/config.h"
#include "process/cgroup.h"
#include "process/hierarchy.h"
#include "process/sandbox.h"
#include "shared/log.h"

/* Size of the text that lists the regions of device memory; the kernel shows one page. */
#define REGIONS		4096

/* Attribute of a group with the user of its processes. Only root can read it. */
#define USER_MARK	"trusted.vgpu.user"

/* Group that has the groups of all guests; -1: guests have no groups. */
static int all_fd = -1;

/* Write a limit. A file that is not there belongs to a controller that is not there. */
static int put_limit(int fd, const char *name, uint64_t value)
{
	char text[24] = "max";
	int ret;

	if (value)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	ret = group_write(fd, name, text);
	return ret == -ENOENT ? 0 : ret;
}

/*
 * Limit each region of device memory that drivers have registered by now. dmem.max takes one region
 * in each write.
 */
static void limit_device_memory(int fd, uint64_t bytes)
{
	char list[REGIONS] = "", text[320], *line, *rest = list;
	size_t len = sysfs_read(CGROUP_ROOT, "dmem.capacity", list, sizeof(list) - 1);

	list[len] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, " ")] = '\0';
		if (!*line)
			continue;
		if (bytes)
			snprintf(text, sizeof(text), "%s %llu", line, (unsigned long long)bytes);
		else
			snprintf(text, sizeof(text), "%s max", line);
		group_write(fd, "dmem.max", text);
	}
}

/*
 * Give a group its limits, also those that are no limit: a group that is left of another vgpud
 * still has that vgpud's limits. Memory and threads must be limited; the rest may be absent.
 *
 * memory.oom.group stays 0. Each shadow is one program of the guest: the kernel kills one of them,
 * and the guest's other programs go on. If the kernel kills the guest's engine, its shadows end,
 * too.
 */
static int limit_group(int fd, const struct group_limits *limits)
{
	int ret = put_limit(fd, "memory.max", limits->memory);

	if (!ret)
		ret = put_limit(fd, "pids.max", limits->tasks);
	if (ret)
		return ret;
	limit_device_memory(fd, limits->device_memory);
	put_limit(fd, "cpu.weight", limits->cpu_weight);
	put_limit(fd, "io.weight", limits->io_weight);
	return 0;
}

/* Limit the group of all guests, so that they cannot use up the machine together. */
static int limit_all(void)
{
	char text[24];
	int ret;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)settings.swap);
	ret = group_write(all_fd, "memory.swap.max", text);
	/* A kernel without swap does not have the file. */
	if (ret && ret != -ENOENT)
		return ret;
	return limit_group(all_fd, &settings.all_groups);
}

/* Warn if the settings limit device memory that no controller counts. */
static void check_device_memory(void)
{
	if ((settings.limits.group.device_memory || settings.all_groups.device_memory) &&
	    faccessat(all_fd, "dmem.max", F_OK, 0))
		log_warning("'device-memory' has no effect: guests' groups lack the controller dmem (Linux 6.14), or a group above them does not enable it");
}

int cgroup_init(void)
{
	const char *why = "the kernel refuses the limits of all guests: change them in [all-guests]";
	int ret;

	if (settings.cgroups == CGROUPS_NO)
		return 0;
	all_fd = hierarchy_open(&why);
	ret = all_fd < 0 ? all_fd : limit_all();
	if (!ret) {
		check_device_memory();
		return 0;
	}
	if (all_fd >= 0)
		close(all_fd);
	all_fd = -1;
	if (settings.cgroups == CGROUPS_AUTO) {
		log_warning("guests have no control groups, so a guest could use up this machine's memory: %s (%s)",
			    why, strerror(-ret));
		return 0;
	}
	log_error("guests cannot have control groups, without which a guest could use up this machine's memory: %s, or set 'cgroups = no' in [shadow] if you trust all guests (%s)",
		  why, strerror(-ret));
	return ret;
}

bool cgroup_used(void)
{
	return all_fd >= 0;
}

int cgroup_all(void)
{
	return all_fd;
}

uint32_t cgroup_user(int fd)
{
	char text[16];
	ssize_t len = fgetxattr(fd, USER_MARK, text, sizeof(text) - 1);

	text[len < 0 ? 0 : len] = '\0';
	return strtoul(text, NULL, 10);
}

/* Mark a group with the user of its processes, for a later vgpud. */
static void mark_user(int fd, unsigned int uid)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", uid);

	if (uid && fsetxattr(fd, USER_MARK, text, len, 0))
		log_seldom("control groups cannot be marked with their users: %s", strerror(errno));
}

static void group_name(const struct sandbox *sandbox, char name[48])
{
	snprintf(name, 48, "%s-%u-%u", sandbox->keeper ? CGROUP_KEEPER : CGROUP_GUEST,
		 sandbox->cid, sandbox->port);
}

int cgroup_limit(struct sandbox *sandbox, const struct group_limits *limits)
{
	sandbox->limits = *limits;
	return sandbox->cgroup_fd < 0 ? 0 : limit_group(sandbox->cgroup_fd, limits);
}

/* Limit device memory of regions that came after the group was made. */
static void limit_new_regions(const struct sandbox *sandbox)
{
	if (settings.all_groups.device_memory)
		limit_device_memory(all_fd, settings.all_groups.device_memory);
	if (sandbox->limits.device_memory)
		limit_device_memory(sandbox->cgroup_fd, sandbox->limits.device_memory);
}

int cgroup_open(struct sandbox *sandbox)
{
	char name[48];
	int ret;

	if (all_fd < 0)
		return 0;
	if (sandbox->cgroup_fd >= 0) {
		limit_new_regions(sandbox);
		return 0;
	}
	group_name(sandbox, name);
	if (mkdirat(all_fd, name, 0755) && errno != EEXIST)
		goto err;
	sandbox->cgroup_fd = openat(all_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sandbox->cgroup_fd < 0)
		goto err;
	mark_user(sandbox->cgroup_fd, sandbox->uid);
	ret = limit_group(sandbox->cgroup_fd, &sandbox->limits);
	if (!ret)
		return 0;
	close(sandbox->cgroup_fd);
	sandbox->cgroup_fd = -1;
	errno = -ret;
err:
	ret = -errno;
	log_guest(sandbox->cid, sandbox->port, "control group %s: %s", name, strerror(-ret));
	return ret;
}

void cgroup_close(struct sandbox *sandbox)
{
	char name[48];

	if (sandbox->cgroup_fd < 0)
		return;
	close(sandbox->cgroup_fd);
	sandbox->cgroup_fd = -1;
	group_name(sandbox, name);
	if (unlinkat(all_fd, name, AT_REMOVEDIR))
		log_guest(sandbox->cid, sandbox->port, "control group %s: %s", name,
			  strerror(errno));
}
