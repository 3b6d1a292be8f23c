// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "config.h"
#include "log.h"
#include "peer.h"

#define CGROUP_ROOT	"/sys/fs/cgroup"

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

/* Path of our own group in the one hierarchy of version 2; "/" is the root's. */
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

int cgroup_init(void)
{
	char group[PATH_MAX], path[PATH_MAX + sizeof(CGROUP_ROOT)];
	int ret;

	if (!settings.cgroups)
		return 0;
	ret = own_group(group, sizeof(group));
	if (ret)
		return ret;
	snprintf(path, sizeof(path), CGROUP_ROOT "%s", group);
	base_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;

	/* A group with groups in it holds no processes, but for the root. */
	if (strcmp(group, "/")) {
		if (mkdirat(base_fd, "agent", 0755) && errno != EEXIST)
			return -errno;
		ret = write_at(base_fd, "agent/cgroup.procs", "0");
		if (ret)
			return ret;
	}
	ret = write_at(base_fd, "cgroup.subtree_control", "+memory");
	/* Without a limit to keep, counting is not worth failing for. */
	return settings.memory_max ? ret : 0;
}

static void group_name(const struct peer *peer, char name[48])
{
	snprintf(name, 48, "vgpu-%s-%u-%u", peer->keeper ? "keeper" : "guest", peer->cid,
		 peer->port);
}

int cgroup_open(struct peer *peer)
{
	char name[48], file[80], text[24];
	int ret;

	if (base_fd < 0 || peer->cgroup_fd >= 0)
		return peer->cgroup_fd;
	group_name(peer, name);
	if (mkdirat(base_fd, name, 0755) && errno != EEXIST)
		goto err;
	if (settings.memory_max) {
		snprintf(file, sizeof(file), "%s/memory.max", name);
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)settings.memory_max);
		ret = write_at(base_fd, file, text);
		if (ret) {
			errno = -ret;
			goto err;
		}
	}
	peer->cgroup_fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (peer->cgroup_fd >= 0)
		return peer->cgroup_fd;
err:
	log_seldom("control group %s: %s", name, strerror(errno));
	return -errno;
}

void cgroup_close(struct peer *peer)
{
	char name[48];

	if (peer->cgroup_fd < 0)
		return;
	close(peer->cgroup_fd);
	peer->cgroup_fd = -1;
	group_name(peer, name);
	if (unlinkat(base_fd, name, AT_REMOVEDIR))
		log_seldom("control group %s: %s", name, strerror(errno));
}
