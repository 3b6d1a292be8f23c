// SPDX-License-Identifier: MIT
/* Control groups of guests, in the group that was delegated to vgpud. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "config/config.h"
#include "process/cgroup.h"
#include "process/sandbox.h"
#include "shared/log.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"

/* Group that was delegated to vgpud, in which those of guests are; -1: guests have no groups. */
static int base_fd = -1;

static int write_at(int dir_fd, const char *name, const char *text)
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

/* Find the path of vgpud's group in the hierarchy of version 2; "/" is the root group. */
static int own_group(char *path, size_t size)
{
	char line[PATH_MAX + 16];
	FILE *file = fopen("/proc/self/cgroup", "re");
	int ret = -ENOENT;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, size, "%s", line + 3);
		ret = 0;
	}
	if (file)
		fclose(file);
	return ret;
}

/* Check the mark that systemd sets on groups with Delegate= (CGROUP_DELEGATION.md in systemd). */
static bool is_delegated(int fd)
{
	char value[2];

	return fgetxattr(fd, "trusted.delegate", value, sizeof(value)) == 1 && *value == '1';
}

/* Move vgpud into a child group: a group with children holds no processes, except the root. */
static int take_over(const char *group)
{
	if (!strcmp(group, "/"))
		return 0;
	if (mkdirat(base_fd, "agent", 0755) && errno != EEXIST)
		return -errno;
	return write_at(base_fd, "agent/cgroup.procs", "0");
}

static int open_base(const char *group)
{
	char path[PATH_MAX + sizeof(CGROUP_ROOT)];

	snprintf(path, sizeof(path), CGROUP_ROOT "%s", group);
	base_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;
	/* Groups of others must not be changed unless the settings ask for it. */
	if (settings.cgroups == CGROUPS_AUTO && !is_delegated(base_fd))
		return -EPERM;
	return take_over(group);
}

int cgroup_init(void)
{
	char group[PATH_MAX] = "";
	int ret;

	if (settings.cgroups == CGROUPS_NO)
		return 0;
	ret = own_group(group, sizeof(group));
	if (!ret)
		ret = open_base(group);
	if (!ret)
		ret = write_at(base_fd, "cgroup.subtree_control", "+memory");
	if (!ret)
		return 0;
	if (base_fd >= 0)
		close(base_fd);
	base_fd = -1;
	if (settings.cgroups == CGROUPS_YES || settings.memory_max)
		return ret;
	/* Without a limit to enforce, accounting is not worth a failure. */
	log_info("guests have no control groups: %s does not belong to vgpud or has no memory controller (see Delegate= in vgpud.service): %s",
		 group, strerror(-ret));
	return 0;
}

bool cgroup_used(void)
{
	return base_fd >= 0;
}

static void group_name(const struct sandbox *sandbox, char name[48])
{
	snprintf(name, 48, "vgpu-%s-%u-%u", sandbox->keeper ? "keeper" : "guest", sandbox->cid,
		 sandbox->port);
}

/*
 * Set the memory limit of a group, also if there is to be none: a group that is left of another
 * vgpud still has that vgpud's limit.
 */
static int set_limit(const char *name)
{
	char file[80], text[24] = "max";

	snprintf(file, sizeof(file), "%s/memory.max", name);
	if (settings.memory_max)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)settings.memory_max);
	return write_at(base_fd, file, text);
}

int cgroup_open(struct sandbox *sandbox)
{
	char name[48];
	int ret;

	if (base_fd < 0 || sandbox->cgroup_fd >= 0)
		return 0;
	group_name(sandbox, name);
	if (mkdirat(base_fd, name, 0755) && errno != EEXIST)
		goto err;
	ret = set_limit(name);
	if (ret) {
		errno = -ret;
		goto err;
	}
	sandbox->cgroup_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sandbox->cgroup_fd >= 0)
		return 0;
err:
	log_guest(sandbox->cid, sandbox->port, "control group %s: %s", name, strerror(errno));
	return -errno;
}

void cgroup_close(struct sandbox *sandbox)
{
	char name[48];

	if (sandbox->cgroup_fd < 0)
		return;
	close(sandbox->cgroup_fd);
	sandbox->cgroup_fd = -1;
	group_name(sandbox, name);
	if (unlinkat(base_fd, name, AT_REMOVEDIR))
		log_guest(sandbox->cid, sandbox->port, "control group %s: %s", name,
			  strerror(errno));
}
