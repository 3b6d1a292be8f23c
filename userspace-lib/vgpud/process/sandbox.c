// SPDX-License-Identifier: MIT
/* Sandboxes: users, namespaces and control groups of the programs of guests. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "config/config.h"
#include "process/sandbox.h"
#include "shared/log.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"

static const struct {
	const char *path;
	int flag;
} kinds[SANDBOX_NAMESPACES] = {
	{ "/proc/self/ns/net", CLONE_NEWNET },
	{ "/proc/self/ns/ipc", CLONE_NEWIPC },
	{ "/proc/self/ns/uts", CLONE_NEWUTS },
};

/* Group that was delegated to vgpud, in which those of guests are; -1: guests have no groups. */
static int base_fd = -1;

/* Bits of the user IDs that are taken, from settings.uid_base on. */
static uint8_t taken[SETTINGS_UIDS_MAX / 8];

void sandbox_init(struct sandbox *sandbox, uint32_t cid, uint32_t port, bool keeper)
{
	unsigned int i;

	*sandbox = (struct sandbox){ .cid = cid, .port = port, .keeper = keeper, .cgroup_fd = -1 };
	for (i = 0; i < SANDBOX_NAMESPACES; i++)
		sandbox->namespaces[i] = -1;
}

bool sandbox_take_user(struct sandbox *sandbox)
{
	unsigned int i;

	sandbox->uid = 0;
	for (i = 0; i < settings.uid_count; i++)
		if (!(taken[i / 8] & 1 << i % 8)) {
			taken[i / 8] |= 1 << i % 8;
			sandbox->uid = settings.uid_base + i;
			return true;
		}
	return false;
}

void sandbox_return_user(struct sandbox *sandbox)
{
	unsigned int i = sandbox->uid - settings.uid_base;

	if (sandbox->uid)
		taken[i / 8] &= ~(1 << i % 8);
	sandbox->uid = 0;
}

static int open_all(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		namespaces[i] = open(kinds[i].path, O_RDONLY | O_CLOEXEC);
		if (namespaces[i] < 0)
			return -errno;
	}
	return 0;
}

int namespaces_enter(const int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++)
		if (setns(namespaces[i], kinds[i].flag))
			return -errno;
	return 0;
}

static void namespaces_close(int *namespaces)
{
	unsigned int i;

	for (i = 0; i < SANDBOX_NAMESPACES; i++) {
		if (namespaces[i] >= 0)
			close(namespaces[i]);
		namespaces[i] = -1;
	}
}

/*
 * Make the guest's namespaces: vgpud enters new ones, opens them, and returns to its own. This
 * makes one set for each guest, not for each shadow. Sockets that are open stay in the
 * namespace in which they were made.
 */
static int namespaces_open(int *namespaces)
{
	int home[SANDBOX_NAMESPACES] = { -1, -1, -1 };
	int ret;

	if (!settings.namespaces || namespaces[0] >= 0)
		return 0;
	ret = open_all(home);
	if (!ret && unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS))
		ret = -errno;
	if (ret)
		goto out_close;
	ret = open_all(namespaces);
	if (namespaces_enter(home)) {
		/* vgpud may be left in some of the guest's namespaces: it cannot go on. */
		log_error("vgpud cannot return to its own namespaces: %s", strerror(errno));
		abort();
	}
	if (ret)
		namespaces_close(namespaces);

out_close:
	namespaces_close(home);
	return ret;
}

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

/* Make the group of a sandbox when it is first needed. Return: 0 or a negative errno. */
static int cgroup_open(struct sandbox *sandbox)
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

/* Remove the group of a sandbox that has no process left. */
static void cgroup_close(struct sandbox *sandbox)
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

int sandbox_open(struct sandbox *sandbox)
{
	int ret = namespaces_open(sandbox->namespaces);

	return ret ? ret : cgroup_open(sandbox);
}

void sandbox_close(struct sandbox *sandbox)
{
	sandbox_return_user(sandbox);
	namespaces_close(sandbox->namespaces);
	cgroup_close(sandbox);
}
